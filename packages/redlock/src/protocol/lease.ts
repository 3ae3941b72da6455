import { LockLostError, type LossReason } from "../errors.ts";
import type { LeaseLimit } from "../settings/lease-limit.ts";
import { hintFor } from "../settings/settings.ts";
import { Latch } from "../time/cancellation.ts";
import { leaseDeadline, never, validityLoss } from "../time/lease-clock.ts";
import type { TimerHandle, TimerTask } from "../time/timers.ts";
import type { ActiveLease, Context, Handle } from "./context.ts";
import type { ExecutionResult } from "./execution-stats.ts";
import { Gaps } from "./gaps.ts";
import type { Votes } from "./votes.ts";

/**
 * - `held`: a quorum keeps the key until the deadline.
 * - `unknown`: held as far as the clocks show, but no quorum answered the last request. A resumed lock starts here,
 *   with nothing remaining.
 * - `lost`: the deadline has passed, or is closer than its notice; or a majority refused. Final.
 * - `released`: released by its holder. Final.
 * - `detached`: ended by {@link Lock.detach}, for another process to resume. Final here.
 */
export type LockState = "held" | "unknown" | "lost" | "released" | "detached";

/**
 * The signal aborts this much before the deadline, ms: timers were seen 7 ms late at the 99th percentile on a busy
 * machine, and the holder must be notified before another client can hold the lock (PROTOCOL 1.11). A twentieth of the
 * ttl if that is less.
 */
const maxNotice = 10;

export const timeRanOut: string = "its time ran out before a quorum of masters confirmed an extension";

/** The error of its loss once it is lost. A lease was `resumed` until a quorum is known to hold its key. */
type State = "resumed" | "held" | "released" | "detached" | LockLostError;

/**
 * A lease held by a quorum: a deadline for each master, and from these the one deadline after which nothing is
 * promised (PROTOCOL 3.2).
 *
 * Problem: N masters let the key expire at N different times, extensions reach some of them only, and the holder must
 * stop before a quorum has expired, even if no master answers any more. A single deadline for all masters is either
 * too early, so that one lost reply costs the lock, or too late, so that a second holder can exist.
 *
 * Solution: each master's deadline counts from the send of the command that it confirmed, net of drift (3.1). The lease
 * ends at the latest time that still has a quorum of deadlines after it: the q-th largest. It only moves forward while
 * the lease lasts (3.3) and never revives (4.1). A timer and every read of the state compare it with the lease clock,
 * so a loss needs no reply.
 */
export class Lease implements TimerTask, ActiveLease {
  /**
   * The context of the client that acquired it: the deadlines are in that client's lease time, and mean nothing in
   * another's.
   */
  readonly context: Context;
  /** The lease ends when their placement is left. */
  readonly votes: Votes;
  readonly resources: readonly string[];
  readonly fencingToken: number | undefined;
  /** In lease time, whole ms: the latest reading of the clock when it was granted, or resumed. */
  readonly grantedAt: number;
  /**
   * Whether a master without the key may set it again. Not for a resumed lease: only the masters know whether that
   * one is still held (PROTOCOL 5.10).
   */
  readonly mayRepair: boolean;
  /** The user's handle, which is notified if the lease is lost. */
  handle: Handle | undefined;
  /** Called at the release, before anything is sent: may hand the lease off to a waiter in this process instead. */
  handOff: (() => Promise<ExecutionResult> | undefined) | undefined;
  /** How many renewals keep it extended: each handle of a shared lease has one. */
  renewals = 0;
  /** The lease that continues under the token of this one, once it has ended. */
  successor: Lease | undefined;
  /** The only release: sent once, after {@link end}. */
  releasing: Promise<ExecutionResult> | undefined;
  #state: State;
  #limit: LeaseLimit | undefined;
  /** Made for the first listener: most leases have none. */
  #ended: Latch | undefined;
  /** The timer that checks whether the deadline has passed. */
  #timerHandle: TimerHandle | undefined;

