import { createServer, type Server, type Socket } from "node:net";
import { PortTakenError, untilRefused, withFreePort } from "../servers/ports.ts";
import { type Direction, type Flow, type LinkEvents, ProxyLink } from "./proxy-link.ts";

export type { Direction } from "./proxy-link.ts";

/** Traffic through one direction of a proxy since its start. */
export interface ProxyTraffic {
  /** Chunks that arrived at the proxy. A chunk is what one read gave: usually one command or pipeline. */
  readonly chunks: number;
  /** Bytes that arrived at the proxy. */
  readonly bytes: number;
  /** Chunks that vanished. */
  readonly dropped: number;
  /** Chunks that are held or delayed now. */
  readonly held: number;
}

export interface ProxyCounters {
  readonly requests: ProxyTraffic;
  readonly replies: ProxyTraffic;
  /** Client connections that are open now. */
  readonly connections: number;
  /** Client connections ever accepted. */
  readonly accepted: number;
}

/**
 * A TCP proxy in front of one master that injects faults. Every fault applies to the connections there are
 * and to new ones. "Requests" travel from the client to the server, "replies" back.
 *
 * A connection that has lost bytes cannot go on: its peers would take the next reply for the lost one. So it
 * is reset as soon as bytes would pass again in that direction, as TCP does after a cut that lasted too long.
 */
export interface Proxy extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  /** The target's, credentials included, but for its place: `redis://127.0.0.1:PORT`. */
  readonly url: string;
  /** A snapshot. */
  readonly counters: ProxyCounters;

  /**
   * Back to transparent: listens again, delivers what is held or delayed in order, resets connections that
   * have lost bytes, calls off a pending `resetAfterRequest`. With a direction: only that direction's drop,
   * hold and delay. All but the listening has happened when the call returns.
   */
  heal(direction?: Direction): Promise<void>;
  /** Requests vanish: the server never hears of them. Until `heal`. */
  dropRequests(): void;
  /** Replies vanish: the server has done it, the client does not know. Until `heal`. */
  dropReplies(): void;
  /** Keeps what arrives, the news of a closed connection included, until `release`. */
  hold(direction: Direction): void;
  /**
   * Delivers what was held, in order, and holds no longer. Requests are delivered even if their client is
   * gone. Default: both directions.
   */
  release(direction?: Direction): void;
  /** Delivers everything this much later, in order. 0 ends it and delivers at once. Default: both directions. */
  delay(milliseconds: number, direction?: Direction): void;
  /** Ends the present connections, on both sides, with a TCP reset. New ones are accepted. */
  reset(): void;
  /** From now on nothing passes on the present connections, in neither direction, `heal` or not. New ones are well. */
  freeze(): void;
  /** New connections go to another server from now on. */
  pointTo(target: { host: string; port: number }): void;
  /** The same, and the present ones are reset: what a failover behind a virtual IP or a DNS name is to clients. */
  leadTo(target: { host: string; port: number }): void;
  /** New connections are refused from when this resolves; present ones stay. */
  refuse(): Promise<void>;
  /** Listens again on the same port. Throws where another process has taken it meanwhile. */
  accept(): Promise<void>;

  /**
   * "Applied, reply lost", once: passes on the next request chunk that matches, waits until the server has
   * answered all that the connection has asked so far, drops that answer and resets the connection. Resolves
   * when it has happened. Default: any request.
   *
   * Commands and replies are counted, so pipelines are fine; SUBSCRIBE and CLIENT REPLY are not.
   */
  resetAfterRequest(match?: (bytes: Buffer) => boolean): Promise<void>;
  /** Resolves when a matching request chunk has arrived at the proxy, whatever becomes of it. Default: any. */
  nextRequest(match?: (bytes: Buffer) => boolean): Promise<void>;
  /** Resolves when a matching reply chunk has arrived at the proxy, whatever becomes of it. Default: any. */
  nextReply(match?: (bytes: Buffer) => boolean): Promise<void>;
  /** Resolves when the counters satisfy the predicate, at once if they do. */
  when(predicate: (counters: ProxyCounters) => boolean): Promise<void>;

  /** Stops everything. Idempotent, and always settles. Pending waits for traffic reject. */
  stop(): Promise<void>;
}

