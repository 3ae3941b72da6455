import { type ExecutionStats, LockLostError, type LossReason } from "../errors.ts";
import type { LeaseLimit } from "../settings/lease-limit.ts";
import { hintFor } from "../settings/settings.ts";
import { abortWith, selfCheckingController } from "../time/abort.ts";
import { leaseDeadline, never, validityLoss } from "../time/lease-clock.ts";
import type { TimerHandle, TimerTask } from "../time/timers.ts";
import type { ActiveLease, Context, Handle } from "./context.ts";
import { Gaps } from "./gaps.ts";
import type { Placement } from "./placement.ts";

/**
 * - `held`: a quorum keeps the key until the deadline.
 * - `unknown`: held as far as the clocks show, but no quorum answered the last request. A resumed lock starts here,
 *   with nothing remaining.
 * - `lost`: the deadline has passed, or a majority refused. Final.
 * - `released`: released by its holder. Final.
 * - `detached`: ended by {@link Lock.detach}, for another process to resume. Final here.
 */
export type LockState = "held" | "unknown" | "lost" | "released" | "detached";

export interface ExecutionResult {
  /**
   * - `released`: a quorum of masters deleted the key, or granted it to the next waiter; or the lock was handed to a
   *   waiter in this process. The votes may then be those of the acquire.
   * - `expired`: a majority no longer held it.
   * - `partial`: too few masters answered. The others are cleaned when they are back, or the key expires.
   * - `detached`: it was detached before, so nothing was sent.
   */
  readonly outcome: "released" | "expired" | "partial" | "detached";
  /** The votes, as in redlock 5. */
  readonly attempts: ReadonlyArray<Promise<ExecutionStats>>;
  /** The time of the call by this machine's wall clock, ms since the epoch. */
  readonly start: number;
}

export interface LeaseTerms {
  readonly placement: Placement;
  readonly resources: readonly string[];
  readonly token: string;
  readonly ttl: number;
  /** The deadline of each master, in lease time; all {@link never} for a lease that is resumed. */
  readonly deadlines: readonly number[];
  readonly fencingToken?: number | undefined;
  /** That its deadlines allow for. Default: only what its extensions name. */
  readonly driftFactor?: number;
  readonly resumed?: boolean;
  /** The masters that no vote was sent to. Default: none is known. */
  readonly unasked?: readonly number[] | undefined;
}

/**
 * The signal aborts this much before the deadline, ms: timers were seen 7 ms late at the 99th percentile on a busy
 * machine, and the holder must be notified before another client can hold the lock (PROTOCOL 1.11). A twentieth of the
 * ttl if that is less.
 */
const maxNotice = 10;

export const timeRanOut: string = "its time ran out before a quorum of masters confirmed an extension";

/** A server that voted through master `before`, until `deadline`, and votes through `index` from now on. */
interface Move {
  readonly before: number;
  readonly index: number;
  readonly deadline: number;
}

