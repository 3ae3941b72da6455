import { hotKey } from "../terms.ts";
import type { History, Hold, Write } from "./history.ts";

/** A history while it is being made. */
export class Chronicle {
  readonly #holds = new Map<string, Hold>();
  readonly #locks = new Set<string>();
  readonly #open = new Map<string, { readonly worker: string; readonly heardAt: number }>();
  readonly #writes: Write[] = [];
  readonly #waits = new Map<string, () => void>();
  readonly #latestGrants = new Map<string, number>();
  #hotGrants = 0;

  /** Locks granted, as far as was heard of them. */
  get grants(): number {
    return this.#locks.size;
  }

  get hotGrants(): number {
    return this.#hotGrants;
  }

  get history(): History {
    return { holds: [...this.#holds.values()], writes: this.#writes };
  }

  /** When the key was granted last, as far as was heard of it. */
  latestGrantOf(key: string): number {
    return this.#latestGrants.get(key) ?? Number.NEGATIVE_INFINITY;
  }

  /** A holder was heard of at that moment: it believes, and has not released. */
  heard(hold: Hold, at: number): void {
    if (!this.#holds.has(hold.id) && hold.key === hotKey) this.#hotGrants += 1;
    this.#latestGrants.set(hold.key, Math.max(this.latestGrantOf(hold.key), hold.grantedAt));
    this.#holds.set(hold.id, hold);
    this.#locks.add(hold.lock);
    this.#open.set(hold.id, { worker: hold.worker, heardAt: at });
  }

  ended(hold: Hold): void {
    this.heard(hold, hold.releasedAt ?? hold.believedUntil);
    this.#open.delete(hold.id);
    this.#waits.get(hold.id)?.();
    this.#waits.delete(hold.id);
  }

  wrote(write: Write): void {
    this.#writes.push(write);
    const open = this.#open.get(write.hold);
    if (open) this.#open.set(write.hold, { ...open, heardAt: write.readAt });
  }

  /** A worker was killed: the actions of its holders after their last report are unknown. */
  died(worker: string): void {
    for (const [id, { worker: holder, heardAt }] of this.#open) {
      if (holder !== worker) continue;
      const hold = this.#holds.get(id)!;
      this.#holds.set(id, { ...hold, believedUntil: Math.min(hold.believedUntil, heardAt) });
      this.#open.delete(id);
      this.#waits.get(id)?.();
    }
  }

  /** Resolves when this hold is over. */
  untilEnded(id: string): Promise<void> {
    if (!this.#open.has(id)) return Promise.resolve();
    return new Promise((resolve) => this.#waits.set(id, resolve));
  }
}
