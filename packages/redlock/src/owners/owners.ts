import { NodeError, type Owner, printable, titleOf } from "../errors.ts";
import type { ActiveLease, Context, OwnerNames } from "../protocol/context.ts";
import type { Inspection } from "../protocol/inspect.ts";
import type { LockNode, RecordStore } from "../protocol/node.ts";
import { outside } from "../time/async-context.ts";
import { Cancellation } from "../time/cancellation.ts";
import { sleep } from "../time/sleep.ts";
import type { TimerHandle, TimerTask } from "../time/timers.ts";
import { distinctMasters, type ListedMaster, quorumsIntersect } from "./membership.ts";
import { type OwnerRecord, ownerKey, ownersKey, recordIn } from "./owner-record.ts";
import { ownerScript } from "./owner-script.ts";
import { version } from "./version.ts";

/** A record is written each 10 s, and lives for three times as long, ms. */
const interval = 10_000;
const lifetime = 30_000;
/** The number of locks in a record, and how long they have been held at least, ms. */
const maxLocks = 50;
const minHeld = 10_000;

/** The other owners in the index of one master. */
interface Heard {
  readonly tags: ReadonlySet<string>;
  /** Whether the index has others as well. */
  readonly isPart: boolean;
}

/**
 * The owner of a Redlock by its name: writes a record about it to each master, so that others can tell who holds a lock,
 * and compares the lists of masters (PROTOCOL 1.13). No lock waits for any of this, and none depends on it.
 */
export class Owners implements TimerTask, OwnerNames {
  readonly self: Owner;
  readonly #context: Context;
  #hasBegun = false;
  #hasEnded = false;
  #timer: TimerHandle | undefined;
  /** How often it was written. */
  #turn = 0;
  /** The session of the connection on which each master has refused the last write. */
  readonly #refusedIn: Array<number | undefined> = [];
  readonly #unanswered = new Set<number>();
  /** By the last answer of each master. */
  readonly #heard: Array<Heard | undefined> = [];
  /** The records of other owners, until their owners are gone: a Redlock keeps its list. */
  #known = new Map<string, OwnerRecord>();
  /** The lists that have been reported, and are still in use. */
  #reported: ReadonlySet<string> = new Set();

  constructor(context: Context, self: Omit<Owner, "tag">) {
    this.#context = context;
    this.self = { ...self, tag: context.tokens.tag };
  }

