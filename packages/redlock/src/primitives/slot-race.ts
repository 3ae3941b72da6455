import { AbortError, type RedlockError, ResourceLockedError } from "../errors.ts";
import { Lock } from "../holding/lock.ts";
import { Renewal } from "../holding/renewal.ts";
import { linkSignals } from "../holding/using.ts";
import type { Settings } from "../settings/settings.ts";
import { abortWith, onAbort } from "../time/abort.ts";
import type { Runtime } from "../time/runtime.ts";

/** The number of slots that are asked for, or left, in one turn of the event loop: each takes some 100 us. */
const batchSize = 32;
/**
 * The pause between two batches, ms, in which the masters' answers are read: a slot that is asked for is refused, and then
 * enters a queue.
 */
const askPause = 6;
const leavePause = 2;

export interface SlotRaceOptions {
  readonly runtime: Pick<Runtime, "setTimer">;
  readonly slots: readonly string[];
  /** The number of slots to acquire. */
  readonly count: number;
  readonly ttl: number;
  readonly settings: Settings;
  /** Ends the race: all slots are released. */
  readonly signal: AbortSignal;
  /** The rest of the time for the whole race, ms. */
  left(): number;
  /**
   * Waits for one slot until it is granted, the signal aborts, or `delay` ms after the time of the race is over.
   * Resolves to the error if it is not granted.
   */
  acquire(slot: string, signal: AbortSignal, delay: number): Promise<Lock | RedlockError>;
}

/**
 * Waits for every slot at once until `count` are held together. The slots held so far are kept extended until
 * then. The acquires of all others are aborted (PROTOCOL 10.2).
 *
 * The slots are asked for and left in batches, each in a turn of the event loop: thousands in one turn would keep the
 * process from extending the leases it holds.
 */
export class SlotRace {
  readonly #options: SlotRaceOptions;
  readonly #held = new Set<Lock>();
  readonly #end = new AbortController();
  /** Aborts the acquires of a batch. */
  readonly #batches: AbortController[] = [];
  readonly #acquires: Promise<void>[] = [];
  #failureCount = 0;
  /** The most informative failure: the refusal that ends first, if there is one. */
  #failure: unknown;
  #resolve!: (held: readonly Lock[]) => void;
  #reject!: (error: unknown) => void;

  constructor(options: SlotRaceOptions) {
    this.#options = options;
  }

  /** Rejects when too few slots remain that have not failed, or the time is over, with the most informative error. */
  async run(): Promise<readonly Lock[]> {
    const { signal } = this.#options;
    const decided = new Promise<readonly Lock[]>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    const end = () => abortWith(this.#end, signal.reason);
    const unsubscribe = onAbort(signal, end);
    if (signal.aborted) end();
    onAbort(this.#end.signal, () => this.#leave());
    // A race that was aborted before it began still asks, to learn why.
    this.#askFor(0);
    try {
      return await decided;
    } catch (error) {
      const isAborted = this.#end.signal.aborted;
      abortWith(this.#end);
      const released = [...this.#held].map((lock) => lock.release());
      // At the end of its time the caller does not wait for thousands of slots to be left.
      await Promise.all([...this.#acquires.slice(0, isAborted ? undefined : batchSize), ...released]);
      throw error;
    } finally {
      unsubscribe();
    }
  }

  /** Asks for the slots from `first` on. */
  #askFor(first: number): void {
    const { runtime, slots, count } = this.#options;
    const batch = new AbortController();
    this.#batches.push(batch);
    // More of them than can be held at once end by their own timers, one batch after the other; they speak for all.
    const delay = first < count + batchSize ? (first / batchSize) * leavePause : Number.POSITIVE_INFINITY;
    if (this.#end.signal.aborted) abortWith(batch, this.#end.signal.reason);
    for (const slot of slots.slice(first, this.#end.signal.aborted ? 1 : first + batchSize)) {
      const acquired = this.#acquireSlot(slot, batch.signal, delay);
      this.#acquires.push(acquired.catch((error) => this.#fail(error)));
    }
    const next = first + batchSize;
    if (next >= slots.length) return;
    runtime.setTimer(() => {
      if (!this.#end.signal.aborted) this.#askFor(next);
    }, askPause);
  }

  /** Aborts the acquires of the slots that were asked for. */
  #leave(): void {
    const batch = this.#batches.shift();
    if (!batch) return;
    abortWith(batch, this.#end.signal.reason);
    if (this.#batches.length > 0) this.#options.runtime.setTimer(() => this.#leave(), leavePause);
  }

  async #acquireSlot(slot: string, signal: AbortSignal, delay: number): Promise<void> {
    const { count, ttl, settings } = this.#options;
    const over = this.#end.signal;
    for (;;) {
      const lock = await this.#options.acquire(slot, signal, delay);
      if (!(lock instanceof Lock)) throw lock;
      if (over.aborted) {
        // Granted at the moment when the others were enough, or when the caller gave up: then this may be the only slot left to say so.
        await lock.release();
        throw new AbortError(over.reason);
      }
      this.#held.add(lock);
      if (this.#held.size === count) {
        this.#resolve([...this.#held]);
        abortWith(this.#end);
        return;
      }
      const renewal = new Renewal(lock, ttl, settings);
      const { signal: either, unlink } = linkSignals([lock.signal, over]);
      if (!either.aborted) await new Promise<void>((resolve) => void onAbort(either, resolve));
      unlink();
      renewal.stop();
      if (over.aborted) throw new AbortError(over.reason);
      this.#held.delete(lock);
    }
  }

  #fail(error: unknown): void {
    const { slots, count } = this.#options;
    this.#failureCount += 1;
    if (this.#failureCount === 1 || isSooner(error, this.#failure)) this.#failure = error;
    // After an abort, slots may remain that were never asked for, and do not fail.
    const failed = this.#end.signal.aborted || this.#failureCount > slots.length - count;
    const settled = this.#failureCount + this.#held.size;
    if (failed || (this.#options.left() === 0 && settled >= Math.min(slots.length, batchSize)))
      this.#reject(this.#failure);
  }
}

/** Whether it is a refusal that ends before `other`, or `other` is none. */
function isSooner(error: unknown, other: unknown): boolean {
  if (!(error instanceof ResourceLockedError)) return false;
  return !(other instanceof ResourceLockedError) || error.remaining < other.remaining;
}
