import type { Kernel } from "../engine/kernel.ts";
import type { Process } from "../engine/process.ts";
import type { Master } from "../master/master.ts";
import type { OneWay } from "./one-way.ts";

export interface ConnectionOptions {
  readonly client: Process;
  /** The server at home at this address. */
  readonly master: Master;
  /** The server that the address leads to. Default: the one at home. */
  readonly leadsTo?: () => Master;
  readonly requests: OneWay;
  readonly replies: OneWay;
  /** From a failed or lost connection to the next try, ms. */
  readonly reconnectDelay: number;
  /** Default: the master's own name. */
  readonly name?: string;
  /** Whether the master is a Cluster: its waiters ask, and listen to nothing. */
  readonly isCluster?: boolean;
}

/** A client at an address: it connects to the server that the address leads to, again and again. */
export abstract class Dialer {
  protected readonly kernel: Kernel;
  protected readonly options: ConnectionOptions;
  /** Changes with each connection: what belongs to an older one is void. */
  protected generation = 0;
  /** The server of the latest connection. */
  protected dialed: Master;
  /** Those of which it hears that they go down. */
  readonly #known = new Set<Master>();

  constructor(kernel: Kernel, options: ConnectionOptions) {
    this.kernel = kernel;
    this.options = options;
    this.dialed = this.#lookUp();
  }

  /** The server of the latest connection has gone down. */
  protected abstract onDown(): void;

  /** Whether its latest connection was made to another server than the one at home. */
  get isAway(): boolean {
    return this.dialed !== this.options.master;
  }

  /** A round trip, which cut directions hold up like everything else. `answered`: in a turn of the client, unless it is void by then. */
  protected dial(isVoid: () => boolean, answered: (isUp: boolean, isBusy: boolean) => void): void {
    const { client, requests, replies } = this.options;
    const master = this.#lookUp();
    this.dialed = master;
    requests.send(client.now, () => {
      if (isVoid()) return;
      const { isBusy, isUp, incarnation } = master;
      replies.send(this.kernel.now, () => {
        if (isVoid()) return;
        client.deliver(() => {
          if (!isVoid()) answered(isUp && master.isUp && master.incarnation === incarnation, isBusy);
        });
      });
    });
  }

  /** As a separate event, in a turn of the client: what breaks one connection often breaks others, of other clients. */
  protected later(act: () => void, delay: number): void {
    this.kernel.engine.schedule(() => this.options.client.deliver(act), Math.max(1, delay));
  }

  #lookUp(): Master {
    const { master, leadsTo } = this.options;
    const found = leadsTo?.() ?? master;
    if (!this.#known.has(found)) {
      this.#known.add(found);
      found.onDown(() => {
        if (this.dialed === found) this.onDown();
      });
    }
    return found;
  }
}
