import { outside } from "../time/async-context.ts";
import type { Dialer } from "./dialer.ts";
import { type Driver, runIdIn } from "./driver.ts";
import { type Link, Lost } from "./link.ts";

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

  /**
   * Whether this link leads to the server of the user's client: options may have another address than the client has. It is
   * "unknown" where one of the two is not told. A client at a replica has not seen a failover yet.
   */
  async compare(dialer: Dialer): Promise<"same" | "unknown" | Lost> {
    const { isCluster, isDirected, status } = this.#driver;
    const server = this.isFound(dialer) ? this.found!.ids[0] : undefined;
    if (server === undefined || isCluster || status !== "ready") return "unknown";
    const info = String(await this.#driver.askServer?.().catch(() => undefined));
    const theirs = runIdIn(info);
    if (theirs === server) return "same";
    const isTold = theirs !== undefined && !isDirected && !/^role:slave/m.test(info);
    if (!isTold || !this.isFound(dialer)) return "unknown";
    return new Lost(
      `its options lead to server ${server}, but it is connected to port ${/^tcp_port:(\d+)/m.exec(info)?.[1]}, server ${theirs}: give each client options of its own, its socket object too`,
    );
  }
}

/** The server does not have the command, or not for this user. */
function isUnavailable({ message }: Error): boolean {
  return /^(NOPERM\b|ERR .*\b(unknown|unsupported|not supported)\b)/i.test(message);
}
