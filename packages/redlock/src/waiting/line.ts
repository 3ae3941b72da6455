import type { Ballot } from "../protocol/ballot.ts";
import type { ExecutionResult } from "../protocol/execution-stats.ts";
import { Lease } from "../protocol/lease.ts";
import type { Contention } from "../protocol/quorum.ts";
import { Released } from "../protocol/release.ts";
import type { LockRequest } from "../protocol/request.ts";
import { waiterOf } from "../protocol/token.ts";
import { leaseDeadline } from "../time/lease-clock.ts";
import type { Surroundings } from "./surroundings.ts";
import type { Wait, WaitEvents } from "./wait.ts";

/** A call with its attempts. */
type Call = Pick<Ballot, "request" | "attempts">;

/** The number of calls that ask at a time, once those that may hold it together are let in: as many as one batch takes. */
const maxLetIn = 64;
/** The times of calls that were made in one turn are over within this of each other, ms. */
const togetherWithin = 50;
/** A lease with at least this part of the ttl left is as good as a new one. */
const minFreshFraction = 0.9;

/**
 * The calls of one Redlock that wait for the same resources, in the order of their tickets.
 *
 * The first of them is in the masters' queues: the first that neither backs off nor leaves, and that the lease will
 * not be given to here. So no call waits for another one's pauses or time limits.
 *
 * A granted lease is given to one call after the other as long as their tickets are smaller than those of all other
 * waiters that the masters know, and than the time of the grant (PROTOCOL 7.15). Then it is released to the next in
 * the masters' queues.
 */
export class Line implements WaitEvents {
  readonly #room: Surroundings;
  /** Called when no call waits here, and none of its calls has the lease. */
  readonly #onEmpty: () => void;
  /** By the time of the call. */
  #waiters: Wait[] = [];
  /** Those of them whose time is over, and that wait for others whose time is about to be. */
  readonly #leaving = new Set<Wait>();
  /** The lease, while it is in this process. */
  #lease: Lease | undefined;
  /** The lease is given to smaller tickets only. */
  #bound = 0;
  /** The masters' latest answers to an entry of this process. */
  #contention: Contention | undefined;

  constructor(room: Surroundings, onEmpty: () => void) {
    this.#room = room;
    this.#onEmpty = onEmpty;
  }

