import { DefaultMap } from "../default-map.ts";
import type { Process } from "../engine/process.ts";
import type { Write } from "../master/keyspace.ts";
import type { Master } from "../master/master.ts";
import { entryNameOf, isSharable, membersOf, ownPrefix, queueOf, queuePrefix } from "../master/own-keys.ts";
import { tokenOf } from "../run/subject.ts";
import { Checker, type Judged, type RunEvent } from "./checker.ts";
import type { LockInterval } from "./lock-interval.ts";
import { waiterOf } from "./token-owners.ts";
import type { Wait } from "./wait.ts";
import type { Waits } from "./waits.ts";

/** By how much the order of two calls is known, and from when on a call counts. Infinite where it cannot be said. */
export interface OrderTerms {
  /**
   * Two calls that are further apart than this have tickets in their order, us: how far two readings of the masters' clocks may differ.
   * (Calls of one process for the same resources are in their order always.)
   */
  readonly tolerance: number;
  /** Whether clients may have read the clocks of different masters, so that the distance of these counts as well. */
  readonly addsSkew: boolean;
  /** A call that is refused stands in the queues after this time, us; without faults. */
  readonly arrival: number;
}

/** An entry in a queue of one master. */
interface Place {
  readonly owner: Process;
  readonly ttl: number;
  readonly isShared: boolean;
  /** True time, us. */
  readonly since: number;
}

/**
 * Waiting calls are served in the order in which they were called (PROTOCOL 7.2). When a call is granted a lock, no call counts
 * as overtaken that
 *
 * - was called later, or earlier by less than clocks can tell;
 * - came into the queues after the votes of the lock had been given;
 * - has stopped waiting: it was aborted, or its time is over;
 * - may have demanded more time than a lease had left: then it counts as called later (2.5);
 * - does not stand in the queues of a quorum of masters: its masters do not answer, its votes came too late. Without faults there is no
 *   such call: each counts a few round trips after it was called.
 *
 * A call that wins a free key by its first vote, without any place in a queue, has not waited, and overtakes nobody, unless it reads: the
 * vote of a reader is refused while anybody waits (10.4). Readers do not overtake each other.
 */
