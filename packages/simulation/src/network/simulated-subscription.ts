import type { Kernel } from "../engine/kernel.ts";
import type { Process } from "../engine/process.ts";
import type { Subscriber } from "../master/channels.ts";
import type { Master } from "../master/master.ts";
import type { ReplyError } from "../master/reply.ts";
import type { OneWay } from "./one-way.ts";

export interface ConnectionOptions {
  readonly client: Process;
  readonly master: Master;
  readonly requests: OneWay;
  readonly replies: OneWay;
  /** From a failed or lost connection to the next try, ms. */
  readonly reconnectDelay: number;
  /** Default: the master's own name. */
  readonly name?: string;
}

/** One channel that a client listens to. */
interface Ear {
  hear(message: string): void;
  changed(isListening: boolean, error?: unknown): void;
}

/** Sees what becomes of the messages. */
export interface PushWitness {
  /** A master has published one, and it is on its way. */
  pushed(): void;
  /** In a turn of the client. */
  heard(): void;
  /** It never arrives. */
  lost(): void;
}

/**
 * A client's second connection to a master, on which it only listens. It is made for the first channel, connects again
 * by itself, and then subscribes to everything again.
 *
 * A message is lost with the connection it is on. The master hears later than the client that the connection is gone,
 * by as long as the way takes or is cut: what it publishes meanwhile counts as heard and is lost.
 */
export class SimulatedSubscription {
  readonly #kernel: Kernel;
  readonly #options: ConnectionOptions;
  readonly #witness: PushWitness;
  readonly #ears = new Map<string, Ear>();
  #state: "unused" | "connecting" | "ready" | "lost" | "closed" = "unused";
  /** Changes with each connection: what belongs to an older one is void. */
  #generation = 0;
  /** This connection, as the master knows it. */
  #subscriber: Subscriber | undefined;

  constructor(kernel: Kernel, options: ConnectionOptions, witness: PushWitness) {
    this.#kernel = kernel;
    this.#options = options;
    this.#witness = witness;
    options.master.onDown(() => this.reset());
  }

  subscribe(channel: string, hear: Ear["hear"], changed: Ear["changed"]): void {
    this.#ears.set(channel, { hear, changed });
    if (this.#state === "ready") this.#subscribe(channel);
    else if (this.#state === "unused") this.#connect();
  }

  /** In a turn of the client. */
  disconnect(): void {
    this.#state = "closed";
    this.hangUp();
  }

  /** The client's end is gone, and so is the connection as soon as the master hears of it. */
  hangUp(): void {
    this.#generation += 1;
    const { client, master, requests } = this.#options;
    const subscriber = this.#subscriber;
    this.#subscriber = undefined;
    if (!subscriber) return;
    requests.send(client.now, () => master.process.deliver(() => master.channels.forget(subscriber)));
  }

  /** The connection breaks. The client hears of it as soon as it runs. */
  reset(): void {
    if (this.#state === "closed" || this.#state === "unused") return;
    const { client, reconnectDelay } = this.#options;
    this.hangUp();
    const generation = this.#generation;
    this.#later(() => this.#lose(), 1);
    this.#later(() => {
      const isOver = this.#state === "ready" || this.#state === "closed";
      if (generation === this.#generation && !isOver && !client.isDead) this.#connect();
    }, reconnectDelay * 1000);
  }

  #lose(): void {
    if (this.#state !== "ready" && this.#state !== "connecting") return;
    const { client, master } = this.#options;
    this.#state = "lost";
    this.#kernel.trace.add(this.#kernel.now, client.name, "is deaf to", master.name);
    for (const ear of [...this.#ears.values()]) ear.changed(false);
  }

  /** A round trip; where the master is down it is tried again later. */
  #connect(): void {
    const { client, master, requests, replies } = this.#options;
    this.#state = "connecting";
    const generation = this.#generation;
    requests.send(client.now, () => {
      if (generation !== this.#generation) return;
      const { isUp, incarnation } = master;
      replies.send(this.#kernel.now, () => {
        if (generation !== this.#generation) return;
        client.deliver(() => {
          if (generation !== this.#generation) return;
          if (isUp && master.isUp && master.incarnation === incarnation) this.#stand();
          else this.reset();
        });
      });
    });
  }

  #stand(): void {
    this.#state = "ready";
    const generation = this.#generation;
    this.#subscriber = { push: (channel, message) => this.#push(generation, channel, message) };
    for (const channel of this.#ears.keys()) this.#subscribe(channel);
  }

  #subscribe(channel: string): void {
    const { client, master, requests, replies } = this.#options;
    const subscriber = this.#subscriber!;
    const generation = this.#generation;
    requests.send(client.now, () => {
      if (generation !== this.#generation || !master.isUp) return;
      const { incarnation } = master;
      master.process.deliver(() => {
        if (!master.isUp || master.incarnation !== incarnation) return;
        const error = master.subscribe(channel, subscriber);
        const { now, trace } = this.#kernel;
        trace.add(now, master.name, "subscribes", client.name, channel, error?.message ?? "OK");
        // It had hung up before the master came to it.
        if (generation !== this.#generation) master.channels.forget(subscriber);
        replies.send(master.process.now, () =>
          this.#deliver(generation, () => this.#acknowledge(channel, error)),
        );
      });
    });
  }

  #acknowledge(channel: string, error: ReplyError | undefined): void {
    const { client, master } = this.#options;
    this.#kernel.trace.add(this.#kernel.now, client.name, "listens to", master.name, error === undefined);
    this.#ears.get(channel)?.changed(error === undefined, error);
  }

  /** In a turn of the master, in the middle of a command. */
  #push(generation: number, channel: string, message: string): void {
    const { client, master, replies } = this.#options;
    this.#kernel.trace.add(this.#kernel.now, master.name, "pushes", client.name, channel, message);
    this.#witness.pushed();
    replies.send(master.process.now, () => {
      if (generation !== this.#generation) this.#witness.lost();
      this.#deliver(generation, () => {
        this.#kernel.trace.add(this.#kernel.now, client.name, "is pushed", master.name, channel, message);
        this.#witness.heard();
        this.#ears.get(channel)?.hear(message);
      });
    });
  }

  /** Delivers a message in a turn of the client, if the connection is still open. */
  #deliver(generation: number, act: () => void): void {
    if (generation !== this.#generation) return;
    this.#options.client.deliver(() => {
      if (generation === this.#generation && this.#state === "ready") act();
    });
  }

  /** As an event of its own, in a turn of the client. */
  #later(act: () => void, delay: number): void {
    this.#kernel.engine.schedule(() => this.#options.client.deliver(act), Math.max(1, delay));
  }
}
