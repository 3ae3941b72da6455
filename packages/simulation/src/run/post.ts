import type { RunEvent } from "../checkers/checker.ts";
import type { Kernel } from "../engine/kernel.ts";
import type { Process } from "../engine/process.ts";
import type { Random } from "../random.ts";

/** A lock that was detached, on its way to the client that is to resume it. */
export interface Parcel {
  readonly detached: unknown;
  /** When the lock was asked for; true time, us. */
  readonly askedAt: number;
}

/** A client that resumes locks which others detached. */
export interface Receiver {
  readonly process: Process;
  /** In a turn of its process. */
  receive(parcel: Parcel): void;
}

/** Carries detached locks from one client to another, as a job queue of the user's would. */
export class Post {
  readonly #kernel: Kernel;
  readonly #random: Random;
  readonly #receivers: Receiver[] = [];
  #onTheWay = 0;
  #last: Parcel | undefined;

  constructor(kernel: Kernel, random: Random) {
    this.#kernel = kernel;
    this.#random = random;
  }

  add(receiver: Receiver): void {
    this.#receivers.push(receiver);
  }

  /** Nothing is on its way. */
  get isEmpty(): boolean {
    return this.#onTheWay === 0;
  }

  /** To any client, the sender's own process included; it arrives after `delay` ms on average. */
  send(parcel: Parcel, delay: number): void {
    const receiver = this.#random.pick(this.#receivers);
    this.#last = parcel;
    this.#bring(parcel, receiver, Math.max(1, Math.round(1000 * this.#random.exponential(delay))));
  }

  /** The parcel that was sent last comes to a client too. */
  see(event: RunEvent): void {
    if (event.is !== "repeated") return;
    const receiver = this.#receivers.find(({ process }) => process === event.client);
    if (receiver && this.#last) this.#bring(this.#last, receiver, 1);
  }

  end(): void {}

  #bring(parcel: Parcel, receiver: Receiver, wait: number): void {
    this.#onTheWay += 1;
    this.#kernel.engine.schedule(() => {
      this.#onTheWay -= 1;
      if (!receiver.process.isDead) receiver.process.deliver(() => receiver.receive(parcel));
    }, wait);
  }
}