  join(waiter: Wait): void {
    this.#insert(waiter);
    waiter.caller!.end.ended.onEnd(() => this.#giveUp(waiter));
    const before = this.#waiters[this.#waiters.lastIndexOf(waiter) - 1];
    if (!before || this.#isPassedOver(before) || before.ballot.request.isShared) this.#enter();
    // One that waits here has a place behind others of this process, whose tickets the masters know.
    if (!waiter.hasEntered) waiter.isProvisional = false;
  }

  /** A call that began earlier may come later: it has asked the masters before. */
  #insert(waiter: Wait): void {
    // Mostly there is only one call, and an array that has grown keeps its capacity.
    if (this.#waiters.length === 0) this.#waiters = [waiter];
    else {
      let index = this.#waiters.length;
      while (index > 0 && this.#waiters[index - 1]!.call > waiter.call) index -= 1;
      if (index === this.#waiters.length) this.#waiters.push(waiter);
      else this.#waiters.splice(index, 0, waiter);
      this.#keepOrder(index);
    }
  }

  /**
   * The tickets from `first` on follow the calls (PROTOCOL 7.2), even if our reading of the masters' time has
   * changed meanwhile, or a ticket has become a larger one.
   */
  #keepOrder(first: number): void {
    for (let index = Math.max(1, first); index < this.#waiters.length; index += 1) {
      const before = this.#waiters[index - 1]!.ticket;
      const waiter = this.#waiters[index]!;
      if (waiter.ticket <= before) {
        waiter.ticket = before + 1;
        waiter.askAgain();
      } else if (index > first) return;
    }
  }

  #giveUp(waiter: Wait): void {
    // One with an entry leaves the masters' queues before it resolves. PROTOCOL 7.15: those that end by the same signal go
    // before the next one enters.
    if (waiter.hasEntered) void Promise.resolve().then(() => this.#leave(waiter));
    else if (this.#remove(waiter)) {
      const informed = this.#waiters.find(({ isStanding, ballot }) => isStanding && ballot.isHeard);
      const contention = informed?.contention ?? this.#contention;
      this.#room.departures.call(() => waiter.settle({ contention }));
      if (this.#waiters.length === 0) this.#enter();
      for (const leaving of this.#leaving) this.#leave(leaving);
    }
  }

  /** PROTOCOL 7.15: those whose time ends in this turn go before the next one enters. Their timers come one by one. */
  #leave(waiter: Wait): void {
    const next = this.#waiters.find(({ hasEntered }) => !hasEntered);
    const { runtime } = this.#room.context;
    const soon = runtime.monotonic() + togetherWithin;
    if (next && [waiter, next].every(({ caller }) => caller && caller.end.dueAt < soon)) {
      if (!this.#leaving.has(waiter)) runtime.setTimer(() => this.#leaveNow(waiter), 0);
      this.#leaving.add(waiter);
    } else this.#leaveNow(waiter);
  }

  #leaveNow(waiter: Wait): void {
    this.#leaving.delete(waiter);
    waiter.giveUp();
  }

  #remove(waiter: Wait): boolean {
    const index = this.#waiters.indexOf(waiter);
    if (index === 0) this.#waiters.shift();
    else if (index > 0) this.#waiters.splice(index, 1);
    return index >= 0;
  }

  /**
   * Puts the first call that the lease will not be given to here into the masters' queues. Of calls that may hold it
   * together, those before the bound follow once the first is let in (PROTOCOL 10.4). A call without an entry that goes, or that comes
   * behind another that is not passed over, changes nothing here: thousands may.
   */
  #enter(): void {
    let standing = 0;
    for (const waiter of this.#waiters) {
      const { hasEntered, ballot, ticket } = waiter;
      if (this.#isPassedOver(waiter)) continue;
      const isLetIn = ballot.request.isShared === true && ticket < this.#bound;
      if (standing > 0 && !(isLetIn && standing < maxLetIn)) return;
      standing += 1;
      if (!hasEntered) waiter.enter();
      else if (ballot.isHeard) return;
    }
    if (this.#waiters.length === 0 && !this.#lease) this.#onEmpty();
  }

  /** Whether it leaves its place in the masters' queues to the next: it is away, or the lease is given to it here. */
  #isPassedOver({ hasEntered, isStanding, ticket }: Wait): boolean {
    return hasEntered ? !isStanding : this.#lease !== undefined && ticket < this.#bound;
  }

  /** @internal */
  onAway(): void {
    this.#enter();
  }

  /** @internal */
  onRaised(waiter: Wait): void {
    this.#remove(waiter);
    this.#insert(waiter);
  }

  /** @internal */
  onFinished(waiter: Wait, lease: Lease | undefined, error: unknown): void {
    const { contention } = waiter;
    const { request, wasRefused, nextTicket } = waiter.ballot;
    // A won round says nothing to the calls that still wait.
    this.#contention = lease ? undefined : contention;
    if (wasRefused) this.#room.onRefused(request.resources);
    this.#remove(waiter);
    if (lease) {
      // PROTOCOL 7.15: no later call is served before one that the masters know, or did not know yet at the grant.
      this.#bound = Math.min(nextTicket, this.#room.clock.now());
      this.#setLease(lease, waiter.ballot);
    }
    waiter.settle({ lease, contention, error });
    this.#enter();
  }

  /** `call`: not the whole waiter, which would keep its promise in memory. */
  #setLease(lease: Lease, { request, attempts }: Call): void {
    // Of calls that may hold it together, none waits for the lease of another.
    if (!request.isShared) this.#lease = lease;
    lease.handOff = () => this.#give(lease, { request, attempts });
    lease.onEnd(() => this.#onLeaseEnd(lease));
  }

  #onLeaseEnd(lease: Lease): void {
    const { successor } = lease;
    // `#give` handles a release: the lock may stay in this process. A detached lease does not (PROTOCOL 5.9).
    if (lease.state === "released" && !successor) return;
    // PROTOCOL 7.18: an extension of the successor may count later grants.
    if (successor) successor.onEnd(() => this.#rollBackGrants(successor));
    else this.#rollBackGrants(lease);
    this.#clearLease(lease);
  }

  /** Grants that still arrive for this lease are rolled back. */
  #rollBackGrants({ token, resources, ttl, isDetached }: Lease): void {
    const { grantListener } = this.#room;
    const waiter = waiterOf(token);
    // The receiver of a detached lease may count them, through an extension that finds them (PROTOCOL 5.6).
    if (isDetached) grantListener.forget(waiter);
    else grantListener.rollBackGrants(waiter, { resources, ttl });
  }

  #clearLease(lease: Lease): void {
    if (this.#lease !== lease) return;
    this.#lease = undefined;
    this.#enter();
  }

  /** The next call to give the lease to: the first that does not back off, unless one that may not hold it as well comes before. */
  get #next(): Wait | undefined {
    const first = this.#waiters.find(
      ({ hasEntered, isStanding, ballot }) => !hasEntered || (isStanding && !ballot.request.isShared),
    );
    return first && !first.hasEntered && first.ticket < this.#bound ? first : undefined;
  }

