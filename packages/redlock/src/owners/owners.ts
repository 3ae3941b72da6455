import { NodeError, type Owner } from "../errors.ts";
import type { ActiveLease, Context, OwnerNames } from "../protocol/context.ts";
import type { Inspection } from "../protocol/inspect.ts";
import { outside } from "../time/async-context.ts";
import { Latch } from "../time/cancellation.ts";
import { settledWithin } from "../time/sleep.ts";
import type { TimerHandle, TimerTask } from "../time/timers.ts";
import { Lists } from "./lists.ts";
import type { ListedMaster } from "./membership.ts";
import {
  recordInterval as interval,
  maxRecordedLocks,
  type OwnerRecord,
  recordLifetime,
} from "./owner-record.ts";
import { MasterRecords } from "./records.ts";
import { version } from "./version.ts";

/** Of a record whose locks do not expire, ms: a week. */
const maxLifetime = 604_800_000;
/** The locks in a record have been held for this time at least, ms. */
const minHeld = 10_000;

/**
 * The owner of a Redlock by its name: writes a record about it to each master, so that others can tell who holds a lock,
 * and compares the lists of masters (PROTOCOL 1.13). No lock waits for any of this, and none depends on it.
 */
export class Owners implements OwnerNames {
  readonly self: Owner;
  readonly #context: Context;
  #state: "new" | "writing" | "ended" = "new";
  #timer: TimerHandle | undefined;
  /** How often it was written. */
  #turn = 0;
  /** Leases that have ended here, and whose keys stay: those of `once`, and those that may be resumed elsewhere. */
  #kept: readonly ActiveLease[] = [];
  readonly #masters: readonly MasterRecords[];
  /** Those of other owners. */
  readonly #lists = new Lists();

  constructor(context: Context, self: Omit<Owner, "tag">) {
    this.#context = context;
    this.#masters = context.nodes.map((node) => new MasterRecords(node));
    this.self = { ...self, tag: context.tokens.tag };
  }

  /** From the first lock on, or from the first call that waits. */
  begin(): void {
    if (this.#state !== "new") return;
    this.#state = "writing";
    // It serves later calls as well.
    outside(() => this.write());
  }

  /** Writes it everywhere, and once more in ten seconds. */
  write(): void {
    const { timers, clock } = this.#context;
    this.#timer = timers.add(clock.now() + interval, nextWriteOf(new WeakRef(this)));
    void this.#write();
  }

  /**
   * Deletes each record, unless locks are kept. Resolves when the masters have answered, or after `timeout` ms: the
   * connections are closed then, and a command without an answer on a connection that ends can keep the process of some
   * versions of Node from ending.
   */
  async end(timeout: number): Promise<void> {
    this.#context.timers.cancel(this.#timer);
    const before = this.#state;
    this.#state = "ended";
    if (before === "new") return;
    // Whoever asks for the locks that it leaves finds its name.
    const [text, ttl] = this.#keptNow().length > 0 ? this.#record() : ["", 0];
    const written = this.#masters.map((master) => master.write(this.self.tag, text, ttl, this.#turn));
    await settledWithin(this.#context.runtime, timeout, written);
  }

  keep(lease: ActiveLease): void {
    this.#kept = [...this.#keptNow(), lease].slice(0, maxRecordedLocks);
  }

  #keptNow(): readonly ActiveLease[] {
    return this.#kept.filter(({ keysLeft }) => keysLeft > 0);
  }

  async ownerOf(tag: string, timeout: number, ended: Latch): Promise<Owner | undefined> {
    if (tag === this.self.tag) return this.self;
    const found = await this.recordsOf([tag], timeout, ended);
    const record = found.get(tag);
    return record && ownerIn(record);
  }

  /** The records of these owners, as far as a master has them: resolves once each is found, or all masters have answered. */
  async recordsOf(
    tags: readonly string[],
    timeout: number,
    ended: Latch = new Latch(),
    isSkipped: (index: number) => boolean = () => false,
  ): Promise<ReadonlyMap<string, OwnerRecord>> {
    const found = new Map<string, OwnerRecord>();
    if (tags.length === 0) return found;
    const done = new Latch();
    const forget = ended.onEnd(() => done.end());
    const asked = this.#masters.map(async (master, index) => {
      if (isSkipped(index)) return;
      for (const record of await master.read(tags)) found.set(record.tag, record);
      if (found.size === tags.length) done.end();
    });
    await settledWithin(this.#context.runtime, timeout, asked, done);
    forget();
    return found;
  }

