import { InvalidArgumentError, LockLostError, listed } from "../errors.ts";
import type { Attempts, ExecutionResult } from "../protocol/execution-stats.ts";
import { type Lease, type LockState, timeRanOut } from "../protocol/lease.ts";
import type { LeaseLimit } from "../settings/lease-limit.ts";
import { Latch } from "../time/cancellation.ts";
import type { TimerHandle, TimerTask } from "../time/timers.ts";
import { Lock, type LockOwner } from "./lock.ts";

/** The turn of a call that is nested in the handle `outer`. */
export interface Turn {
  readonly outer: ReentrantLock;
  readonly resources: readonly string[];
  hasBegun: boolean;
  /** Ends once it begins, or its call waits no more. */
  readonly wait: Latch;
}

/** A handle on a lease that it may share with other handles. It ends separately. */
export class ReentrantLock extends Lock implements TimerTask {
  readonly #resources: readonly string[];
  /** Set if it is nested itself. */
  readonly #turn: Turn | undefined;
  /** The turns of the calls nested in this handle, in the order of the calls. */
  readonly #nested = new Set<Turn>();
  /** All handles on the same lease that have not been released. */
  readonly #handles: Set<ReentrantLock>;
  /** How it has ended; the error if it was lost, with the lease or by a limit. */
  #end: "released" | "detached" | LockLostError | undefined;
  #limit: LeaseLimit | undefined;
  /** Checks whether the limit is reached. */
  #timerHandle: TimerHandle | undefined;
  #leaving: Promise<ExecutionResult> | undefined;

  /** @internal */
  constructor(owner: LockOwner, lease: Lease, attempts: Attempts, turn?: Turn) {
    super(owner, lease, attempts);
    this.#turn = turn;
    this.#resources = turn?.resources ?? lease.resources;
    this.#handles = turn ? turn.outer.#handles : new Set();
    this.#handles.add(this);
    // Lost before it had a handle, as by `quit`.
    this.#end = lease.loss;
  }

