import { connect, type Socket } from "node:net";
import { RespFrames } from "./resp-frames.ts";

/** The way bytes travel: "requests" from the client to the server, "replies" back. */
export type Direction = "requests" | "replies";

/** The fault applied to the bytes of one direction, on every connection of a proxy. */
export interface Flow {
  mode: "pass" | "drop" | "hold";
  delayMilliseconds: number;
}

/** Events that a link reports to its proxy. */
export interface LinkEvents {
  /** A chunk arrived at the proxy; called before anything is done with it. */
  arrived(link: ProxyLink, direction: Direction, bytes: Buffer): void;
  /** A chunk vanished. */
  dropped(direction: Direction): void;
  /** Something that the counters show has changed. */
  changed(): void;
  /** Both connections are over. */
  closed(link: ProxyLink): void;
}

type End = "fin" | "rst";
type Item = { readonly due: number } & ({ readonly bytes: Buffer } | { readonly end: End });

/** One client connection and its connection to the server. Every error of a socket ends here. */
export class ProxyLink {
  readonly requests: Stream;
  readonly replies: Stream;
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #events: LinkEvents;
  #openSockets = 2;

  constructor(
    client: Socket,
    target: { host: string; port: number },
    flows: Record<Direction, Flow>,
    events: LinkEvents,
  ) {
    this.#client = client;
    this.#server = connect({ ...target, allowHalfOpen: true, noDelay: true });
    this.#events = events;
    client.setNoDelay(true);
    this.requests = new Stream("requests", this.#server, flows.requests, events);
    this.replies = new Stream("replies", client, flows.replies, events);
    this.#feed(this.requests, client);
    this.#feed(this.replies, this.#server);
  }

  /** Whether the client still has its connection; one that gave up may have left requests on their way. */
  get hasClient(): boolean {
    return !this.#client.destroyed;
  }

  #feed(stream: Stream, source: Socket): void {
    let end: End = "fin";
    source.on("data", (bytes: Buffer) => {
      stream.frames.push(bytes);
      this.#events.arrived(this, stream.direction, bytes);
      stream.push(bytes);
      this.#events.changed();
    });
    source.once("end", () => stream.end("fin"));
    source.on("error", () => {
      // A client's reset reaches the server as an ordinary end: a reset could overtake a request of it.
      if (stream.direction === "replies") end = "rst";
    });
    source.once("close", () => {
      stream.end(end);
      this.#openSockets -= 1;
      if (this.#openSockets === 0) this.#events.closed(this);
      this.#events.changed();
    });
  }

  /** Lets nothing through any more, and neither side knows. */
  freeze(): void {
    for (const stream of [this.requests, this.replies]) stream.freeze();
  }

  /** Ends both connections with a TCP reset; what is held or delayed vanishes. */
  reset(): void {
    for (const stream of [this.requests, this.replies]) stream.close();
    for (const socket of [this.#client, this.#server]) resetSocket(socket);
  }
}

function resetSocket(socket: Socket): void {
  if (socket.destroyed) return;
  // resetAndDestroy waits for a connection that is still being made, and a hung target never completes it. Where an end
  // is being sent, Node 20 never exits after it.
  const isEnding = socket.writableEnded && !socket.writableFinished;
  if (socket.connecting || isEnding) socket.destroy();
  else socket.resetAndDestroy();
}

/** One direction of a link: a queue in front of the socket that the bytes go to. */
class Stream {
  readonly direction: Direction;
  /** The frames that have arrived from the source so far. */
  readonly frames: RespFrames = new RespFrames();
  readonly #sink: Socket;
  readonly #events: LinkEvents;
  #flow: Flow;
  #isFrozen = false;
  #queue: Item[] = [];
  #timer: NodeJS.Timeout | undefined;
  #ended = false;
  #torn = false;

  constructor(direction: Direction, sink: Socket, flow: Flow, events: LinkEvents) {
    this.direction = direction;
    this.#sink = sink;
    this.#flow = flow;
    this.#events = events;
  }

  /** Whether a part of the stream was dropped: forwarding the rest would produce bytes that were never sent. */
  get torn(): boolean {
    return this.#torn && !this.#isFrozen;
  }

  /** Chunks that are held or delayed now. */
  get queued(): number {
    return this.#queue.filter((item) => "bytes" in item).length;
  }

  push(bytes: Buffer): void {
    this.#enqueue({ bytes, due: this.#due() });
  }

  /** The source is at its end. In its turn: what it sent before is on its way even if it has given up. */
  end(end: End): void {
    if (this.#ended) return;
    this.#enqueue({ end, due: this.#due() });
    this.#ended = true;
  }

  #due(): number {
    return performance.now() + this.#flow.delayMilliseconds;
  }

  #enqueue(item: Item): void {
    this.#queue.push(item);
    if (this.#ended || this.#flow.mode === "drop") this.drop();
    else this.pump();
  }

  /**
   * Forwards what may go now; called again when the flow has changed. Only ever from the front of the queue:
   * what is due earlier than its predecessor, as after a shorter delay was set, does not overtake it.
   */
  pump(): void {
    clearTimeout(this.#timer);
    while (this.#queue.length > 0 && this.#flow.mode === "pass") {
      const wait = (this.#queue[0] as Item).due - performance.now();
      if (wait > 0 && this.#flow.delayMilliseconds > 0) {
        this.#timer = setTimeout(() => {
          this.pump();
          this.#events.changed();
        }, Math.ceil(wait));
        return;
      }
      this.#forward(this.#queue.shift() as Item);
    }
  }

  #forward(item: Item): void {
    if ("end" in item) {
      if (item.end === "rst") resetSocket(this.#sink);
      else if (this.#sink.writable) this.#sink.end();
    } else if (this.#sink.writable) {
      this.#sink.write(item.bytes);
    } else {
      this.#events.dropped(this.direction);
    }
  }

  /** Drops everything that is queued: a cut path loses the data on it, including the end of the peer's connection. */
  drop(): void {
    clearTimeout(this.#timer);
    if (this.#queue.length > 0) this.#torn = true;
    for (const item of this.#queue) if ("bytes" in item) this.#events.dropped(this.direction);
    this.#queue = [];
  }

  freeze(): void {
    this.#flow = { mode: "drop", delayMilliseconds: 0 };
    this.#isFrozen = true;
    this.drop();
  }

  /** Lets nothing through any more. */
  close(): void {
    this.drop();
    this.#ended = true;
  }
}
