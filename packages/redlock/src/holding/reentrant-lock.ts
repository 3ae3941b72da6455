import { InvalidArgumentError, LockLostError, listed } from "../errors.ts";
import type { Attempts } from "../protocol/execution-stats.ts";
import type { ReleaseResult } from "../protocol/lease.ts";
import { type Lease, type LockState, timeRanOut } from "../protocol/lease.ts";
import type { LeaseLimit } from "../settings/lease-limit.ts";
import { abortWith, selfCheckingController } from "../time/abort.ts";
import type { TimerHandle, TimerTask } from "../time/timers.ts";
import { Lock, type LockOwner } from "./lock.ts";
import { type Turn, Turns } from "./turns.ts";

/** How an inner handle came to be. */
export interface Entry {
  readonly outer: ReentrantLock;
  readonly turn: Turn;
}

/** A handle on a hold that it may share with others, with an end of its own. */
export class ReentrantLock extends Lock implements TimerTask {
  /** @internal Those inside of this handle, one after the other. */
  readonly inside: Turns = new Turns();
  readonly #resources: readonly string[];
  readonly #entry: Entry | undefined;
  /** All on the same lease that have not left. */
  readonly #handles: Set<ReentrantLock>;
  /** How it has left. */
  #endedAs: "lost" | "released" | "detached" | undefined;
  /** Lost, with the hold or by a limit. */
  #lost: LockLostError | undefined;
  #limit: LeaseLimit | undefined;
  /** To look whether the limit has come. */
  #timerHandle: TimerHandle | undefined;
  #leaving: Promise<ReleaseResult> | undefined;
  #controller: AbortController | undefined;

  /** @internal */
  constructor(owner: LockOwner, lease: Lease, attempts: Attempts, entry?: Entry) {
    super(owner, lease, attempts);
    this.#entry = entry;
    this.#resources = entry?.turn.resources ?? lease.resources;
    this.#handles = entry ? entry.outer.#handles : new Set();
    this.#handles.add(this);
  }

  /** What was asked for: of an inner handle, maybe only a part of what is held. */
  override get resources(): readonly string[] {
    return this.#resources;
  }

  override get state(): LockState {
    this.remaining();
    return this.#endedAs ?? (this.#lost ? "lost" : super.state);
  }

  override get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = selfCheckingController(() => void this.remaining());
      this.remaining();
      if (this.#lost) abortWith(this.#controller, this.#lost);
    }
    return this.#controller.signal;
  }

  override remaining(): number {
    if (this.#endedAs || this.#lost) return 0;
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
    return this.#lost?.why ?? (this.#endedAs ? `it was ${this.#endedAs}` : super.whyEnded);
  }

  /** @internal It ends by then, and those inside of it: not the hold, which others may be on. */
  override limitTo(limit: LeaseLimit): void {
    this.#limit = limit;
    const lease = Lock.leaseOf(this);
    this.#timerHandle = lease.context.timers.add(lease.noticeOf(limit.until), this);
  }

  /** @internal Its own, or that of a handle that it is inside of. A limit is over when its handle has left. */
  override get limit(): LeaseLimit | undefined {
    const own = this.#endedAs ? undefined : this.#limit;
    const outer = this.#entry?.outer.limit;
    return own && outer && outer.until < own.until ? outer : (own ?? outer);
  }

  /** @internal */
  onDue(): void {
    if (this.#limit) this.#loseBy(this.#limit);
  }

  #loseBy(limit: LeaseLimit): void {
    const lease = Lock.leaseOf(this);
    const bounded = [...this.#handles].filter((handle) => !handle.#lost && handle.limit === limit);
    for (const handle of bounded) handle.#lose(new LockLostError(handle.resources, limit.why));
    // Where nobody is left who has the hold, it is lost as well.
    if ([...this.#handles].every((handle) => handle.#lost)) lease.lose(limit.why);
    lease.context.lost(bounded);
  }

  override lostWith(lost: LockLostError): readonly Lock[] {
    const handles = [...this.#handles].filter((handle) => !handle.#lost);
    for (const handle of handles) {
      const { limit } = handle;
      const isLimit = lost.why.startsWith(timeRanOut) && limit?.isReached;
      handle.#lose(isLimit ? new LockLostError(handle.resources, limit.why) : lost);
    }
    return handles;
  }

  /** @internal Whether a call inside of it is inside of the hold. */
  get isOpen(): boolean {
    return this.remaining() > 0;
  }

  /** @internal Gives this handle up. The last one calls `release`, which gives the hold up. */
  leave(release: () => Promise<ReleaseResult>): Promise<ReleaseResult> {
    this.#leaving ??= this.#leave(release);
    return this.#leaving;
  }

  async #leave(release: () => Promise<ReleaseResult>): Promise<ReleaseResult> {
    this.remaining();
    this.#end(this.#lost ? "lost" : "released");
    const released = this.#handles.size === 0 ? release() : undefined;
    this.#endTurn();
    return released ?? { outcome: this.#lost ? "expired" : "released", attempts: [] };
  }

  /**
   * @internal Detaches the hold, and with it this handle.
   * @throws LockLostError where it has ended; InvalidArgumentError where others would lose the hold unawares.
   */
  detachLease(): void {
    const lease = Lock.leaseOf(this);
    const others = this.#handles.size - 1;
    if (others > 0 && !lease.hasEnded) {
      throw new InvalidArgumentError(
        `the lock on ${listed(this.resources)} cannot be detached: it shares its hold with ${others} more handle(s), by re-entry; release those first`,
      );
    }
    lease.detach();
    this.#end("detached");
    this.#endTurn();
  }

  #end(how: "lost" | "released" | "detached"): void {
    this.#endedAs ??= how;
    this.#handles.delete(this);
    Lock.leaseOf(this).context.timers.cancel(this.#timerHandle);
  }

  /** Its turn lasts until those inside of it have left as well. */
  #endTurn(): void {
    if (!this.#entry || !this.#endedAs || !this.inside.isEmpty) return;
    const { outer, turn } = this.#entry;
    outer.inside.end(turn);
    outer.#endTurn();
  }

  #lose(lost: LockLostError): void {
    this.#lost = lost;
    if (this.#controller) abortWith(this.#controller, lost);
  }
}
