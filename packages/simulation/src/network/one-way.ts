import { Backlog } from "../engine/backlog.ts";
import { longestDelay } from "../engine/engine.ts";
import type { Kernel } from "../engine/kernel.ts";
import type { Random } from "../random.ts";
import { drawLatency, type Latency } from "./latency.ts";

/**
 * One direction between a client and a master. Messages arrive in order, each after its own latency; a cut holds
 * them back, as TCP does, which resends unacknowledged data until it arrives.
 */
export class OneWay {
  /** Factor on all latencies. */
  slowness = 1;
  readonly #kernel: Kernel;
  readonly #latency: Latency;
  readonly #longest: number;
  readonly #random: Random;
  readonly #backlog: Backlog<() => void>;
  /** In the order of sending, which is that of arrival: what each event of an arrival takes the first of. */
  readonly #onTheWay: Array<() => void> = [];
  readonly #arriveNext = (): void => this.#backlog.pass(this.#onTheWay.shift()!);
  #lastArrival = 0;
  #isCutForGood = false;

  /** `longest`: no message takes longer, however slow the way is, us. */
  constructor(kernel: Kernel, latency: Latency, longest: number, random: Random) {
    this.#kernel = kernel;
    this.#latency = latency;
    this.#longest = longest;
    this.#random = random;
    this.#backlog = new Backlog(kernel.engine, (arrive) => arrive());
  }

  /** `sentAt` is true time, us, not before now: a stalled sender is ahead. */
  send(
    sentAt: number,
    arrive: () => void,
    latency: number = Math.round(drawLatency(this.#latency, this.#random) * this.slowness),
  ): void {
    const arrival = Math.max(sentAt + Math.min(Math.max(1, latency), this.#longest), this.#lastArrival);
    this.#lastArrival = arrival;
    const delay = Math.min(Math.max(1, arrival - this.#kernel.now), longestDelay);
    this.#onTheWay.push(arrive);
    this.#kernel.engine.schedule(this.#arriveNext, delay);
  }

  cut(): void {
    this.#backlog.close();
  }

  /** No cut that is under way, or comes later, ends this one. */
  cutForGood(): void {
    this.#isCutForGood = true;
    this.cut();
  }

  /** Delivers the messages that were held back, in order. */
  heal(): void {
    if (!this.#isCutForGood) this.#backlog.open();
  }
}
