import { abortWith } from "./abort.ts";
import type { Attempts } from "./attempts.ts";
import { InvalidArgumentError, type LockLostError, listed } from "./errors.ts";
import type { Lease, LockState } from "./lease.ts";
import { Lock, type LockOwner } from "./lock.ts";
import type { ReleaseResult } from "./release.ts";
import { type Turn, Turns } from "./turns.ts";

/** How an inner handle came to be. */
export interface Entry {
  readonly outer: ReentrantLock;
  readonly turn: Turn;
}

/** A handle on a hold that it may share with others, with an end of its own. */
export class ReentrantLock extends Lock {
  /** @internal Those inside of this handle, one after the other. */
  readonly inside: Turns = new Turns();
  readonly #resources: readonly string[];
  readonly #entry: Entry | undefined;
  /** All on the same lease that have not left. */
  readonly #handles: Set<ReentrantLock>;
  #endedAs: "lost" | "released" | "detached" | undefined;
  #leaving: Promise<ReleaseResult> | undefined;
  #controller: AbortController | undefined;

  /** @internal */
  constructor(owner: LockOwner, lease: Lease, attempts: Attempts, entry?: Entry) {
    super(owner, lease, attempts);
    this.#entry = entry;
    this.#resources = entry?.turn.resources ?? lease.resources;
    this.#handles = entry ? entry.outer.#handles : new Set();
    this.#handles.add(this);
    if (entry) return;
    lease.onEnd(() => {
      for (const handle of lease.lost ? this.#handles : []) handle.#tell(lease.lost!);
    });
  }

  /** What was asked for: of an inner handle, maybe only a part of what is held. */
  override get resources(): readonly string[] {
    return this.#resources;
  }

  override get state(): LockState {
    return this.#endedAs ?? super.state;
  }

  override get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.state === "lost") abortWith(this.#controller, Lock.leaseOf(this).lost);
    }
    return this.#controller.signal;
  }

  override remaining(): number {
    return this.#endedAs ? 0 : super.remaining();
  }

  /** @internal All on the same hold that have not left. */
  get handles(): readonly Lock[] {
    return [...this.#handles];
  }

  /** @internal Whether this one was released or detached, whoever else keeps the hold. */
  get hasLeft(): boolean {
    return this.#endedAs !== undefined;
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
    const lost = super.state === "lost";
    this.#endedAs ??= lost ? "lost" : "released";
    this.#handles.delete(this);
    const released = this.#handles.size === 0 ? release() : undefined;
    this.#endTurn();
    return released ?? { outcome: lost ? "expired" : "released", attempts: [] };
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
    this.#endedAs = "detached";
    this.#handles.delete(this);
    this.#endTurn();
  }

  /** Its turn lasts until those inside of it have left as well. */
  #endTurn(): void {
    if (!this.#entry || !this.hasLeft || !this.inside.isEmpty) return;
    const { outer, turn } = this.#entry;
    outer.inside.end(turn);
    outer.#endTurn();
  }

  #tell(lost: LockLostError): void {
    if (this.#controller && !this.#controller.signal.aborted) abortWith(this.#controller, lost);
  }
}

/** Whether `lock` was released or detached; others may keep the hold of one that was released. */
export function hasLeft(lock: Lock): boolean {
  return lock instanceof ReentrantLock && lock.hasLeft;
}

/** All handles on the hold of `lock` that have not left. */
export function handlesWith(lock: Lock): readonly Lock[] {
  return lock instanceof ReentrantLock ? lock.handles : [lock];
}
