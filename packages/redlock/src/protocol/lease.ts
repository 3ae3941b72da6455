import { type ExecutionStats, LockLostError } from "../errors.ts";
import type { HoldLimit } from "../settings/hold-limit.ts";
import { hintFor, type Settings } from "../settings/settings.ts";
import { abortWith, lookingController } from "../time/abort.ts";
import type { TimerHandle, TimerTask } from "../time/timers.ts";
import { holdDeadline, never } from "../time/validity.ts";
import type { Context, Handle, StandingLease } from "./context.ts";
import type { Placement } from "./placement.ts";

/**
 * - `held`: a quorum keeps the key until the deadline.
 * - `unknown`: still so as far as the clocks tell, but no quorum answered when it was last asked. A resumed lock
 *   begins here, with nothing remaining.
 * - `lost`: the deadline has passed, or a majority refused. Final.
 * - `released`: given up by its holder. Final.
 * - `detached`: given away by {@link Lock.detach}, for another process to resume. Final here.
 */
export type LockState = "held" | "unknown" | "lost" | "released" | "detached";

export interface ReleaseResult {
  /**
   * - `released`: a quorum of masters deleted the key, or gave it to the next one; or it was passed on to one in this
   *   process. The votes may then be those that it was had by.
   * - `expired`: a majority did not hold it any more.
   * - `partial`: too few masters answered to tell. Those are cleaned when they are back, or the key expires.
   * - `detached`: it was given away before, so nothing was sent.
   */
  readonly outcome: "released" | "expired" | "partial" | "detached";
  /** The votes, as in redlock 5. */
  readonly attempts: ReadonlyArray<Promise<ExecutionStats>>;
}

export interface LeaseTerms {
  readonly placement: Placement;
  readonly resources: readonly string[];
  readonly token: string;
  readonly ttl: number;
  /** Until when each master keeps the key, in lease time; all {@link never} for a hold that is resumed. */
  readonly deadlines: readonly number[];
  readonly fencingToken?: number | undefined;
  readonly resumed?: boolean;
}

/**
 * The signal comes this much before the deadline, ms: timers were seen 7 ms late at the 99th percentile on a
 * busy machine, and the holder must be told before anybody else can hold. For short ttls a twentieth of them.
 */
const longestNotice = 10;

/** So many tokens of earlier holds are remembered: as often as a hold may be passed on in one turn of a process. */
const longestMemory = 16;

export const timeRanOut: string = "its time ran out before a quorum of masters confirmed an extension";

/** A server that has voted through master `before`, until `deadline`, votes through `index`. */
interface Move {
  readonly before: number;
  readonly index: number;
  readonly deadline: number;
}

/** Many locks are held at once, and most of their lists are empty: one serves them all. */
const none: readonly never[] = [];

/**
 * One hold of a quorum, and what is known of it: a deadline for each master, and from these the one deadline
 * after which nothing is promised (PROTOCOL 3). No reply is needed to lose it.
 */
export class Lease implements TimerTask, StandingLease {
  /** Of the client that took it: its deadlines are in that one's lease time, and mean nothing in another's. */
  readonly context: Context;
  /** Where its keys are. It ends when that is left. */
  readonly placement: Placement;
  readonly resources: readonly string[];
  readonly fencingToken: number | undefined;
  /** What its taker has of it, and is told about where it is lost. */
  handle: Handle | undefined;
  /** Called at the release, before anything is sent: may pass the hold on instead, within this process. */
  handOff: ((settings: Settings) => Promise<ReleaseResult> | undefined) | undefined;
  #token: string;
  /** Whether the token was told to anybody outside of this client. */
  #isTold = false;
  /** Tokens that a master may hold the key under, besides its own. */
  #otherTokens: readonly string[] = none;
  readonly #deadlines: number[];
  /** Until a vote takes the place of the one that it would be counted beside. */
  #moves: readonly Move[] = none;
  #longestTtl: number;
  #endListeners: ReadonlyArray<() => void> = none;
  /** Whether a quorum has ever been known to hold; not so at first for a resumed lease. */
  #established: boolean;
  #unconfirmed = false;
  readonly #resumed: boolean;
  #limit: HoldLimit | undefined;
  #end: "lost" | "released" | "detached" | undefined;
  #lost: LockLostError | undefined;
  #extending: Promise<unknown> | undefined;
  #releasing: Promise<ReleaseResult> | undefined;
  #controller: AbortController | undefined;
  /** To look whether the deadline has passed. */
  #timerHandle: TimerHandle | undefined;

  constructor(context: Context, terms: LeaseTerms) {
    this.context = context;
    this.placement = terms.placement;
    this.resources = terms.resources;
    this.#token = terms.token;
    this.fencingToken = terms.fencingToken;
    this.#longestTtl = terms.ttl;
    this.#deadlines = [...terms.deadlines];
    this.#resumed = terms.resumed === true;
    this.#established = !this.#resumed;
    if (this.#established) {
      context.leases.add(this);
      this.#watch();
    }
  }

