import { type RedlockError, ResourceLockedError } from "../errors.ts";
import { Lock } from "../holding/lock.ts";
import { Renewal } from "../holding/renewal.ts";
import { Paced } from "../load/paced.ts";
import type { Settings } from "../settings/settings.ts";
import { abortWith, onAbort } from "../time/abort.ts";
import type { Runtime } from "../time/runtime.ts";

/** The number of slots that are asked for in one turn of the event loop: each takes some 40 us. */
const maxPerTurn = 32;

export interface SlotRaceOptions {
  readonly runtime: Pick<Runtime, "setTimer">;
  readonly slots: readonly string[];
  /** The number of slots to acquire. */
  readonly count: number;
  readonly ttl: number;
  readonly settings: Settings;
  /** Ends the race: all slots are released. */
  readonly signal: AbortSignal;
  /**
   * Waits for one slot until it is granted or the signal aborts. Resolves to the error if it is not granted.
   */
  acquire(slot: string, signal: AbortSignal): Promise<Lock | RedlockError>;
}

/**
 * Waits for every slot at once until `count` are held together. The slots held so far are kept extended until
 * then. The acquires of all others are aborted (PROTOCOL 10.2).
 */
export class SlotRace {
  readonly #options: SlotRaceOptions;
  readonly #held = new Set<Lock>();
  readonly #end = new AbortController();
  readonly #failures: unknown[] = [];
  #resolve!: (held: readonly Lock[]) => void;
  #reject!: (error: unknown) => void;

  constructor(options: SlotRaceOptions) {
    this.#options = options;
  }

  /** Rejects when too few slots remain that have not failed, with the most informative error. */
  async run(): Promise<readonly Lock[]> {
    const { slots, signal, runtime } = this.#options;
    const decided = new Promise<readonly Lock[]>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    const end = () => abortWith(this.#end, signal.reason);
    const unsubscribe = onAbort(signal, end);
    if (signal.aborted) end();
    const acquires: Promise<void>[] = [];
    const paced = new Paced(maxPerTurn, runtime);
    for (const slot of slots) {
      paced.call(() => {
        // Decided meanwhile; a race that was aborted before it began still asks, to learn why.
        if (this.#end.signal.aborted && acquires.length > 0) return;
        acquires.push(this.#acquireSlot(slot).catch((error) => this.#fail(error)));
      });
    }
    try {
      return await decided;
    } catch (error) {
      abortWith(this.#end);
      await Promise.all([...acquires, ...[...this.#held].map((lock) => lock.release())]);
      throw error;
    } finally {
      unsubscribe();
    }
  }

  async #acquireSlot(slot: string): Promise<void> {
    const { count, ttl, settings } = this.#options;
    const over = this.#end.signal;
    for (;;) {
      const lock = await this.#options.acquire(slot, over);
      if (!(lock instanceof Lock)) throw lock;
      if (over.aborted) {
        // Granted at the moment when the others were enough.
        await lock.release();
        return;
      }
      this.#held.add(lock);
      if (this.#held.size === count) {
        this.#resolve([...this.#held]);
        abortWith(this.#end);
        return;
      }
      const renewal = new Renewal(lock, ttl, settings);
      await abortOf(lock.signal, over);
      renewal.stop();
      if (over.aborted) return;
      this.#held.delete(lock);
    }
  }

  #fail(error: unknown): void {
    const { slots, count } = this.#options;
    this.#failures.push(error);
    // After an abort, slots may remain that were never asked for, and do not fail.
    const isOver = this.#end.signal.aborted || this.#failures.length > slots.length - count;
    if (isOver) this.#reject(mostInformative(this.#failures));
  }
}

/** The refusal that ends first, if there is one. */
function mostInformative(failures: readonly unknown[]): unknown {
  const refusals = failures.filter((failure) => failure instanceof ResourceLockedError);
  return refusals.sort((a, b) => a.remaining - b.remaining)[0] ?? failures[0];
}

/** Resolves when either aborts. */
function abortOf(...signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    const forget = signals.map((signal) => onAbort(signal, end));
    function end(): void {
      for (const one of forget) one();
      resolve();
    }
    if (signals.some(({ aborted }) => aborted)) end();
  });
}
