import { createServer, type Server, type Socket } from "node:net";
import { host, listen } from "./loopback-port.ts";

/** What a partition keeps from passing. */
export type Cut = "both" | "replies";

/** One end of a connection, as the master sees it. */
export interface Peer {
  /** What arrived. Returns what it is answered, and whether the connection ends with that. */
  heard(bytes: Buffer): { readonly replies: string; readonly isOver: boolean };
  gone(): void;
}

/** How many bytes of clients the masters of this process have read. See `settled`. */
let read = 0;
export function bytesRead(): number {
  return read;
}

/** One way to a master: a loopback port of its own, which a partition cuts without the master taking notice. */
export class MasterRoute {
  readonly host: string = host;
  readonly #credentials: string;
  readonly #accepted: (write: (text: string) => void) => Peer;
  /** What each connection is still to be told, where replies do not pass. */
  readonly #sockets = new Map<Socket, { kept: string; isOver: boolean }>();
  #port: number | undefined;
  /** There is one while the master runs. */
  #server: Server | undefined;
  #isHung = false;
  #cut: Cut | undefined;

  /** @internal Routes come from a master. `accepted`: makes the master's end of a new connection. */
  constructor(credentials: string, accepted: (write: (text: string) => void) => Peer) {
    this.#credentials = credentials;
    this.#accepted = accepted;
  }

  /** The same after each restart. */
  get port(): number {
    return this.#port!;
  }

  /** `redis://127.0.0.1:PORT`, with the password if there is one. */
  get url(): string {
    return `redis://${this.#credentials}${host}:${this.port}`;
  }

  /**
   * Nothing passes any more, and nothing is lost: it arrives after `heal`, as TCP sends it again. New connections are
   * accepted and not answered. "replies": requests still arrive and are executed. Default "both". Other routes to the
   * same master are not concerned.
   */
  partition(cut: Cut = "both"): void {
    if (cut !== "both" && cut !== "replies")
      throw new RangeError(`a partition cuts both or replies, not ${String(cut)}`);
    this.#cut = cut;
    this.#pass();
  }

  /** Ends a partition: what was kept arrives, in its order. */
  heal(): void {
    this.#cut = undefined;
    this.#pass();
  }

  /** @internal */
  hang(isHung: boolean): void {
    this.#isHung = isHung;
    this.#pass();
  }

  /** @internal */
  async open(): Promise<void> {
    const server = createServer({ noDelay: true }, (socket) => this.#accept(socket));
    // A program that forgets to stop its masters still ends.
    server.unref();
    this.#port = await listen(server, this.#port);
    this.#server = server;
  }

  /** @internal Resets its connections; resolves when the port refuses new ones. */
  async close(): Promise<void> {
    const server = this.#server;
    if (!server) return;
    this.#server = undefined;
    this.#isHung = false;
    const closed = new Promise((resolve) => {
      server.close(resolve);
    });
    for (const socket of this.#sockets.keys()) socket.resetAndDestroy();
    await closed;
  }

  #accept(socket: Socket): void {
    const told = { kept: "", isOver: false };
    const peer = this.#accepted((text) => {
      told.kept += text;
      this.#tell(socket);
    });
    this.#sockets.set(socket, told);
    socket.unref();
    socket.on("close", () => {
      this.#sockets.delete(socket);
      peer.gone();
    });
    // A client that resets its connection has read everything that it wanted; "close" follows.
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      read += bytes.length;
      const { replies, isOver } = peer.heard(bytes);
      told.kept += replies;
      told.isOver ||= isOver;
      // All that came in one piece is answered in one piece, as Redis does.
      this.#tell(socket);
    });
    if (this.#isReading) return;
    socket.pause();
  }

  get #isReading(): boolean {
    return !this.#isHung && this.#cut !== "both";
  }

  #pass(): void {
    for (const socket of this.#sockets.keys()) {
      if (this.#isReading) socket.resume();
      else socket.pause();
      this.#tell(socket);
    }
  }

  /** Writes what is kept for it, unless a partition keeps it longer. */
  #tell(socket: Socket): void {
    const told = this.#sockets.get(socket);
    if (!told || this.#cut) return;
    const { kept } = told;
    told.kept = "";
    if (kept !== "" && socket.writable) socket.write(kept, "latin1");
    if (told.isOver) socket.end();
  }
}
