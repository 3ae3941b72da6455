import type { Paced } from "../load/paced.ts";
import type { Ballot } from "../protocol/ballot.ts";
import type { Context } from "../protocol/context.ts";
import type { ExecutionResult, Lease } from "../protocol/lease.ts";
import type { Contention } from "../protocol/quorum.ts";
import type { AcquireCall } from "../protocol/request.ts";
import { waiterOf } from "../protocol/token.ts";
import type { GrantListener } from "./grant-listener.ts";
import { reuseLease } from "./local-hand-off.ts";
import { Place } from "./place.ts";
import type { TicketClock } from "./ticket-clock.ts";
import { Wait } from "./wait.ts";
import type { WaitEnd, WaitResult } from "./waiting-room.ts";

/** The number of calls that ask at a time, once those that may hold it together are let in: as many as one batch takes. */
const maxLetIn = 64;

/** The times of calls that were made in one turn are over within this of each other, ms. */
const togetherWithin = 50;

/** A call that waits in this process. */
export class LocalWaiter extends Place {
  /** Its entry in the masters' queues. */
  entry: Wait | undefined = undefined;
  readonly ballot: Ballot;
  readonly resolve: (result: WaitResult) => void;
  readonly end: WaitEnd;

  constructor(
    ballot: Ballot,
    clock: TicketClock,
    call: number,
    resolve: (result: WaitResult) => void,
    end: WaitEnd,
  ) {
    super(clock, call);
    this.ballot = ballot;
    this.resolve = resolve;
    this.end = end;
  }
}

export interface LocalQueueEvents {
  /** Others hold one of the resources. */
  onRefused(resources: readonly string[]): void;
  /** No call waits in the queue of this key, and none of its calls has a lease. */
  onEmpty(key: string): void;
  /** Settles calls that have left: thousands may leave in one turn. */
  readonly departures: Paced;
}

/**
 * The calls of one Redlock that wait for the same resources, in the order of their tickets.
 *
 * The first of them is in the masters' queues: the first that neither backs off nor leaves, and that the lease will
 * not be handed to here. So no call waits for another one's pauses or time limits.
 *
 * A granted lease is handed on to the calls that wait here as long as their tickets are smaller than those of all other
 * waiters that the masters know, and than the time of the grant (PROTOCOL 7.15). Then it is released to the next in
 * the masters' queues.
 */
export class LocalQueue {
  readonly #context: Context;
  readonly #grantListener: GrantListener;
  readonly #clock: TicketClock;
  readonly #key: string;
  readonly #events: LocalQueueEvents;
  /** By the time of the call. */
  #waiters: LocalWaiter[] = [];
  /** Those of them that have an entry. */
  readonly #entered = new Set<LocalWaiter>();
  /** Those of them whose time is over, and that wait for others whose time is about to be. */
  readonly #leaving = new Set<LocalWaiter>();
  /** The lease, while it is in this process. */
  #lease: Lease | undefined;
  /** The lease is handed on to smaller tickets only. */
  #bound = 0;
  /** The masters' latest answers to an entry of this process. */
  #contention: Contention | undefined;

  constructor(
    context: Context,
    grantListener: GrantListener,
    clock: TicketClock,
    key: string,
    events: LocalQueueEvents,
  ) {
    this.#context = context;
    this.#grantListener = grantListener;
    this.#clock = clock;
    this.#key = key;
    this.#events = events;
  }

