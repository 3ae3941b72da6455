import { outside } from "../time/async-context.ts";
import type { Dialer } from "./dialer.ts";
import { type Driver, runIdIn } from "./driver.ts";
import type { Link } from "./link.ts";

/** Where links lead, and whether that is where the user's client is (PROTOCOL 2.9, 2.18). */
export class ServerCheck {
  readonly #driver: Driver;
  /** The latest link that was identified, and the run id of the server that it has led to, or the addresses of a Cluster. */
  found: { readonly link: Link; readonly ids: readonly string[] } | undefined;

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  /**
   * The run id of a server, which `ask` asks for INFO; empty if it cannot be had. `undefined` if the link is unusable, or
   * if the server refuses to say it at the moment: the link is then made again.
   */
  async identify(dialer: Dialer, ask: () => Promise<unknown>): Promise<readonly string[] | undefined> {
    const { link } = dialer;
    if (link!.addresses) return link!.addresses;
    if (!this.#driver.asksServer) return [];
    try {
      const id = runIdIn(await outside(ask));
      return id === undefined ? [] : [id];
    } catch (error) {
      if (this.#driver.isErrorReply(error) && isUnavailable(error)) return [];
      // Any other error is temporary.
      if (link === dialer.link && dialer.isReady) dialer.cut(error);
      return undefined;
    }
  }

  isFound({ link }: Dialer): boolean {
    return link !== undefined && link === this.found?.link;
  }

  /** Whether this link leads to this server. */
  leadsTo(dialer: Dialer, server: string | undefined): boolean {
    return this.isFound(dialer) && dialer.isReady && server !== undefined && this.found!.ids.includes(server);
  }

  /** The reply to INFO on the connection of the user's client; `undefined` if it is another one by then. */
  async ofUser(): Promise<string | undefined> {
    const { dials } = this.#driver;
    const dial = dials.connected;
    const info = await this.#driver.askServer?.().catch(() => undefined);
    return dial === dials.connected ? String(info) : undefined;
  }

  /**
   * Why this link is not to be used: options may have another address than the client has. `undefined` as far as both are
   * told. A client at a replica has not seen a failover yet.
   */
  async contradiction(dialer: Dialer): Promise<string | undefined> {
    const { isCluster, isDirected, status } = this.#driver;
    const { link } = dialer;
    const [server] = this.found?.ids ?? [];
    if (server === undefined || isCluster || isDirected || status !== "ready") return undefined;
    const info = await this.ofUser();
    const theirs = runIdIn(info);
    const isSame = theirs === undefined || theirs === server || /^role:slave/m.test(info!);
    if (isSame || !this.isFound(dialer) || link !== dialer.link) return undefined;
    return `its options lead to server ${server}, but it is connected to port ${/^tcp_port:(\d+)/m.exec(info!)?.[1]}, server ${theirs}: give each client options of its own, its socket object too`;
  }
}

/** The server does not have the command, or not for this user. */
function isUnavailable({ message }: Error): boolean {
  return /^(NOPERM\b|ERR .*\b(unknown|unsupported|not supported)\b)/i.test(message);
}