  /** The requested resources: for a nested handle, possibly only a part of those of the lease. */
  override get resources(): string[] {
    return [...this.#resources];
  }

  override get state(): LockState {
    this.remaining();
    return this.#end instanceof LockLostError ? "lost" : (this.#end ?? super.state);
  }

  override remaining(): number {
    if (this.#end !== undefined) return 0;
    const left = super.remaining();
    const { limit } = this;
    if (!limit || left === 0) return left;
    const rest = limit.until - Lock.leaseOf(this).context.clock.now();
    if (rest > 0) return Math.min(left, rest);
    this.#loseBy(limit);
    return 0;
  }

  override get whyEnded(): string | undefined {
    this.remaining();
    return this.loss?.why ?? (this.#end === undefined ? super.whyEnded : `it was ${this.#end}`);
  }

  /**
   * @internal Ends this handle and those nested in it at the limit, but not the lease, which others may
   * share.
   */
  override limitTo(limit: LeaseLimit): void {
    this.#limit = limit;
    const lease = Lock.leaseOf(this);
    this.#timerHandle = lease.context.timers.add(lease.noticeOf(limit.until), this);
  }

  /** @internal Its own limit, or that of a handle it is nested in. A limit ends with its handle. */
  override get limit(): LeaseLimit | undefined {
    const own = typeof this.#end === "string" ? undefined : this.#limit;
    const outer = this.#turn?.outer.limit;
    return own && outer && outer.until < own.until ? outer : (own ?? outer);
  }

  /** @internal */
  override get loss(): LockLostError | undefined {
    return this.#end instanceof LockLostError ? this.#end : undefined;
  }

  /** @internal */
  onDue(): void {
    if (this.#limit) this.#loseBy(this.#limit);
  }

  #loseBy(limit: LeaseLimit): void {
    const lease = Lock.leaseOf(this);
    const bounded = [...this.#handles].filter((handle) => !handle.loss && handle.limit === limit);
    for (const handle of bounded) handle.#end = lostBy(limit, handle.resources);
    for (const handle of bounded) handle.showLoss();
    // With its last handle, the lease is lost as well.
    if ([...this.#handles].every((handle) => handle.loss)) lease.lose(limit.why, "HOLD_LIMIT");
    lease.context.lost(bounded);
  }

  override lostWith(lost: LockLostError): readonly Lock[] {
    const handles = [...this.#handles].filter((handle) => !handle.loss);
    for (const handle of handles) {
      const { limit } = handle;
      const isLimit = lost.why.startsWith(timeRanOut) && limit?.isReached;
      handle.#end = isLimit ? lostBy(limit, handle.resources) : lost;
    }
    for (const handle of handles) handle.showLoss();
    return handles;
  }

  /** @internal Whether a call nested in this handle may enter the lease. */
  get isOpen(): boolean {
    return this.remaining() > 0;
  }

  /** @internal Releases this handle. The last one that is held calls `release`, which releases the lease. */
  leave(release: () => Promise<ExecutionResult>): Promise<ExecutionResult> {
    this.#leaving ??= this.#leave(release);
    return this.#leaving;
  }

  async #leave(release: () => Promise<ExecutionResult>): Promise<ExecutionResult> {
    this.remaining();
    const isShared = this.#isShared;
    this.#leaveAs("released");
    const start = Lock.leaseOf(this).context.runtime.wall();
    const released = isShared ? undefined : release();
    this.#endTurn();
    return released ?? { outcome: this.loss ? "expired" : "released", attempts: [], start };
  }

  /**
   * @internal Detaches the lease, and with it this handle.
   * @throws LockLostError if it has ended; InvalidArgumentError if other handles would lose the lease
   * unawares.
   */
  detachLease(): void {
    const lease = Lock.leaseOf(this);
    if (this.#isShared) {
      throw new InvalidArgumentError(
        `the lock on ${listed(this.resources)} cannot be detached: it shares its lease with other handles by re-entry; release those first`,
      );
    }
    lease.detach();
    this.#leaveAs("detached");
    this.#endTurn();
  }

  /** Whether another handle keeps the lease. One that was lost keeps nothing (PROTOCOL 10.6). */
  get #isShared(): boolean {
    if (Lock.leaseOf(this).hasEnded) return false;
    for (const handle of this.#handles) if (handle !== this && handle.isOpen) return true;
    return false;
  }

  #leaveAs(how: "released" | "detached"): void {
    this.#end ??= how;
    this.#handles.delete(this);
    Lock.leaseOf(this).context.timers.cancel(this.#timerHandle);
  }

  /** @internal Adds a turn behind those of the calls that are nested in this handle. */
  takeTurn(resources: readonly string[]): Turn {
    const turn: Turn = { outer: this, resources, hasBegun: false, wait: new Latch() };
    this.#nested.add(turn);
    this.#beginTurns();
    return turn;
  }

  /** @internal Ends a turn, or removes it before it began. */
  leaveTurn(turn: Turn): void {
    this.#nested.delete(turn);
    this.#beginTurns();
    this.#endTurn();
  }

  /** PROTOCOL 10.6: one begins once no earlier one wants any of the same resources. */
  #beginTurns(): void {
    const wanted = new Set<string>();
    for (const turn of this.#nested) {
      const isNext = !turn.resources.some((resource) => wanted.has(resource));
      for (const resource of turn.resources) wanted.add(resource);
      if (!isNext) continue;
      turn.hasBegun = true;
      turn.wait.end();
    }
  }

  /** Its turn lasts until it and all handles nested in it have been released or lost (PROTOCOL 10.6). */
  #endTurn(): void {
    if (this.#nested.size === 0 && this.#end !== undefined) this.#turn?.outer.leaveTurn(this.#turn);
  }

  protected override showLoss(): void {
    super.showLoss();
    this.#endTurn();
  }
}

function lostBy(limit: LeaseLimit, resources: readonly string[]): LockLostError {
  return new LockLostError(resources, limit.why, [], "HOLD_LIMIT");
}
