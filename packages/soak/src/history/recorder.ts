import { hotKey } from "../terms.ts";
import type { History, Hold, Write } from "./history.ts";

/** Records the history of a run. */
export class Recorder {
  readonly #holds = new Map<string, Hold>();
  readonly #locks = new Set<string>();
  readonly #open = new Map<string, { readonly worker: string; readonly reportedAt: number }>();
  readonly #writes: Write[] = [];
  readonly #waits = new Map<string, () => void>();
  readonly #latestGrants = new Map<string, number>();
  #hotGrants = 0;

  /** The number of granted locks that were reported. */
  get grants(): number {
    return this.#locks.size;
  }

  get hotGrants(): number {
    return this.#hotGrants;
  }

  get history(): History {
    return { holds: [...this.#holds.values()], writes: this.#writes };
  }

  /** The time of the last reported grant of the key. */
  latestGrantOf(key: string): number {
    return this.#latestGrants.get(key) ?? Number.NEGATIVE_INFINITY;
  }

  /** A holder reported at that moment that it holds, and has not released. */
  reported(hold: Hold, at: number): void {
    if (!this.#holds.has(hold.id) && hold.key === hotKey) this.#hotGrants += 1;
    this.#latestGrants.set(hold.key, Math.max(this.latestGrantOf(hold.key), hold.grantedAt));
    this.#holds.set(hold.id, hold);
    this.#locks.add(hold.lock);
    this.#open.set(hold.id, { worker: hold.worker, reportedAt: at });
  }

  ended(hold: Hold): void {
    this.reported(hold, hold.releasedAt ?? hold.validUntil);
    this.#open.delete(hold.id);
    this.#waits.get(hold.id)?.();
    this.#waits.delete(hold.id);
  }

  wrote(write: Write): void {
    this.#writes.push(write);
    const open = this.#open.get(write.hold);
    if (open) this.#open.set(write.hold, { ...open, reportedAt: write.readAt });
  }

  /** A worker was killed: the actions of its holders after their last report are unknown. */
  died(worker: string): void {
    for (const [id, { worker: holder, reportedAt }] of this.#open) {
      if (holder !== worker) continue;
      const hold = this.#holds.get(id)!;
      this.#holds.set(id, { ...hold, validUntil: Math.min(hold.validUntil, reportedAt) });
      this.#open.delete(id);
      this.#waits.get(id)?.();
    }
  }

  /** Resolves when this lock has ended. */
  untilEnded(id: string): Promise<void> {
    if (!this.#open.has(id)) return Promise.resolve();
    return new Promise((resolve) => this.#waits.set(id, resolve));
  }
}