export class Order extends Checker {
  readonly #terms: OrderTerms;
  readonly #waits: Waits;
  /** By master and queue. */
  readonly #places = new DefaultMap<Master, DefaultMap<string, Map<string, Place>>>(
    () => new DefaultMap(() => new Map()),
  );
  /** When each token got its first vote. True time, us. */
  readonly #grantedAt = new Map<string, number>();
  /** Waiters that have asked for a place in a queue. */
  readonly #waiters = new Set<string>();
  /** Tokens that have been held. */
  readonly #held = new Set<string>();
  /** The ttls of calls under way, which tell the calls of a process apart. */
  readonly #ttls = new DefaultMap<Process, Set<number>>(() => new Set());

  constructor(run: Judged, terms: OrderTerms, waits: Waits) {
    super(run);
    this.#terms = terms;
    this.#waits = waits;
  }

  see(event: RunEvent): void {
    if (event.is === "wrote") this.#wrote(event.master, event.write, event.sender);
    else if (event.is === "enqueued") this.#waiters.add(waiterOf(event.token));
    else if (event.is === "held" && event.wait) this.#granted(event.interval, event.wait, this.#waits.open);
  }

  /** A ttl from `least` to `wanted` ms that no other call of the process has at present, if there is one. */
  ttlFor(process: Process, wanted: number, least: number): number {
    const taken = this.#ttls.get(process);
    let ttl = wanted;
    while (taken.has(ttl) && ttl >= least) ttl -= 1;
    if (ttl < least) return wanted;
    taken.add(ttl);
    return ttl;
  }

  giveBack(process: Process, ttl: number): void {
    this.#ttls.get(process).delete(ttl);
  }

  #wrote(master: Master, write: Write, sender: Process): void {
    const { key, entry, previous } = write;
    if (key.startsWith(queuePrefix)) this.#placeChanged(master, write, sender);
    else if (isSharable(key) && !key.endsWith(":write")) this.#readersChanged(write, sender);
    else if (isSharable(key) || !key.startsWith(ownPrefix))
      this.#voteChanged(entry?.value, previous?.value, sender);
  }

  /** A reader has a name, and its round is in another key; a name without a round is its token. */
  #readersChanged({ key, entry, previous }: Write, sender: Process): void {
    if (key.endsWith(":marks")) return;
    const before = new Map(membersOf(previous));
    const hasRounds = key.endsWith(":rounds");
    for (const [name, round] of membersOf(entry)) {
      if (hasRounds ? before.get(name) === round : before.has(name)) continue;
      this.#voteChanged(hasRounds ? `${name}.${round}` : name, undefined, sender);
    }
  }

  #placeChanged(master: Master, { key, entry, previous }: Write, owner: Process): void {
    const end = key.lastIndexOf(":");
    const [queue, waiter] = [key.slice(0, end), key.slice(end + 1)];
    const places = this.#places.get(master).get(queue);
    if (typeof entry?.value !== "string") {
      places.delete(waiter);
      return;
    }
    // (A master that has lost its memory has lost the place.)
    const { expiresAt = Number.POSITIVE_INFINITY } = previous ?? { expiresAt: 0 };
    if (places.has(waiter) && expiresAt >= master.process.wallNow()) return;
    const [, ttl, , , how] = entry.value.split(" ");
    places.set(waiter, { owner, ttl: Number(ttl), isShared: how === "r", since: master.process.now });
  }

  #voteChanged(token: unknown, before: unknown, sender: Process): void {
    if (typeof token !== "string" || token === before || this.#grantedAt.has(token)) return;
    this.#grantedAt.set(token, sender.now);
  }

  /** In a turn of the holder: `wait` was granted `interval`, while the calls of `open` wait. */
  #granted(interval: LockInterval, wait: Wait, open: Iterable<Wait>): void {
    const token = tokenOf(interval.lock);
    const isHandedOff = this.#held.has(token);
    this.#held.add(token);
    const grantedAt = this.#grantedAt.get(token);
    if (grantedAt === undefined) return;
    // A vote of a reader is refused while anybody waits (PROTOCOL 10.4).
    if (!isHandedOff && !wait.queued.isShared && !this.#waiters.has(waiterOf(token))) return;
    for (const other of open) {
      const shared = other.queued.keys.find((key) => wait.queued.keys.includes(key));
      if (shared === undefined || other === wait || !this.#isEarlier(other, wait)) continue;
      if (other.queued.isShared && wait.queued.isShared) continue;
      if (!other.isWaiting || !other.keepsPlace || !this.#stood(other, shared, grantedAt, [wait, ...open]))
        continue;
      const ahead = ((wait.begunAt - other.begunAt) / 1000).toFixed(3);
      const who = `${other.process.name} had called ${ahead} ms before ${wait.process.name} for "${shared}"`;
      this.violated("order", `${who}, and was not served before hold ${interval.number}`);
      return;
    }
  }

  #isEarlier(other: Wait, wait: Wait): boolean {
    const { process } = other;
    if (process === wait.process && isOfOneList(other, wait)) return other.number < wait.number;
    // (Time that a process did not see is in none of its readings.)
    if (process.isDead || process.frozenTime + wait.process.frozenTime > 0) return false;
    return other.begunAt + this.#terms.tolerance + this.#skew < wait.begunAt;
  }

  /** How far the masters' wall clocks are apart now, us. */
  get #skew(): number {
    if (!this.#terms.addsSkew) return 0;
    const clocks = this.run.masters.map(({ process }) => process.wallNow());
    return 1000 * (Math.max(...clocks) - Math.min(...clocks));
  }

  #stood(other: Wait, key: string, grantedAt: number, all: readonly Wait[]): boolean {
    if (Number.isFinite(other.maxIdle) && other.begunAt + this.#terms.arrival < grantedAt) return true;
    const places = this.run.masters.filter((master) => this.#stoodOn(master, other, key, grantedAt));
    if (places.length <= this.run.masters.length / 2) return false;
    // One of several that look the same stands there for all of them: the first, as far as can be seen.
    return !all.some((same) => same !== other && looksLike(same, other));
  }

  #stoodOn(master: Master, { process, ttl, queued }: Wait, key: string, before: number): boolean {
    const queue = queueOf(key);
    for (const [waiter, place] of this.#places.get(master).get(queue)) {
      const isIt = place.owner === process && place.ttl === ttl && place.isShared === queued.isShared;
      if (isIt && place.since < before && master.peek(entryNameOf(queue, waiter))) return master.isUp;
    }
    return false;
  }
}

/** Readers have tickets of their own, without any order within their process. */
function isOfOneList({ queued }: Wait, other: Wait): boolean {
  const { keys, isShared } = other.queued;
  if (isShared || queued.isShared) return false;
  return queued.keys.length === keys.length && queued.keys.every((key) => keys.includes(key));
}

function looksLike(one: Wait, other: Wait): boolean {
  const isOfOneKind = one.queued.isShared === other.queued.isShared;
  return isOfOneKind && one.process === other.process && one.ttl === other.ttl;
}