  get state(): LockState {
    this.remaining();
    return this.#end ?? (this.#unconfirmed || !this.#established ? "unknown" : "held");
  }

  /** Lost, released or detached, as far as was noticed: no clock is read. */
  get hasEnded(): boolean {
    return this.#end !== undefined;
  }

  /** Given away: it may go on elsewhere. */
  get isDetached(): boolean {
    return this.#end === "detached";
  }

  /** Why it stands no longer, for an error; `undefined` while it stands. The clocks are read now. */
  get whyEnded(): string | undefined {
    this.remaining();
    return this.#lost?.why ?? (this.#end && `it was ${this.#end}`);
  }

  /** Set once the hold is lost. */
  get lost(): LockLostError | undefined {
    this.remaining();
    return this.#lost;
  }

  /** Aborts when the hold is lost, shortly before the deadline at the latest, or when it is read after it. Made when first asked for. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = lookingController(() => void this.remaining());
      if (this.lost) abortWith(this.#controller, this.lost);
    }
    return this.#controller.signal;
  }

  get token(): string {
    return this.#token;
  }

  /** The token, for somebody outside of this client. */
  tell(): string {
    this.#isTold = true;
    return this.#token;
  }

  /**
   * Whether the next one in this process may go on under the same token: nobody else knows it, nothing is under way
   * under it, and the last that was heard of the masters was good.
   */
  get mayBeTakenOver(): boolean {
    return !this.#isTold && !this.#resumed && !this.#unconfirmed && this.#extending === undefined;
  }

  /** The longest ttl the masters were ever asked for, ms: no key of this hold lives longer than that. */
  get longestTtl(): number {
    return this.#longestTtl;
  }

  /** Until when each master keeps the key: for a hold that goes on as another one. */
  get deadlines(): readonly number[] {
    return this.#deadlines;
  }

