import { createServer, type Server, type Socket } from "node:net";
import { host, listen } from "./loopback-port.ts";

/** The directions that a partition cuts. */
export type Cut = "both" | "replies";

/** One end of a connection, as the master sees it. */
export interface Peer {
  /** Processes received bytes. Returns the replies, and whether the connection ends after them. */
  heard(bytes: Buffer): { readonly replies: string; readonly isOver: boolean };
  gone(): void;
}

/** The number of bytes that the masters of this process have read from clients. See `settled`. */
let read = 0;
export function bytesRead(): number {
  return read;
}

/** A route to a master: its own loopback port, which a partition cuts. The master does not notice that. */
export class MasterRoute {
  readonly host: string = host;
  readonly #credentials: string;
  readonly #accepted: (write: (text: string) => void) => Peer;
  /** The replies that a partition holds back, by connection. */
  readonly #sockets = new Map<Socket, { kept: string; isOver: boolean }>();
  #port: number | undefined;
  /** Set while the master runs. */
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
   * Holds back all messages until `heal`; none is lost, as TCP resends them. New connections are accepted and not
   * answered. "replies": requests still arrive and are executed. Default "both". Other routes to the same master are
   * not affected.
   */
  partition(cut: Cut = "both"): void {
    if (cut !== "both" && cut !== "replies")
      throw new RangeError(`a partition cuts both or replies, not ${String(cut)}`);
    this.#cut = cut;
    this.#pass();
  }

  /** Ends a partition: delivers the messages that it held back, in order. */
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