  join(waiter: LocalWaiter): void {
    this.#insert(waiter);
    waiter.end.ended.onEnd(() => this.#giveUp(waiter));
    this.#enter();
    // One that waits here has a place behind others of this process, whose tickets the masters know.
    if (!waiter.entry) waiter.isProvisional = false;
  }

  /** A call that began earlier may come later: it has asked the masters before. */
  #insert(waiter: LocalWaiter): void {
    // Mostly there is only one call, and an array that has grown keeps its capacity.
    if (this.#waiters.length === 0) this.#waiters = [waiter];
    else {
      let place = this.#waiters.length;
      while (place > 0 && this.#waiters[place - 1]!.call > waiter.call) place -= 1;
      if (place === this.#waiters.length) this.#waiters.push(waiter);
      else this.#waiters.splice(place, 0, waiter);
      this.#keepOrder(place);
    }
  }

  /**
   * The tickets at `place` and behind it follow the calls (PROTOCOL 7.2), even if our reading of the masters' time has
   * changed meanwhile, or a ticket has become a larger one.
   */
  #keepOrder(place: number): void {
    for (let index = Math.max(1, place); index < this.#waiters.length; index += 1) {
      const before = this.#waiters[index - 1]!.ticket;
      const waiter = this.#waiters[index]!;
      if (waiter.ticket <= before) {
        waiter.ticket = before + 1;
        waiter.entry?.renew();
      } else if (index > place) return;
    }
  }

  #giveUp(waiter: LocalWaiter): void {
    // One with an entry leaves the masters' queues before it resolves. PROTOCOL 7.15: those that end by the same signal go
    // before the next one enters.
    if (waiter.entry) void Promise.resolve().then(() => this.#leave(waiter));
    else if (this.#remove(waiter)) {
      const contention = this.#latestContention;
      this.#events.departures.call(() => waiter.resolve({ contention }));
      this.#enter();
      for (const leaving of this.#leaving) this.#leave(leaving);
    }
  }

  /** PROTOCOL 7.15: those whose time ends in this turn go before the next one enters. Their timers come one by one. */
  #leave(waiter: LocalWaiter): void {
    const next = this.#waiters.find(({ entry }) => !entry);
    const { runtime } = this.#context;
    if (next && Math.max(waiter.end.dueAt, next.end.dueAt) < runtime.monotonic() + togetherWithin) {
      if (!this.#leaving.has(waiter)) runtime.setTimer(() => this.#leaveNow(waiter), 0);
      this.#leaving.add(waiter);
    } else this.#leaveNow(waiter);
  }

  #leaveNow(waiter: LocalWaiter): void {
    this.#leaving.delete(waiter);
    waiter.entry?.giveUp();
  }

  get #latestContention(): Contention | undefined {
    for (const { entry, ballot } of this.#entered)
      if (entry!.isStanding && ballot.isHeard && entry!.contention) return entry!.contention;
    return this.#contention;
  }

  #remove(waiter: LocalWaiter): boolean {
    const index = this.#waiters.indexOf(waiter);
    if (index === 0) this.#waiters.shift();
    else if (index > 0) this.#waiters.splice(index, 1);
    return index >= 0;
  }

  /**
   * Puts the first call that the lease will not be handed to here into the masters' queues. Of calls that may hold it
   * together, those before the bound follow once the first is let in (PROTOCOL 10.4).
   */
  #enter(): void {
    const from = this.#lease ? this.#placeOf(this.#bound) : 0;
    for (const waiter of this.#entered)
      if (waiter.entry!.isStanding && this.#waiters.indexOf(waiter) < from) return;
    let places = 0;
    for (let index = from; index < this.#waiters.length; index += 1) {
      const waiter = this.#waiters[index]!;
      if (waiter.entry?.isStanding === false) continue;
      const { request, isHeard } = waiter.ballot;
      const isLetIn = request.isShared === true && waiter.ticket < this.#bound;
      if (places > 0 && !(isLetIn && places < maxLetIn)) return;
      places += 1;
      if (!waiter.entry) this.#enqueue(waiter);
      else if (isHeard) return;
    }
    if (this.#waiters.length === 0 && !this.#lease) this.#events.onEmpty(this.#key);
  }

  /** The number of calls with smaller tickets. */
  #placeOf(ticket: number): number {
    let [from, to] = [0, this.#waiters.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (this.#waiters[middle]!.ticket < ticket) from = middle + 1;
      else to = middle;
    }
    return from;
  }

  #enqueue(waiter: LocalWaiter): void {
    const entry = new Wait(this.#context, this.#grantListener, waiter.ballot, waiter, {
      onAway: () => this.#enter(),
      onRaised: () => {
        this.#remove(waiter);
        this.#insert(waiter);
      },
      onFinished: (lease, error) => this.#onFinished(waiter, lease, error),
    });
    waiter.entry = entry;
    this.#entered.add(waiter);
    entry.start();
  }