export interface ProxyTarget {
  readonly host: string;
  readonly port: number;
  /** Default: one without credentials. */
  readonly url?: string;
}

/** Starts a transparent proxy in front of `target`, on a free loopback port. */
export async function startProxy(target: ProxyTarget): Promise<Proxy> {
  return withFreePort(async (port) => {
    const proxy = new FaultProxy(target, port);
    await proxy.accept();
    return proxy;
  });
}

const host = "127.0.0.1";
const directions: readonly Direction[] = ["requests", "replies"];
const anything = (): boolean => true;

/** Something awaited. `link` and `replies`: the connection it has latched on to, and the replies it needs. */
interface Wait {
  readonly kind: Direction | "reset" | "counters";
  readonly match: (bytes: Buffer) => boolean;
  readonly predicate?: (counters: ProxyCounters) => boolean;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
  link?: ProxyLink | undefined;
  replies?: number;
}

class FaultProxy implements Proxy, LinkEvents {
  readonly host = host;
  readonly port: number;
  readonly url: string;
  #target: { host: string; port: number };
  readonly #flows: Record<Direction, Flow> = {
    requests: { mode: "pass", delayMilliseconds: 0 },
    replies: { mode: "pass", delayMilliseconds: 0 },
  };
  readonly #links: Set<ProxyLink> = new Set();
  readonly #waits: Set<Wait> = new Set();
  readonly #totals: Record<Direction, { chunks: number; bytes: number; dropped: number }> = {
    requests: { chunks: 0, bytes: 0, dropped: 0 },
    replies: { chunks: 0, bytes: 0, dropped: 0 },
  };
  #accepted = 0;
  #server: Server | undefined;
  /** Settles when the port is open; undefined while it is closed. */
  #listening: Promise<void> | undefined;
  #stopped: Promise<void> | undefined;

  constructor(target: ProxyTarget, port: number) {
    this.#target = { host: target.host, port: target.port };
    this.port = port;
    const address = new URL(target.url ?? "redis://localhost");
    address.host = `${host}:${port}`;
    this.url = address.href;
  }

  get counters(): ProxyCounters {
    const links = [...this.#links];
    const traffic = (direction: Direction): ProxyTraffic => ({
      ...this.#totals[direction],
      held: links.reduce((sum, link) => sum + link[direction].queued, 0),
    });
    return {
      requests: traffic("requests"),
      replies: traffic("replies"),
      connections: links.filter((link) => link.hasClient).length,
      accepted: this.#accepted,
    };
  }

  async heal(direction?: Direction): Promise<void> {
    for (const healed of direction ? [direction] : directions) {
      this.#flows[healed].delayMilliseconds = 0;
      this.#setMode(healed, "pass");
    }
    if (direction) return;
    for (const wait of this.#waits) {
      if (wait.kind === "reset") this.#settle(wait, new Error("called off: the proxy was healed"));
    }
    await this.accept();
  }

  dropRequests(): void {
    this.#setMode("requests", "drop");
  }

  dropReplies(): void {
    this.#setMode("replies", "drop");
  }

  hold(direction: Direction): void {
    this.#setMode(direction, "hold");
  }

  release(direction?: Direction): void {
    for (const released of direction ? [direction] : directions) {
      if (this.#flows[released].mode === "hold") this.#setMode(released, "pass");
    }
  }

  delay(milliseconds: number, direction?: Direction): void {
    for (const delayed of direction ? [direction] : directions) {
      this.#flows[delayed].delayMilliseconds = milliseconds;
      for (const link of this.#links) link[delayed].pump();
    }
    this.changed();
  }

  #setMode(direction: Direction, mode: Flow["mode"]): void {
    this.#flows[direction].mode = mode;
    for (const link of this.#links) {
      const stream = link[direction];
      if (mode === "drop") stream.drop();
      else if (stream.torn) link.reset();
      else stream.pump();
    }
    this.changed();
  }

  reset(): void {
    for (const link of this.#links) link.reset();
    this.changed();
  }

  freeze(): void {
    for (const link of this.#links) link.freeze();
    this.changed();
  }

  pointTo({ host, port }: { host: string; port: number }): void {
    this.#target = { host, port };
  }

  leadTo(target: { host: string; port: number }): void {
    this.pointTo(target);
    this.reset();
  }

  async refuse(): Promise<void> {
    await this.#listening;
    this.#listening = undefined;
    this.#server?.close();
    await untilRefused(host, this.port);
  }

  accept(): Promise<void> {
    if (this.#stopped) return Promise.reject(new Error("the proxy is stopped"));
    this.#listening ??= this.#listen();
    return this.#listening;
  }

  async #listen(): Promise<void> {
    const server = createServer({ allowHalfOpen: true }, (client) => this.#connected(client));
    this.#server = server;
    try {
      await new Promise<void>((resolve, reject) => {
        server.once("listening", resolve);
        server.once("error", reject);
        server.listen(this.port, host);
      });
    } catch (error) {
      this.#listening = undefined;
      const isTaken = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
      throw isTaken ? new PortTakenError(error.message, { cause: error }) : error;
    }
    // An accept that fails (out of file descriptors) is the client's loss, not the end of the process.
    server.on("error", () => {});
  }

  #connected(client: Socket): void {
    this.#accepted += 1;
    this.#links.add(new ProxyLink(client, this.#target, this.#flows, this));
    this.changed();
  }

  arrived(link: ProxyLink, direction: Direction, bytes: Buffer): void {
    this.#totals[direction].chunks += 1;
    this.#totals[direction].bytes += bytes.length;
    for (const wait of this.#waits) {
      if (wait.kind === direction && this.#holds(wait, () => wait.match(bytes))) this.#settle(wait);
      if (wait.kind !== "reset") continue;
      if (direction === "requests" && !wait.link && this.#holds(wait, () => wait.match(bytes))) {
        wait.link = link;
        wait.replies = link.requests.frames.begun;
      }
      if (direction === "replies" && wait.link === link && link.replies.frames.complete >= wait.replies!) {
        link.reset();
        this.#settle(wait);
      }
    }
  }

  /** Runs a caller's function. One that throws fails its own wait, not the connection that it looks at. */
  #holds(wait: Wait, check: () => boolean): boolean {
    try {
      return check();
    } catch (error) {
      this.#settle(wait, error instanceof Error ? error : new Error(String(error)));
      return false;
    }
  }

  dropped(direction: Direction): void {
    this.#totals[direction].dropped += 1;
  }

  changed(): void {
    for (const wait of this.#waits) {
      const { predicate } = wait;
      if (predicate && this.#holds(wait, () => predicate(this.counters))) this.#settle(wait);
    }
  }

  closed(link: ProxyLink): void {
    this.#links.delete(link);
    for (const wait of this.#waits) {
      // It ended before the server answered, so nothing has happened yet: the next match counts.
      if (wait.link === link) wait.link = undefined;
    }
  }

  resetAfterRequest(match: (bytes: Buffer) => boolean = anything): Promise<void> {
    return this.#wait({ kind: "reset", match });
  }

  nextRequest(match: (bytes: Buffer) => boolean = anything): Promise<void> {
    return this.#wait({ kind: "requests", match });
  }

  nextReply(match: (bytes: Buffer) => boolean = anything): Promise<void> {
    return this.#wait({ kind: "replies", match });
  }

  when(predicate: (counters: ProxyCounters) => boolean): Promise<void> {
    const waiting = this.#wait({ kind: "counters", match: anything, predicate });
    this.changed();
    return waiting;
  }

  #wait(wanted: Pick<Wait, "kind" | "match" | "predicate">): Promise<void> {
    if (this.#stopped) return Promise.reject(new Error("the proxy is stopped"));
    const waiting = new Promise<void>((resolve, reject) => {
      this.#waits.add({ ...wanted, resolve, reject });
    });
    // A test that fails before it awaits this must not fail a second time for an unhandled rejection.
    waiting.catch(() => {});
    return waiting;
  }

  #settle(wait: Wait, error?: Error): void {
    this.#waits.delete(wait);
    if (error) wait.reject(error);
    else wait.resolve();
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#end();
    return this.#stopped;
  }

  async #end(): Promise<void> {
    this.reset();
    for (const wait of this.#waits) this.#settle(wait, new Error("the proxy was stopped"));
    const listening = this.#listening;
    if (!listening) return;
    await listening.catch(() => {});
    // Connections that came in meanwhile would keep the server from closing.
    this.reset();
    await new Promise<void>((resolve) => this.#server?.close(() => resolve()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}