  /** Its holder releases: gives the lease to the next call here, or returns `undefined` to release it on the masters. */
  #give(lease: Lease, { request, attempts }: Call): Promise<ExecutionResult> | undefined {
    // A lost lease that its holder releases while it is notified is still here, and is given to nobody (PROTOCOL 7.16).
    const isHere = request.isShared || this.#lease === lease;
    const next = isHere && !lease.loss ? this.#next : undefined;
    if (next && isFreshFor(lease, next.ballot.request)) {
      // The token stays in use: an extension may find and count its grants (PROTOCOL 7.18).
      const successor = successorFor(lease, next.ballot.request);
      this.#setLease(successor, next.ballot);
      const { latest } = attempts;
      if (latest) next.ballot.attempts.add(latest);
      this.#remove(next);
      next.settle({ lease: successor });
      if (this.#waiters.length === 0) this.#enter();
      const { nodes, runtime } = lease.context;
      return Promise.resolve(new Released("released", nodes, runtime.wall(), latest));
    }
    this.#rollBackGrants(lease);
    // PROTOCOL 7.17: before the release, or later calls of other processes come before the calls here.
    this.#clearLease(lease);
    // Where no message says that the key is free, it is asked for once more, behind the release.
    if (!this.#room.grantListener.isListening) next?.askAgain();
    return undefined;
  }
}

/**
 * PROTOCOL 7.16: of a lease that is released at once hardly any time has passed, so the next call in this process gets
 * the same key under the same token until the same deadlines, and nothing is sent. The old lease has ended before
 * (PROTOCOL 5.3).
 */
export function successorFor({ context, votes }: Lease, { resources, ttl }: LockRequest): Lease {
  const successor = new Lease(context, votes.continuedAs(resources, ttl));
  // The old handle shows a token that no lease has.
  votes.token = context.tokens.next();
  return successor;
}

/** Whether nobody else knows or uses its token, the masters' last answers have confirmed it, and it fits: no fencing token of its own is needed, and it does not last longer than requested. */
function isFreshFor(lease: Lease, { ttl, settings }: LockRequest): boolean {
  const { isExposed, isConfirmed, isExtending } = lease.votes;
  if (!lease.mayRepair || isExposed || !isConfirmed || isExtending) return false;
  if (lease.fencingToken !== undefined || lease.ttl > ttl) return false;
  // Its deadlines allow for no more drift than it was requested with.
  if (settings.driftFactor > lease.votes.driftFactor) return false;
  const { clock, quorum } = lease.context;
  const left = leaseDeadline(lease.votes.deadlines, quorum) - clock.now();
  return left >= ttl * minFreshFraction && left > settings.minimumValidity;
}