  #onFinished(waiter: LocalWaiter, lease: Lease | undefined, error: unknown): void {
    const { contention } = waiter.entry!;
    const { request, wasRefused, nextTicket } = waiter.ballot;
    waiter.entry = undefined;
    this.#entered.delete(waiter);
    // A won round says nothing to the calls that still wait.
    this.#contention = lease ? undefined : contention;
    if (wasRefused) this.#events.onRefused(request.resources);
    this.#remove(waiter);
    if (lease) {
      // PROTOCOL 7.15: no later call is served before one that the masters know, or did not know yet at the grant.
      this.#bound = Math.min(nextTicket, this.#clock.now());
      this.#setLease(lease, waiter.ballot);
    }
    waiter.resolve({ lease, contention, error });
    this.#enter();
  }

  #setLease(lease: Lease, { request, attempts }: AcquireCall): void {
    // Of calls that may hold it together, none waits for the lease of another.
    if (!request.isShared) this.#lease = lease;
    // Not the whole waiter, which would keep its promise in memory.
    const holder = { request, attempts };
    lease.handOff = () => this.#onRelease(lease, holder);
    lease.onEnd(() => this.#onLeaseEnd(lease));
  }

  #onLeaseEnd(lease: Lease): void {
    const { successor } = lease;
    // `#onRelease` handles a release: the lock may stay in this process. A detached lease does not (PROTOCOL 5.9).
    if (lease.state === "released" && !successor) return;
    // PROTOCOL 7.18: an extension of the successor may count later grants.
    if (successor) successor.onEnd(() => this.#rollBackGrants(successor));
    else this.#rollBackGrants(lease);
    this.#clearLease(lease);
  }

  /** Grants that still arrive for this lease are rolled back. */
  #rollBackGrants({ token, resources, ttl, isDetached }: Lease): void {
    const waiter = waiterOf(token);
    // The receiver of a detached lease may count them, through an extension that finds them (PROTOCOL 5.6).
    if (isDetached) this.#grantListener.forget(waiter);
    else this.#grantListener.rollBackGrants(waiter, { resources, ttl });
  }

  #clearLease(lease: Lease): void {
    if (this.#lease !== lease) return;
    this.#lease = undefined;
    this.#enter();
  }

  /** The next call to hand the lease to: the first that does not back off, unless one that may not hold it as well comes before. */
  get #next(): LocalWaiter | undefined {
    const first = this.#waiters.find(
      ({ entry, ballot }) => !entry || (entry.isStanding && !ballot.request.isShared),
    );
    return first && !first.entry && first.ticket < this.#bound ? first : undefined;
  }

  /**
   * The holder releases: hands the lock off within this process, or returns `undefined` to release it on the
   * masters.
   */
  #onRelease(lease: Lease, holder: AcquireCall): Promise<ExecutionResult> | undefined {
    // A lost lease that its holder releases while it is notified is still here, and is handed on to nobody (PROTOCOL 7.16).
    const isHere = holder.request.isShared || this.#lease === lease;
    const next = isHere && !lease.loss ? this.#next : undefined;
    const reused = next && reuseLease(lease, holder, next.ballot);
    if (reused) {
      // The token stays in use: an extension may find and count its grants (PROTOCOL 7.18).
      this.#handOver(next, reused.successor);
      return Promise.resolve(reused.result);
    }
    this.#rollBackGrants(lease);
    // PROTOCOL 7.17: before the release, or later calls of other processes come before the calls here.
    this.#clearLease(lease);
    // Where no message says that the key is free, it is asked for once more, behind the release.
    if (!this.#grantListener.isListening) next?.entry?.renew();
    return undefined;
  }

  #handOver(next: LocalWaiter, successor: Lease): void {
    this.#setLease(successor, next.ballot);
    this.#remove(next);
    next.resolve({ lease: successor });
    this.#enter();
  }
}