  /** With the names of the owners, and since when they hold the resource. */
  async named(
    resources: readonly string[],
    found: ReadonlyArray<readonly Inspection[]>,
    timeout: number,
  ): Promise<ReadonlyArray<readonly Inspection[]>> {
    const shown = found.flat().flatMap(({ tag, waiters }) => [tag, ...waiters.map((waiter) => waiter.tag)]);
    const tags = [...new Set(shown.flatMap((tag) => tag ?? []))];
    // One that was silent just now would take a time-out again.
    const isSilent = (index: number): boolean => found.some((masters) => masters[index]!.unreachable);
    const records = await this.recordsOf(tags, timeout, new Latch(), isSilent);
    const named = (tag: string | undefined): Owner | undefined => {
      const record = tag === undefined ? undefined : records.get(tag);
      return tag === this.self.tag ? this.self : record && ownerIn(record);
    };
    const namedIn = (resource: string, inspection: Inspection): Inspection => {
      const { tag } = inspection;
      const record = tag === undefined ? undefined : records.get(tag);
      const since = record?.locks.find((lock) => lock.resources.includes(resource))?.since;
      const waiters = inspection.waiters.map((waiter) => ({ ...waiter, holder: named(waiter.tag) }));
      return { ...inspection, holder: named(tag), since, waiters };
    };
    return found.map((masters, index) => masters.map((master) => namedIn(resources[index]!, master)));
  }

  async #write(): Promise<void> {
    this.#turn += 1;
    const [text, ttl] = this.#record();
    // One command for each master.
    const written = this.#masters.map(async (master) => {
      const reply = await master.write(this.self.tag, text, ttl, this.#turn);
      const [count, tags] = Array.isArray(reply) ? (reply as readonly unknown[]) : [];
      for (const tag of Array.isArray(tags) ? (tags as readonly unknown[]) : [])
        if (typeof tag === "string" && tag !== this.self.tag)
          this.#lists.hear(tag, this.#turn, Number(count));
    });
    await settledWithin(this.#context.runtime, interval / 4, written);
    const unread = this.#lists.unread(this.#turn);
    for (const record of (await this.recordsOf(unread, interval / 4)).values()) this.#lists.learn(record);
    await this.#compare();
  }

  /** Reports each list of masters that does not go with its own, once for as long as it is in use (PROTOCOL 1.13). */
  async #compare(): Promise<void> {
    const own = this.#list;
    const suspects = this.#lists.suspects(own);
    if (suspects.length === 0) return;
    // As they are now, and where they are: a master that has a record of the other client is in the list of the other.
    const found = new Map<string, { record: OwnerRecord; on: Set<number> }>();
    const asked = this.#masters.map(async (master, index) => {
      for (const record of await master.read(suspects)) {
        const { on = new Set<number>(), record: other } = found.get(record.tag) ?? {};
        const isNewer = other === undefined || record.writes > other.writes;
        found.set(record.tag, { record: isNewer ? record : other, on: on.add(index) });
      }
    });
    await settledWithin(this.#context.runtime, interval / 4, asked);
    if (this.#state === "ended") return;
    for (const tag of suspects) {
      const { record, on } = found.get(tag) ?? {};
      const fault = record && on ? this.#lists.judge(own, record, (place) => on.has(place)) : undefined;
      if (!record) this.#lists.forget(tag);
      if (fault) this.#context.report(new NodeError(own[0]!.name, "MEMBERSHIP", fault));
    }
  }

  /** Its text, and its ttl in ms: if this process ends, the record names it as long as one of its locks keeps others out. */
  #record(): readonly [text: string, ttl: number] {
    const { tag: _, ...self } = this.self;
    const { runtime, clock } = this.#context;
    const now = clock.now();
    const wall = runtime.wall();
    const recorded = this.#recorded(now);
    const left = Math.max(recordLifetime, ...recorded.map(({ keysLeft }) => Math.ceil(keysLeft)));
    const ttl = Math.min(left, maxLifetime);
    const locks = recorded.map(({ resources, grantedAt, fencingToken }) => ({
      resources,
      since: Math.round(wall - (now - grantedAt)),
      fencingToken,
    }));
    const record: Omit<OwnerRecord, "tag"> = {
      ...self,
      version,
      writes: this.#turn,
      ttl,
      hasQuit: this.#state === "ended",
      masters: this.#list,
      locks,
    };
    return [JSON.stringify(record), ttl];
  }

  #recorded(now: number): readonly ActiveLease[] {
    const old: ActiveLease[] = [];
    // In the order of their grants: the oldest are first.
    for (const lease of this.#context.leases) {
      if (old.length === maxRecordedLocks || now - lease.grantedAt < minHeld) break;
      old.push(lease);
    }
    return [...old, ...this.#keptNow()].slice(0, maxRecordedLocks);
  }

  get #list(): readonly ListedMaster[] {
    return this.#masters.map(({ listed }) => listed);
  }
}

/** A timer keeps no Redlock that was dropped without `quit`. */
function nextWriteOf(owners: WeakRef<Owners>): TimerTask {
  return { onDue: () => owners.deref()?.write() };
}

export function ownerIn({ name, host, pid, tag }: OwnerRecord): Owner {
  return { name, host, pid, tag };
}