  constructor(context: Context, votes: Votes, fencingToken?: number, isResumed = false) {
    this.context = context;
    this.votes = votes;
    this.resources = votes.resources;
    this.fencingToken = fencingToken;
    this.grantedAt = Math.floor(context.clock.latest);
    this.mayRepair = !isResumed;
    if (votes.gaps) votes.gaps.owner = this;
    this.#state = "resumed";
    // A resumed lease has deadlines if it continues one that a quorum has confirmed (PROTOCOL 10.5).
    if (!isResumed || this.#deadline > context.clock.now()) this.#establish();
    this.#watch();
  }

  /** PROTOCOL 4.3. */
  get state(): LockState {
    this.remaining();
    const state = this.#state;
    if (typeof state !== "string") return "lost";
    const isUnknown = state === "resumed" || (state === "held" && !this.votes.isConfirmed);
    return isUnknown ? "unknown" : state;
  }

  /** Whether the lease is known to be lost, released or detached; reads no clock. */
  get hasEnded(): boolean {
    return this.#state !== "held" && this.#state !== "resumed";
  }

  /** Whether the lease was detached: it may be resumed elsewhere. */
  get isDetached(): boolean {
    return this.#state === "detached";
  }

  /** Why the lease has ended, for an error; `undefined` while it is active. Reads the clocks. */
  get whyEnded(): string | undefined {
    this.remaining();
    return this.hasEnded ? (this.loss?.why ?? `it was ${this.#state}`) : undefined;
  }

  /** Set once the lease is known to be lost; reads no clock. */
  get loss(): LockLostError | undefined {
    return typeof this.#state === "string" ? undefined : this.#state;
  }

  get token(): string {
    return this.votes.token;
  }

  /** The longest ttl that its holders have requested, ms. */
  get ttl(): number {
    return this.votes.ttl;
  }

  /** Until its last key may expire, ms. */
  get keysLeft(): number {
    const { ttl, driftFactor, deadlines } = this.votes;
    return Math.max(...deadlines) + validityLoss(ttl, driftFactor) - this.context.clock.now();
  }

  /** The time that certainly remains, ms; 0 if none. Reads the clocks: no timer needs to have fired (PROTOCOL 3.6). */
  remaining(): number {
    // An established lease was lost when the placement was left; this covers a resumed one.
    const { whyLeft } = this.votes.placement;
    if (whyLeft !== undefined) this.lose(whyLeft, "DATABASE");
    if (this.#state !== "held") return 0;
    const left = this.#deadline - this.context.clock.now();
    if (left > 0) return left;
    // The end is final (PROTOCOL 3.6).
    this.#runOut();
    return 0;
  }

  /** Over once the lease has ended. */
  get ended(): Latch {
    this.#ended ??= new Latch();
    if (this.hasEnded) this.#ended.end();
    return this.#ended;
  }

  /** Calls `listener` once, when the lease ends, or at once if it has. Returns a function that removes it. */
  onEnd(listener: () => void): () => void {
    return this.ended.onEnd(listener);
  }

  /**
   * The lease ends at this limit at the latest, even if the masters extend it further. (Handles that share a lease
   * have limits of their own.)
   */
  limitTo(limit: LeaseLimit): void {
    this.#limit = limit;
    this.#watch();
  }

  get limit(): LeaseLimit | undefined {
    return this.#limit;
  }

  /** The loss at the deadline. */
  #runOut(): void {
    const limit = this.#limit;
    if (limit && (limit.isReached || limit.until <= this.#deadline)) this.lose(limit.why, "HOLD_LIMIT");
    else {
      // Without any of these its holder let it expire. A renewal that a busy process has not begun was wanted as well.
      const isWanted = this.renewals > 0 || !this.votes.isConfirmed || this.votes.isExtending;
      this.lose(`${timeRanOut}${hintFor(this.ttl)}`, isWanted ? "NOT_CONFIRMED" : "EXPIRED");
    }
  }

  /**
   * Records that this master keeps the key for `ttl` from the send of the command that it confirmed, at `sentAt`. Never
   * shortens (PROTOCOL 3.3).
   */
  renew(sentAt: number, index: number, ttl: number, driftFactor?: number): void {
    if (this.hasEnded || this.votes.placement.whyLeft !== undefined) return;
    const isResumed = this.#state === "resumed";
    // Never revives: after the old deadline another client may hold the lock (PROTOCOL 4.1).
    if (!isResumed && this.remaining() === 0) return;
    if (isResumed) this.votes.startAfter(this.context.serverMoves.count);
    if (!this.votes.count(sentAt, index, ttl, driftFactor)) return;
    if (isResumed && this.#deadline > this.context.clock.now()) this.#establish();
    this.#watch();
  }

  #establish(): void {
    this.#state = "held";
    this.context.leases.add(this);
  }

  /** The gaps of its masters, as their answers to extensions show them. */
  get gaps(): Gaps {
    const { votes, context, grantedAt } = this;
    votes.gaps ??= new Gaps(this, votes.deadlines.length, context.quorum, grantedAt);
    return votes.gaps;
  }

  /** Records that this master does not hold the key. A missing answer changes nothing: the deadline stays valid. */
  refuse(index: number): void {
    // The votes may be those of the next lease.
    if (this.hasEnded) return;
    this.votes.refuse(index);
    if (this.#state === "held" && this.#deadline === never) this.loseToMajority();
    else this.#watch();
  }

  loseToMajority(): void {
    this.lose("a majority of masters no longer holds its key", "MAJORITY");
  }

  lose(why: string, reason: LossReason): void {
    if (this.hasEnded) return;
    const loss = new LockLostError(this.resources, why, [], reason);
    // The state changes before listeners of a handle run: they read it.
    this.#state = loss;
    const handles = this.handle?.lostWith(loss) ?? [];
    this.#leave();
    this.context.lost(handles);
  }

  /** Ends the lease: from here on it is not held, whatever the masters still answer (PROTOCOL 5.3). */
  end(): void {
    this.remaining();
    if (!this.hasEnded) this.#endAs("released");
  }

  /**
   * Ends the lease here: from now on another process may continue under its token, and this one must not touch any
   * key under it (PROTOCOL 5.5).
   * @throws LockLostError if it has ended before.
   */
  detach(): void {
    const why = this.whyEnded;
    if (why !== undefined) throw new LockLostError(this.resources, why);
    this.#endAs("detached");
    this.context.owners?.keep(this);
  }

  /** The deadline of the lease: the latest time that a quorum of the masters' deadlines reaches, within the limit. */
  get #deadline(): number {
    const kept = leaseDeadline(this.votes.deadlines, this.context.quorum);
    return Math.min(kept, this.#limit?.until ?? kept);
  }

  /**
   * The time to notify the holder of a deadline, with a margin. In whole ms: V8 stores small integers without an
   * object.
   */
  noticeOf(deadline: number): number {
    return Math.floor(deadline - Math.min(maxNotice, this.ttl / 20));
  }

  #endAs(end: "released" | "detached"): void {
    this.#state = end;
    this.#leave();
  }

  #leave(): void {
    this.context.timers.cancel(this.#timerHandle);
    this.context.leases.delete(this);
    this.#ended?.end();
  }

  /**
   * Checks when the deadline is due. A timer that is set for an earlier time sets itself again, so a renewal moves
   * none.
   */
  #watch(): void {
    if (this.#state !== "held") return;
    const due = this.noticeOf(this.#deadline);
    if (this.#timerHandle?.task && this.#timerHandle.due <= due) return;
    const { timers } = this.context;
    timers.cancel(this.#timerHandle);
    this.#timerHandle = timers.add(due, this);
  }

  /** @internal */
  onDue(): void {
    if (this.context.clock.now() >= this.noticeOf(this.#deadline)) this.#runOut();
    else this.#watch();
  }
}
