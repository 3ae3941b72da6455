import type { Kernel } from "../engine/kernel.ts";
import type { Subscriber } from "../master/channels.ts";
import type { ReplyError } from "../master/reply.ts";
import { type ConnectionOptions, Dialer } from "./dialer.ts";

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
 * without a call, and then subscribes to everything again.
 *
 * A message is lost with the connection it is on. The master hears later than the client that the connection is gone,
 * by as long as the way takes or is cut: what it publishes meanwhile counts as heard and is lost.
 */
export class SimulatedSubscription extends Dialer {
  readonly #witness: PushWitness;
  readonly #ears = new Map<string, Ear>();
  #state: "unused" | "connecting" | "ready" | "lost" | "closed" = "unused";
  /** This connection, as the master knows it. */
  #subscriber: Subscriber | undefined;

  constructor(kernel: Kernel, options: ConnectionOptions, witness: PushWitness) {
    super(kernel, options);
    this.#witness = witness;
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
    this.generation += 1;
    const { client, requests } = this.options;
    const master = this.dialed;
    const subscriber = this.#subscriber;
    this.#subscriber = undefined;
    if (!subscriber) return;
    requests.send(client.now, () => master.process.deliver(() => master.channels.forget(subscriber)));
  }

  /** The connection breaks. The client hears of it as soon as it runs. */
  reset(): void {
    if (this.#state === "closed" || this.#state === "unused") return;
    const { client, reconnectDelay } = this.options;
    this.hangUp();
    const generation = this.generation;
    this.later(() => this.#lose(), 1);
    this.later(() => {
      const isOver = this.#state === "ready" || this.#state === "closed";
      if (generation === this.generation && !isOver && !client.isDead) this.#connect();
    }, reconnectDelay * 1000);
  }

  #lose(): void {
    if (this.#state !== "ready" && this.#state !== "connecting") return;
    this.#state = "lost";
    const { now, trace } = this.kernel;
    trace.add(now, this.options.client.name, "is deaf to", this.dialed.name);
    for (const ear of [...this.#ears.values()]) ear.changed(false);
  }

  protected override onDown(): void {
    this.reset();
  }

  /** Where the master is down it is tried again later. */
  #connect(): void {
    this.#state = "connecting";
    const { generation } = this;
    this.dial(
      () => generation !== this.generation,
      (isUp, isBusy) => {
        if (isUp && !isBusy) this.#stand();
        else this.reset();
      },
    );
  }

  #stand(): void {
    this.#state = "ready";
    const generation = this.generation;
    this.#subscriber = { push: (channel, message) => this.#push(generation, channel, message) };
    for (const channel of this.#ears.keys()) this.#subscribe(channel);
  }

  #subscribe(channel: string): void {
    const { client, requests, replies } = this.options;
    const master = this.dialed;
    const subscriber = this.#subscriber!;
    const generation = this.generation;
    requests.send(client.now, () => {
      if (generation !== this.generation || !master.isUp) return;
      const { incarnation } = master;
      master.process.deliver(() => {
        if (!master.isUp || master.incarnation !== incarnation) return;
        const error = master.subscribe(channel, subscriber);
        const { now, trace } = this.kernel;
        trace.add(now, master.name, "subscribes", client.name, channel, error?.message ?? "OK");
        // It had hung up before the master came to it.
        if (generation !== this.generation) master.channels.forget(subscriber);
        replies.send(master.process.now, () =>
          this.#deliver(generation, () => this.#acknowledge(channel, error)),
        );
      });
    });
  }

  #acknowledge(channel: string, error: ReplyError | undefined): void {
    const { now, trace } = this.kernel;
    const { name } = this.dialed;
    trace.add(now, this.options.client.name, "listens to", name, error === undefined);
    this.#ears.get(channel)?.changed(error === undefined, error);
  }

  /** In a turn of the master, in the middle of a command. */
  #push(generation: number, channel: string, message: string): void {
    const { client, replies } = this.options;
    const master = this.dialed;
    this.kernel.trace.add(this.kernel.now, master.name, "pushes", client.name, channel, message);
    this.#witness.pushed();
    replies.send(master.process.now, () => {
      if (generation !== this.generation) this.#witness.lost();
      this.#deliver(generation, () => {
        this.kernel.trace.add(this.kernel.now, client.name, "is pushed", master.name, channel, message);
        this.#witness.heard();
        this.#ears.get(channel)?.hear(message);
      });
    });
  }

  /** Delivers a message in a turn of the client, if the connection is still open. */
  #deliver(generation: number, act: () => void): void {
    if (generation !== this.generation) return;
    this.options.client.deliver(() => {
      if (generation === this.generation && this.#state === "ready") act();
    });
  }
}
