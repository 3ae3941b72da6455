import { type RedlockError, ResourceLockedError } from "../errors.ts";
import { Lock } from "../holding/lock.ts";
import { Renewal } from "../holding/renewal.ts";
import type { Settings } from "../settings/settings.ts";
import { abortWith, onAbort } from "../time/abort.ts";

export interface SlotRaceTerms {
  readonly slots: readonly string[];
  /** How many slots are wanted. */
  readonly count: number;
  readonly ttl: number;
  readonly settings: Settings;
  /** Ends the race: everything is given up. */
  readonly signal: AbortSignal;
  /** Waits for one slot until it is granted, or until the signal aborts; comes to the reason where it is not. */
  acquire(slot: string, signal: AbortSignal): Promise<Lock | RedlockError>;
}

/**
 * Waits for every slot at once, until `count` of them are held together: those that come first. Until then the ones
 * that have come are kept extended. Nothing is left of the others (PROTOCOL 10.2).
 */
export class SlotRace {
  readonly #terms: SlotRaceTerms;
  readonly #held = new Set<Lock>();
  readonly #over = new AbortController();
  readonly #failures: unknown[] = [];
  #resolve!: (held: readonly Lock[]) => void;
  #reject!: (error: unknown) => void;

  constructor(terms: SlotRaceTerms) {
    this.#terms = terms;
  }

  /** Rejects when so many slots have failed that the others cannot be enough, with the reason that tells most. */
  async run(): Promise<readonly Lock[]> {
    const { slots, signal } = this.#terms;
    const decided = new Promise<readonly Lock[]>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    const end = () => abortWith(this.#over, signal.reason);
    const forget = onAbort(signal, end);
    if (signal.aborted) end();
    const contests = slots.map((slot) => this.#contest(slot).catch((error) => this.#fail(error)));
    try {
      return await decided;
    } catch (error) {
      abortWith(this.#over);
      await Promise.all([...contests, ...[...this.#held].map((lock) => lock.release())]);
      throw error;
    } finally {
      forget();
    }
  }

  async #contest(slot: string): Promise<void> {
    const { count, ttl, settings } = this.#terms;
    const over = this.#over.signal;
    for (;;) {
      const lock = await this.#terms.acquire(slot, over);
      if (!(lock instanceof Lock)) throw lock;
      if (over.aborted) {
        // Granted in the moment in which others were enough.
        await lock.release();
        return;
      }
      this.#held.add(lock);
      if (this.#held.size === count) {
        this.#resolve([...this.#held]);
        abortWith(this.#over);
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
    const { slots, count } = this.#terms;
    this.#failures.push(error);
    if (this.#failures.length > slots.length - count) this.#reject(tellingMost(this.#failures));
  }
}

/** Of refusals the one that is over soonest. */
function tellingMost(failures: readonly unknown[]): unknown {
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