  /** All that a master may hold the key under (PROTOCOL 14.5). */
  get tokens(): readonly string[] {
    return [...this.#otherTokens, this.#token];
  }

  alsoUsed(token: string): void {
    this.#otherTokens = [token, ...this.#otherTokens];
  }

  /** It was passed on from `lease`: a master that was not reached still has the key under one of that one's tokens. */
  inherit(lease: Lease): void {
    this.askedFor(lease.longestTtl);
    this.#otherTokens = lease.tokens.filter((token) => token !== this.#token).slice(-longestMemory);
  }

  /** Another one goes on under its token. It has ended, and what it tells from now on is `unused`, and nobody's. */
  giveTokenUp(unused: string): void {
    this.#token = unused;
    this.#otherTokens = none;
  }

  /**
   * May a master that has no key any more be given it again? Not for a resumed hold: only the masters can tell whether
   * that one stands (PROTOCOL 14.14).
   */
  get mayRepair(): boolean {
    return !this.#resumed;
  }

  get isResumed(): boolean {
    return this.#resumed;
  }

  /** What is certainly left, ms; 0 when nothing is. The clocks are read now: no timer needs to have fired. */
  remaining(): number {
    // (Established it was lost when that happened.)
    if (this.placement.whyLeft !== undefined) this.lose(this.placement.whyLeft);
    if (this.#end || !this.#established) return 0;
    const left = this.#deadline - this.context.clock.now();
    if (left > 0) return left;
    this.lose(this.whyItRunsOut);
    return 0;
  }

  /** Called once, when the hold ends; never where it has ended already. Returns how to take the listener away again. */
  onEnd(listener: () => void): () => void {
    this.#endListeners = this.#endListeners.concat(listener);
    return () => {
      const others = this.#endListeners.filter((other) => other !== listener);
      this.#endListeners = others.length === 0 ? none : others;
    };
  }

  /** The hold ends by then, however far the masters may extend it. (Of handles that share it each has its own limit.) */
  limitTo(limit: HoldLimit): void {
    this.#limit = limit;
    this.#watch();
  }

  get limit(): HoldLimit | undefined {
    return this.#limit;
  }

  /** The reason that is told when its time runs out. */
  get whyItRunsOut(): string {
    const limit = this.#limit;
    return limit && (limit.isReached || limit.until <= this.#deadline)
      ? limit.why
      : `${timeRanOut}${hintFor(this.#longestTtl)}`;
  }

  /** The masters are about to be asked to keep the key for `ttl` ms. */
  askedFor(ttl: number): void {
    this.#longestTtl = Math.max(this.#longestTtl, ttl);
  }

  /**
   * This master keeps the key until `deadline`: it said so to a command sent that much earlier. Never shortens
   * (PROTOCOL 14.1), and never revives: with the old deadline past, somebody else may hold (PROTOCOL 4).
   */
  renew(index: number, deadline: number): void {
    if (this.#end || this.placement.whyLeft !== undefined) return;
    if (this.#established && this.remaining() === 0) return;
    if (deadline <= this.#deadlines[index]!) return;
    this.#deadlines[index] = deadline;
    if (this.#moves.length > 0) this.#replaceMoved(index);
    if (!this.#established && this.#deadline > this.context.clock.now()) {
      this.#established = true;
      this.context.leases.add(this);
    }
    this.#watch();
  }

  /**
   * The server that has voted through master `before` votes through `index` from now on: its next vote is counted in place of
   * that one, and not beside it (PROTOCOL 2.8).
   */
  voteMoves(before: number, index: number): void {
    const stands = ({ before: master, deadline }: Move): boolean => this.#deadlines[master] === deadline;
    const moves = this.#moves.filter(stands);
    // What has come to `before` and is not replaced yet goes on from there.
    const goOn = moves.filter((move) => move.index === before).map((move) => ({ ...move, index }));
    this.#moves = [...moves, ...goOn, { before, index, deadline: this.#deadlines[before]! }];
  }

  #replaceMoved(index: number): void {
    for (const { before, index: after, deadline } of this.#moves)
      if (after === index && before !== index && this.#deadlines[before] === deadline)
        this.#deadlines[before] = never;
    this.#moves = this.#moves.filter((move) => move.index !== index);
  }

  /** Whether this master certainly had the key until now, so that it cannot have voted for a rival and forgotten it. */
  isKeptBy(index: number): boolean {
    return this.#deadlines[index]! > this.context.clock.now();
  }

  /** This master said that it does not hold the key. A silent one says nothing, and its deadline stands. */
  refuse(index: number): void {
    this.#deadlines[index] = never;
    if (!this.#established || this.hasEnded) return;
    if (this.#deadline === never) this.loseToMajority();
    else this.#watch();
  }

  /** Whether a quorum answered the last time it was asked. */
  confirm(answered: boolean): void {
    this.#unconfirmed = !answered;
  }

  loseToMajority(): void {
    this.lose("a majority of masters does not hold its key any more");
  }

  lose(why: string): void {
    if (this.hasEnded) return;
    // It has ended before anybody is told: whoever is told looks.
    this.#end = "lost";
    this.#lost = new LockLostError(this.resources, why);
    if (this.#controller) abortWith(this.#controller, this.#lost);
    const handles = this.handle?.lostWith(this.#lost) ?? [];
    this.#leave();
    this.context.lost(handles);
  }

  /** Runs one round of extension after the other: the answers of two at a time would be mixed up. */
  async exclusively<T>(round: () => Promise<T>): Promise<T> {
    while (this.#extending) await this.#extending;
    const result = round();
    const over = () => {
      this.#extending = undefined;
    };
    this.#extending = result.then(over, over);
    return result;
  }

  /**
   * The holder gives up: from here on it is not held, whatever the masters still say (PROTOCOL 14.5). Only then
   * does `send` send anything, and only the first time.
   */
  releaseOnce(send: () => Promise<ReleaseResult>): Promise<ReleaseResult> {
    if (!this.#releasing) {
      this.remaining();
      if (!this.hasEnded) this.#endAs("released");
      this.#releasing = send();
    }
    return this.#releasing;
  }

  /**
   * The holder gives it away: from here on another process may go on under its token, and this one must touch no key
   * under it any more (PROTOCOL 14.14).
   * @throws LockLostError when it has ended before.
   */
  detach(): void {
    const why = this.whyEnded;
    if (why !== undefined) throw new LockLostError(this.resources, why);
    this.#endAs("detached");
  }

  /** The hold's own: what a quorum of the masters' reaches. */
  get #deadline(): number {
    const kept = holdDeadline(this.#deadlines, this.context.quorum);
    return Math.min(kept, this.#limit?.until ?? kept);
  }

  /** When the holder is to be told of a deadline, with time to spare. In whole ms: small integers are no objects. */
  noticeOf(deadline: number): number {
    return Math.floor(deadline - Math.min(longestNotice, this.#longestTtl / 20));
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

  /** To look when the deadline is due. An earlier look looks again by itself: a renewal moves none. */
  #watch(): void {
    if (!this.#established || this.#end) return;
    const due = this.noticeOf(this.#deadline);
    if (this.#timerHandle?.who && this.#timerHandle.due <= due) return;
    const { timers } = this.context;
    timers.cancel(this.#timerHandle);
    this.#timerHandle = timers.add(due, this);
  }

  /** @internal */
  onDue(): void {
    if (this.context.clock.now() >= this.noticeOf(this.#deadline)) this.lose(this.whyItRunsOut);
    else this.#watch();
  }
}