/** Many locks are held at once, and most of their lists are empty: one empty list serves them all. */
const none: readonly never[] = [];

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
  /** The databases of its keys. The lease ends when this placement is left. */
  readonly placement: Placement;
  readonly resources: readonly string[];
  readonly fencingToken: number | undefined;
  /** In lease time, whole ms: the latest reading of the clock when it was granted, or resumed. */
  readonly grantedAt: number;
  /** The user's handle, which is notified if the lease is lost. */
  handle: Handle | undefined;
  /** The `driftFactor` of its request: no deadline allows for less (PROTOCOL 1.9). */
  readonly driftFactor: number;
  /** Called at the release, before anything is sent: may hand the lease off to a waiter in this process instead. */
  handOff: (() => Promise<ExecutionResult> | undefined) | undefined;
  /** How many renewals keep it extended: each handle of a shared lease has one. */
  renewals = 0;
  /** The lease that continues under the token of this one, once it has ended. */
  successor: Lease | undefined;
  #token: string;
  /** Whether the token was exposed outside of this client. */
  #isExposed = false;
  #unasked: readonly number[];
  readonly #deadlines: number[];
  /** The moves of servers that the votes of a lease without a quorum are later than. */
  #movesSeen = 0;
  /** Kept until the new vote has replaced the old one. */
  #moves: readonly Move[] = none;
  #ttl: number;
  /** Made by the first answer of a master to an extension. */
  #gaps: Gaps | undefined;
  #endListeners: ReadonlyArray<() => void> = none;
  /** Whether a quorum was ever known to hold the key; false at first for a resumed lease. */
  #established: boolean;
  #unconfirmed = false;
  readonly #resumed: boolean;
  #limit: LeaseLimit | undefined;
  #end: "lost" | "released" | "detached" | undefined;
  #lost: LockLostError | undefined;
  #extending: Promise<unknown> | undefined;
  /** The only release: sent once, after {@link end}. */
  releasing: Promise<ExecutionResult> | undefined;
  #controller: AbortController | undefined;
  /** The timer that checks whether the deadline has passed. */
  #timerHandle: TimerHandle | undefined;

  constructor(context: Context, terms: LeaseTerms) {
    this.context = context;
    this.placement = terms.placement;
    this.resources = terms.resources;
    this.#token = terms.token;
    this.fencingToken = terms.fencingToken;
    this.grantedAt = Math.floor(context.clock.latest);
    this.driftFactor = terms.driftFactor ?? 0;
    this.#ttl = terms.ttl;
    this.#unasked = terms.unasked ?? none;
    this.#deadlines = [...terms.deadlines];
    this.#resumed = terms.resumed === true;
    // A resumed lease has deadlines if it continues one that a quorum has confirmed (PROTOCOL 10.5).
    this.#established = !this.#resumed || this.#deadline > context.clock.now();
    if (this.#established) {
      context.leases.add(this);
      this.#watch();
    }
  }

  /** PROTOCOL 4.3. */
  get state(): LockState {
    this.remaining();
    return this.#end ?? (this.#unconfirmed || !this.#established ? "unknown" : "held");
  }

  /** Whether the lease is known to be lost, released or detached; reads no clock. */
  get hasEnded(): boolean {
    return this.#end !== undefined;
  }

  /** Whether the lease was detached: it may be resumed elsewhere. */
  get isDetached(): boolean {
    return this.#end === "detached";
  }

  /** Why the lease has ended, for an error; `undefined` while it is active. Reads the clocks. */
  get whyEnded(): string | undefined {
    this.remaining();
    return this.#lost?.why ?? (this.#end && `it was ${this.#end}`);
  }

  /** Set once the lease is known to be lost; reads no clock. */
  get loss(): LockLostError | undefined {
    return this.#lost;
  }

  /** Set once the lease is lost. */
  get lost(): LockLostError | undefined {
    this.remaining();
    return this.#lost;
  }

  /**
   * Aborts when the lease is lost: shortly before the deadline at the latest, or when it is read after it. Created
   * when first read.
   */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = selfCheckingController(() => void this.remaining());
      if (this.lost) abortWith(this.#controller, this.lost);
    }
    return this.#controller.signal;
  }

  get token(): string {
    return this.#token;
  }

  /** Returns the token for use outside of this client. */
  exposeToken(): string {
    this.#isExposed = true;
    return this.#token;
  }

  /**
   * Whether the next waiter in this process may take over the token: no other client knows it, no command with it is in
   * flight, and the last answers of the masters confirmed it.
   */
  get mayBeTakenOver(): boolean {
    return !this.#isExposed && !this.#resumed && !this.#unconfirmed && this.#extending === undefined;
  }

  /** The longest ttl that its holders have requested, ms: no key under its token lives longer. */
  get ttl(): number {
    return this.#ttl;
  }

  /** The deadline of each master, for a lease that continues this one. */
  get deadlines(): readonly number[] {
    return this.#deadlines;
  }

  /** Until its last key may expire, ms. */
  get keysLeft(): number {
    const loss = validityLoss(this.#ttl, this.driftFactor);
    return Math.max(...this.#deadlines) + loss - this.context.clock.now();
  }

  /** Records that it continues `lease`, under the same token. */
  inherit(lease: Lease): void {
    this.#gaps = lease.#gaps;
    if (this.#gaps) this.#gaps.owner = this;
    // A vote that has moved is still to be replaced (PROTOCOL 2.10).
    this.#moves = lease.#moves;
  }

  /**
   * Gives the token to a lease that continues under it. This lease has ended, and shows `unused` from now on, a token
   * that no lease has.
   */
  replaceToken(unused: string): void {
    this.#token = unused;
  }

  /**
   * Whether a master without the key may set it again. Not for a resumed lease: only the masters know whether that
   * one is still held (PROTOCOL 5.10).
   */
  get mayRepair(): boolean {
    return !this.#resumed;
  }

  /** The time that certainly remains, ms; 0 if none. Reads the clocks: no timer needs to have fired (PROTOCOL 3.6). */
  remaining(): number {
    // An established lease was lost when the placement was left; this covers a resumed one.
    if (this.placement.whyLeft !== undefined) this.lose(this.placement.whyLeft, "DATABASE");
    if (this.#end || !this.#established) return 0;
    const left = this.#deadline - this.context.clock.now();
    if (left > 0) return left;
    // The end is final (PROTOCOL 3.6).
    this.#runOut();
    return 0;
  }

  /**
   * Calls `listener` once, when the lease ends; never if it has ended already. Returns a function that removes it.
   */
  onEnd(listener: () => void): () => void {
    this.#endListeners = this.#endListeners.concat(listener);
    return () => {
      const others = this.#endListeners.filter((other) => other !== listener);
      this.#endListeners = others.length === 0 ? none : others;
    };
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
      const isWanted = this.renewals > 0 || this.#unconfirmed || this.#extending !== undefined;
      this.lose(`${timeRanOut}${hintFor(this.#ttl)}`, isWanted ? "NOT_CONFIRMED" : "EXPIRED");
    }
  }

  /** The masters that were never sent a command with a token of this lease: they have no key to delete (PROTOCOL 2.6). */
  get unasked(): readonly number[] {
    return this.#unasked;
  }

  /** Records that the masters are about to be asked to keep the key for `ttl` ms. */
  askedFor(ttl: number): void {
    this.#unasked = none;
    this.#ttl = Math.max(this.#ttl, ttl);
  }

  /**
   * Records that this master keeps the key until `deadline`, counted from the send of the command that it confirmed.
   * Never shortens (PROTOCOL 3.3).
   */
  renew(index: number, deadline: number): void {
    if (this.#end || this.placement.whyLeft !== undefined) return;
    // Never revives: after the old deadline another client may hold the lock (PROTOCOL 4.1).
    if (this.#established && this.remaining() === 0) return;
    // Moves of servers are noted of active leases alone: any other one begins again (PROTOCOL 2.10).
    if (!this.#established && this.#movesSeen !== this.context.serverMoves.count) this.#forgetVotes();
    if (deadline <= this.#deadlines[index]!) return;
    this.#deadlines[index] = deadline;
    if (this.#moves.length > 0) this.#replaceMoved(index);
    if (!this.#established && this.#deadline > this.context.clock.now()) {
      this.#established = true;
      this.context.leases.add(this);
    }
    this.#watch();
  }

  #forgetVotes(): void {
    this.#movesSeen = this.context.serverMoves.count;
    this.#deadlines.fill(never);
  }

  /**
   * Records that the server that voted through master `before` votes through `index` from now on: its next vote
   * replaces the earlier one, instead of counting beside it (PROTOCOL 2.10).
   */
  voteMoves(before: number, index: number): void {
    const stands = ({ before: master, deadline }: Move): boolean => this.#deadlines[master] === deadline;
    const moves = this.#moves.filter(stands);
    this.#gaps?.moved(before, index);
    // A vote that moved to `before`, and is not replaced yet, moves on from there.
    const further = moves.filter((move) => move.index === before).map((move) => ({ ...move, index }));
    this.#moves = [...moves, ...further, { before, index, deadline: this.#deadlines[before]! }];
  }

  #replaceMoved(index: number): void {
    for (const { before, index: after, deadline } of this.#moves)
      if (after === index && before !== index && this.#deadlines[before] === deadline)
        this.#deadlines[before] = never;
    this.#moves = this.#moves.filter((move) => move.index !== index);
  }

  /**
   * Whether this master certainly had the key until now, so that it cannot have voted for a rival and forgotten it.
   */
  isKeptBy(index: number): boolean {
    return this.#deadlines[index]! > this.context.clock.now();
  }

  /** The gaps of its masters, as their answers to extensions show them. */
  get gaps(): Gaps {
    this.#gaps ??= new Gaps(this, this.#deadlines.length, this.context.quorum, this.grantedAt);
    return this.#gaps;
  }

  /** Records that this master does not hold the key. A missing answer changes nothing: the deadline stays valid. */
  refuse(index: number): void {
    this.#deadlines[index] = never;
    if (!this.#established || this.hasEnded) return;
    if (this.#deadline === never) this.loseToMajority();
    else this.#watch();
  }

  /** Records whether a quorum confirmed the latest request. */
  confirm(answered: boolean): void {
    this.#unconfirmed = !answered;
  }

  loseToMajority(): void {
    this.lose("a majority of masters no longer holds its key", "MAJORITY");
  }

  lose(why: string, reason: LossReason): void {
    if (this.hasEnded) return;
    // The state changes before listeners run: they read it.
    this.#end = "lost";
    this.#lost = new LockLostError(this.resources, why, [], reason);
    if (this.#controller) abortWith(this.#controller, this.#lost);
    const handles = this.handle?.lostWith(this.#lost) ?? [];
    this.#leave();
    this.context.lost(handles);
  }

  /** Runs extension rounds one after the other: the answers of two at a time would be mixed up. */
  async exclusively<T>(round: () => Promise<T>): Promise<T> {
    while (this.#extending) await this.#extending;
    const result = round();
    const over = () => {
      this.#extending = undefined;
    };
    this.#extending = result.then(over, over);
    return result;
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
    const kept = leaseDeadline(this.#deadlines, this.context.quorum);
    return Math.min(kept, this.#limit?.until ?? kept);
  }

  /**
   * The time to notify the holder of a deadline, with a margin. In whole ms: V8 stores small integers without an
   * object.
   */
  noticeOf(deadline: number): number {
    return Math.floor(deadline - Math.min(maxNotice, this.#ttl / 20));
  }

  #endAs(end: "released" | "detached"): void {
    this.#end = end;
    this.#leave();
  }

  #leave(): void {
    this.context.timers.cancel(this.#timerHandle);
    this.context.leases.delete(this);
    const listeners = this.#endListeners;
    this.#endListeners = none;
    for (const listener of listeners) listener();
  }

  /**
   * Checks when the deadline is due. A timer that is set for an earlier time sets itself again, so a renewal moves
   * none.
   */
  #watch(): void {
    if (!this.#established || this.#end) return;
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