  /** From the first lock on. */
  begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    // It serves later calls as well.
    outside(() => this.onDue());
  }

  /** Writes it everywhere, and once more in ten seconds. */
  onDue(): void {
    const { timers, clock } = this.#context;
    this.#timer = timers.add(clock.now() + interval, this);
    void this.#write();
  }

  /** Sends the delete of each record: the connections close behind it. */
  end(): void {
    this.#context.timers.cancel(this.#timer);
    const { nodes } = this.#context;
    if (this.#hasBegun)
      for (const [index, node] of nodes.entries()) void this.#writeTo(node.records, index, "", 0);
    this.#hasBegun = true;
    this.#hasEnded = true;
  }

  async ownerOf(tag: string, timeout: number, ended: Cancellation): Promise<Owner | undefined> {
    if (tag === this.self.tag) return this.self;
    const found = await this.recordsOf([tag], timeout, ended);
    const record = found.get(tag);
    return record && ownerIn(record);
  }

  /** The records of these owners, as far as a master has them: resolves once each is found, or all masters have answered. */
  async recordsOf(
    tags: readonly string[],
    timeout: number,
    ended: Cancellation = new Cancellation(),
  ): Promise<ReadonlyMap<string, OwnerRecord>> {
    const found = new Map<string, OwnerRecord>();
    if (tags.length === 0) return found;
    const done = new Cancellation();
    const forget = ended.onCancel(() => done.cancel(ended.reason!));
    await this.#fromMost(timeout, done, async ({ records }) => {
      for (const record of await recordsAt(records, tags)) found.set(record.tag, record);
      if (found.size === tags.length) done.cancel(new Error("all are found"));
    });
    forget();
    return found;
  }

  /** Resolves when every master has answered, at `done`, or after `timeout` ms. Failures count as answers. */
  async #fromMost(
    timeout: number,
    done: Cancellation,
    ask: (node: LockNode, index: number) => Promise<void>,
  ): Promise<void> {
    const { nodes, runtime } = this.#context;
    const asking = nodes.map((node, index) => ask(node, index).catch(() => {}));
    void Promise.all(asking).then(() => done.cancel(new Error("all have answered")));
    await sleep(runtime, timeout, done);
  }

  /** With the names of the owners, and since when they hold the resource. */
  async named(
    resource: string,
    inspections: readonly Inspection[],
    timeout: number,
  ): Promise<readonly Inspection[]> {
    const tags = [...new Set(inspections.flatMap(({ tag }) => tag ?? []))];
    const records = await this.recordsOf(tags, timeout);
    return inspections.map((inspection) => {
      const { tag } = inspection;
      const record = tag === undefined ? undefined : records.get(tag);
      const since = record?.locks.find(({ resources }) => resources.includes(resource))?.since;
      const holder = tag === this.self.tag ? this.self : record && ownerIn(record);
      return { ...inspection, holder, since };
    });
  }

  async #write(): Promise<void> {
    this.#turn += 1;
    const text = JSON.stringify(this.#record());
    // One command for each master.
    await this.#fromMost(interval / 4, new Cancellation(), ({ records }, index) =>
      this.#writeTo(records, index, text, lifetime),
    );
    await this.#learn();
    if (!this.#hasEnded) this.#compare();
  }

  #record(): Omit<OwnerRecord, "tag"> {
    const { name, host, pid } = this.self;
    const { leases, runtime, clock } = this.#context;
    const now = clock.now();
    const wall = runtime.wall();
    const old: ActiveLease[] = [];
    // In the order of their grants: the oldest are first.
    for (const lease of leases) {
      if (old.length === maxLocks || now - lease.grantedAt < minHeld) break;
      old.push(lease);
    }
    const locks = old.map(({ resources, grantedAt, fencingToken }) => ({
      resources,
      since: Math.round(wall - (now - grantedAt)),
      fencingToken,
    }));
    return { name, host, pid, version, masters: this.#masters, locks };
  }

  get #masters(): readonly ListedMaster[] {
    return this.#context.nodes.map(({ name, server }) => ({ name, ids: server?.ids ?? [] }));
  }

  /**
   * A refusal is no fault, since the master goes on to vote: nothing is written again on that connection. Nor is it while
   * the last write is unanswered.
   */
  async #writeTo(records: RecordStore | undefined, index: number, text: string, ttl: number): Promise<void> {
    const session = records?.session;
    if (!records || session === undefined || session === this.#refusedIn[index]) return;
    if (this.#unanswered.has(index) && ttl > 0) return;
    this.#unanswered.add(index);
    const { tag } = this.self;
    const keys = [ownersKey, ownerKey(tag, records.isCluster)];
    const args = [ownerScript.source, 2, ...keys, tag, text, ttl, this.#turn];
    try {
      this.#heard[index] = heardIn(await records.send("EVAL", args));
    } catch {
      this.#refusedIn[index] = session;
      this.#heard[index] = undefined;
    } finally {
      this.#unanswered.delete(index);
    }
  }

  /** Reads the records of owners that it has not seen yet. Those that are gone are forgotten. */
  async #learn(): Promise<void> {
    const tags = new Set(this.#heard.flatMap((heard) => [...(heard?.tags ?? [])]));
    tags.delete(this.self.tag);
    const isPart = this.#heard.some((heard) => heard?.isPart);
    const unknown = [...tags].filter((tag) => !this.#known.has(tag));
    const found = await this.recordsOf(unknown.slice(0, 50), interval / 4);
    const kept = [...this.#known].filter(([tag]) => tags.has(tag) || (isPart && this.#known.size < 1000));
    this.#known = new Map([...kept, ...found]);
  }

  /** Reports each list of masters that does not go with its own, once for as long as it is in use (PROTOCOL 1.13). */
  #compare(): void {
    const own = this.#masters;
    const incompatible = new Map<string, OwnerRecord>();
    const distinctOf = (record: OwnerRecord): number =>
      distinctMasters(own, record.masters, (place) => this.#heard[place]?.tags.has(record.tag) ?? false);
    for (const record of this.#known.values()) {
      if (record.masters.length === 0) continue;
      if (quorumsIntersect(own.length, record.masters.length, distinctOf(record))) continue;
      incompatible.set(namesOf(record), record);
    }
    const before = this.#reported;
    this.#reported = new Set(incompatible.keys());
    for (const [list, record] of incompatible) {
      if (before.has(list)) continue;
      const text =
        `${titleOf(record)} locks on other masters: ${printable(list)}. A quorum of these ${record.masters.length} and one of ` +
        `our ${own.length} need not share a master, so two clients can hold one lock: change the list by one master at a time`;
      this.#context.report(new NodeError(own[0]!.name, "MEMBERSHIP", text));
    }
  }
}

export function ownerIn({ name, host, pid, tag }: OwnerRecord): Owner {
  return { name, host, pid, tag };
}

function namesOf({ masters }: OwnerRecord): string {
  return masters
    .map(({ name }) => name)
    .sort()
    .join(", ");
}

async function recordsAt(
  records: RecordStore | undefined,
  tags: readonly string[],
): Promise<readonly OwnerRecord[]> {
  if (records?.session === undefined) return [];
  const keys = tags.map((tag) => ownerKey(tag, records.isCluster));
  const texts = await records.send("MGET", keys);
  if (!Array.isArray(texts)) return [];
  return tags.flatMap((tag, place) => recordIn(tag, texts[place]) ?? []);
}

function heardIn(reply: unknown): Heard | undefined {
  const [count, tags] = Array.isArray(reply) ? (reply as readonly unknown[]) : [];
  if (!Array.isArray(tags)) return undefined;
  const names = tags.filter((tag): tag is string => typeof tag === "string");
  return { tags: new Set(names), isPart: Number(count) > names.length };
}
