import type { Entry } from "./entries.ts";
import { Entries } from "./entries.ts";
import type { Write } from "./keyspace.ts";

/** The data that a master writes to disk, and when. */
export type Persistence =
  | { readonly mode: "none" }
  /** A snapshot each `interval` ms. */
  | { readonly mode: "rdb"; readonly interval: number }
  | { readonly mode: "aof-everysec" }
  | { readonly mode: "aof-always" };

/**
 * The kinds of crashes:
 *
 * - `process`: the process is killed. Data that it gave to the kernel is written.
 * - `power`: the machine loses power. Data that was not fsynced is lost.
 */
export type CrashKind = "process" | "power";

type Change = Pick<Write, "key" | "entry">;

interface DatedWrite extends Change {
  readonly at: number;
}

const second = 1_000_000;
/** From this number of entries on, the log is compacted now and then. */
const manyWrites = 1024;

/**
 * Every write with the true time it was made at, so that the state of any moment that a crash or a lagging replica
 * may throw a master back to can be rebuilt. No timer is needed: how far the disk had got is computed when asked.
 */
export class Durability {
  readonly #persistence: Persistence;
  /** When the periodic work of this master happens within its period, us. */
  readonly #phase: number;
  /** No replica is further behind, us. */
  readonly #longestLag: number;
  /** Entries that survive every crash, and that every replica has. */
  #base = new Entries();
  /** The writes since. */
  #log: DatedWrite[] = [];
  #maxLog = manyWrites;
  #startedAt = 0;

  constructor(persistence: Persistence, phase: number, longestLag = 0) {
    this.#longestLag = longestLag;
    this.#persistence = persistence;
    this.#phase = phase;
  }

  /** To be called for each write; `at` is true time, us, and never decreases. */
  record({ key, entry }: Change, at: number): void {
    // Neither a file nor a replica has it in this form.
    if (entry?.isRaw) return;
    if (this.#keepsAll) {
      apply(this.#base, { key, entry });
      return;
    }
    this.#log.push({ key, entry, at });
    if (this.#log.length >= this.#maxLog) this.#compact(at);
  }

  /** The entries that a restart after a crash at `at` finds. */
  afterCrash(kind: CrashKind, at: number): Map<string, Entry> {
    return this.#persistence.mode === "none" ? new Map() : this.stateAt(this.#durableUntil(kind, at));
  }

  /** The state as of `at`, with every write up to then; `at` is no longer ago than a replica may lag, where that is in question. */
  stateAt(at: number): Map<string, Entry> {
    const state = new Map(this.#base.all);
    for (const write of this.#log) if (write.at <= at) apply(state, write);
    return state;
  }

  /** `state` is all there is from now on, and it is on disk. */
  restartWith(state: ReadonlyMap<string, Entry>, at: number): void {
    this.#base = new Entries(state);
    this.#log = [];
    this.#startedAt = at;
  }

  /** Nothing is ever taken back. */
  get #keepsAll(): boolean {
    return this.#persistence.mode === "aof-always" && this.#longestLag === 0;
  }

  /** The last moment whose writes a crash leaves alone. */
  #durableUntil(kind: CrashKind, at: number): number {
    if (this.#persistence.mode === "rdb") {
      return Math.max(this.#startedAt, this.#lastTick(at, this.#persistence.interval * 1000));
    }
    if (this.#persistence.mode === "aof-everysec" && kind === "power") {
      return Math.max(this.#startedAt, this.#lastTick(at, second));
    }
    return at;
  }

  #lastTick(at: number, period: number): number {
    return Math.floor((at - this.#phase) / period) * period + this.#phase;
  }

  /** Moves into the base what belongs there by now. */
  #compact(now: number): void {
    const settled = Math.min(this.#durableUntil("power", now), now - this.#longestLag);
    const kept = this.#log.filter((write) => {
      if (write.at <= settled) apply(this.#base, write);
      return write.at > settled;
    });
    this.#log = kept;
    this.#maxLog = Math.max(manyWrites, 2 * kept.length);
  }
}

function apply(state: Map<string, Entry> | Entries, { key, entry }: Change): void {
  if (entry) state.set(key, entry);
  else state.delete(key);
}
