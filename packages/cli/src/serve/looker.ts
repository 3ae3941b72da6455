import { setTimeout as pause } from "node:timers/promises";
import { hasQuorum } from "../look/ask.ts";
import { Connections, type Seen } from "../look/connections.ts";
import { type LockView, type Overview, overview } from "../look/look.ts";
import type { SeenOwner } from "../look/owners.ts";
import { holderOf } from "../look/report.ts";
import { type Change, changesBetween, type Look, lockedIn, lookFrom } from "../look/watch.ts";
import type { Master } from "../masters.ts";

/** The shortest default of `nodeTimeout`: with a slower master, calls of a client may go without its vote. */
const slowRoundTrip = 50;
const keptChanges = 100;

export interface MasterView {
  readonly name: string;
  readonly reachable: boolean;
  /** Why it is not. */
  readonly error: string | undefined;
  /** ms */
  readonly roundTrip: number | undefined;
  readonly slow: boolean;
}

export interface OwnerSummary extends Pick<SeenOwner, "tag" | "name" | "host" | "pid" | "version"> {
  /** Those in its record: 10 to 20 s after it took them, at most 50. */
  readonly locks: number;
}

export interface RecordedChange extends Change {
  /** Counts the changes since the program has started. */
  readonly id: number;
  readonly lock?: ShownLock;
}

/** A lock with the words for its state, as the command line has them. */
export type ShownLock = LockView & { readonly holder: string };

const shown = (lock: LockView): ShownLock => ({ ...lock, holder: holderOf(lock) });

/** The content of the page. */
export interface State {
  readonly schemaVersion: 1;
  /** Of the look. */
  readonly time: string;
  /** Since when somebody has watched without a break: only from then on changes are known. */
  readonly since: string;
  /** ms */
  readonly interval: number;
  /** Otherwise so few masters answered that locks may be missing. */
  readonly hasQuorum: boolean;
  readonly masters: readonly MasterView[];
  readonly locks: readonly ShownLock[];
  readonly owners: readonly OwnerSummary[];
  /** The last 100, the latest first. */
  readonly changes: readonly RecordedChange[];
}

interface LookerOptions {
  /** Between two looks, ms. */
  readonly interval: number;
  /** That one master has to connect, and for its answers, ms. */
  readonly timeout: number;
  /** For how long it goes on after the last has left, ms: a page that is reloaded misses nothing. */
  readonly linger: number;
}

type Listener = (state: State) => void;

/** Looks at the masters for all pages at once, and only while there is one. */
export class Looker {
  readonly #masters: readonly Master[];
  readonly #options: LookerOptions;
  readonly #listeners = new Set<Listener>();
  #running: AbortController | undefined;
  #leaving: NodeJS.Timeout | undefined;
  #state: State | undefined;
  #changes: readonly RecordedChange[] = [];
  #changeCount = 0;

  constructor(masters: readonly Master[], options: LookerOptions) {
    this.#masters = masters;
    this.#options = options;
  }

  /** Calls `listener` with the last state, if it is of now, and with each that follows, until the result is called. */
  watch(listener: Listener): () => void {
    clearTimeout(this.#leaving);
    this.#listeners.add(listener);
    if (this.#state) listener(this.#state);
    if (!this.#running) {
      this.#running = new AbortController();
      void this.#run(this.#running.signal);
    }
    return () => {
      this.#listeners.delete(listener);
      clearTimeout(this.#leaving);
      if (this.#listeners.size === 0) this.#leaving = setTimeout(() => this.stop(), this.#options.linger);
    };
  }

  /** The last state, or the first one that comes. */
  now(): Promise<State> {
    return new Promise((resolve) => {
      const leave = this.watch((state) => {
        resolve(state);
        // Not before `watch` has returned.
        queueMicrotask(() => leave());
      });
    });
  }

  /** Ends the connections. */
  stop(): void {
    clearTimeout(this.#leaving);
    this.#running?.abort();
    this.#running = undefined;
    this.#state = undefined;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { interval, timeout } = this.#options;
    const since = new Date().toISOString();
    const limit = { timeout, signal };
    const connections = new Connections(this.#masters, limit);
    let before: Look | undefined;
    while (!signal.aborted) {
      const seen = await connections.all();
      const all = await overview(seen, limit, { known: before ? lockedIn(before) : [] });
      if (signal.aborted) return;
      const time = new Date().toISOString();
      const look = lookFrom(seen, all, before ?? new Map());
      this.#record(time, before, look);
      before = look;
      this.#state = stateOf(seen, all, { time, since, interval, changes: this.#changes });
      for (const listener of this.#listeners) listener(this.#state);
      await pause(interval, undefined, { signal }).catch(() => {});
    }
  }

  #record(time: string, before: Look | undefined, look: Look): void {
    const found = changesBetween(before ?? new Map(), look).filter(
      // The first look shows what there is: only a fault is news.
      ({ change }) => before !== undefined || change === "unreachable" || change === "no-quorum",
    );
    const recorded = found.map(({ lock, ...change }): RecordedChange => {
      return { id: ++this.#changeCount, time, ...change, ...(lock && { lock: shown(lock) }) };
    });
    this.#changes = [...recorded.toReversed(), ...this.#changes].slice(0, keptChanges);
  }
}

function stateOf(
  seen: readonly Seen[],
  all: Overview,
  more: Pick<State, "time" | "since" | "interval" | "changes">,
): State {
  const { owners, locks, silent } = all;
  const errors = new Map(silent.map(({ master, error }) => [master, error]));
  return {
    schemaVersion: 1,
    ...more,
    hasQuorum: hasQuorum(all),
    masters: seen.map(({ name, roundTrip }) => ({
      name,
      reachable: !errors.has(name),
      error: errors.get(name),
      roundTrip,
      slow: roundTrip !== undefined && roundTrip > slowRoundTrip,
    })),
    locks: locks.map(shown),
    owners: owners.map(({ tag, name, host, pid, version, locks: held }) => ({
      tag,
      name,
      host,
      pid,
      version,
      locks: held.length,
    })),
  };
}
