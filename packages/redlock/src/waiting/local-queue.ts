import type { Context } from "../protocol/context.ts";
import type { ExecutionResult, Lease } from "../protocol/lease.ts";
import type { Contention } from "../protocol/quorum.ts";
import { release } from "../protocol/release.ts";
import { waiterOf } from "../protocol/token.ts";
import type { Settings } from "../settings/settings.ts";
import type { Cancellation } from "../time/cancellation.ts";
import type { GrantListener, Ticket } from "./grant-listener.ts";
import { type AcquireCall, reuseLease, transferToken } from "./local-hand-off.ts";
import { type OnFinished, QueuedAcquire } from "./queue-entry.ts";

/**
 * The result of waiting. Without a lease: the masters' latest answers, if any, or the error of the user's
 * backoff.
 */
export interface WaitResult {
  readonly lease?: Lease | undefined;
  readonly contention?: Contention | undefined;
  readonly error?: unknown;
}

/** A call that waits in this process. */
export interface LocalWaiter extends AcquireCall {
  readonly ticket: Ticket;
  readonly resolve: (result: WaitResult) => void;
}

export interface LocalQueueEvents {
  /** Others hold one of the resources. */
  onRefused(resources: readonly string[]): void;
  /** The queue of this key is empty. */
  onEmpty(key: string): void;
}

/**
 * The maximum number of calls served by one grant: a waiter in another process is overtaken by at most 15 of
 * each process (PROTOCOL 7.15).
 */
const maxLocalGrants = 16;

/**
 * The calls of one process that wait for the same resources. The first one is in the masters' queues on
 * behalf of all. When the lock is granted, all calls that wait here at that moment are served one after the
 * other by local hand-offs (`local-hand-off.ts`), and then the lock is released to the next process in the
 * masters' queues. So other processes wait for one batch of this one and no longer.
 */
export class LocalQueue {
  readonly #context: Context;
  readonly #grantListener: GrantListener;
  readonly #key: string;
  readonly #events: LocalQueueEvents;
  #waiters: LocalWaiter[] = [];
  /** The acquire in the masters' queues. */
  #queued: QueuedAcquire | undefined;
  /** The lease, while it is in this process. */
  #lease: Lease | undefined;
  /** The current holder, or the latest. */
  #holder: AcquireCall | undefined;
  /** The remaining local hand-offs of the current grant. */
  #localGrantsLeft = 0;
  /** Set during a hand-off; resolves when it is done. */
  #handingOff: Promise<ExecutionResult> | undefined;
  /** The masters' latest answers to the acquire in their queues. */
  #contention: Contention | undefined;

  constructor(context: Context, grantListener: GrantListener, key: string, events: LocalQueueEvents) {
    this.#context = context;
    this.#grantListener = grantListener;
    this.#key = key;
    this.#events = events;
  }

  /** Waits until `ended` is cancelled. */
  join(waiter: LocalWaiter, ended: Cancellation): void {
    // Mostly there is only one call, and an array that has grown keeps its capacity.
    if (this.#waiters.length === 0) this.#waiters = [waiter];
    else this.#waiters.push(waiter);
    ended.onCancel(() => this.#giveUp(waiter));
    this.#enqueueFirst();
  }

  /** Resolves when no hand-off is running, for `quit`. */
  get handedOff(): Promise<unknown> {
    return Promise.resolve(this.#handingOff);
  }

  #giveUp(waiter: LocalWaiter): void {
    if (this.#waiters[0] === waiter && this.#queued) {
      // The first one leaves the masters' queues before it resolves.
      this.#queued.giveUp();
    } else if (this.#remove(waiter)) {
      waiter.resolve({ contention: this.#queued ? this.#queued.contention : this.#contention });
      this.#enqueueFirst();
    }
  }

  #remove(waiter: LocalWaiter): boolean {
    const index = this.#waiters.indexOf(waiter);
    if (index >= 0) this.#waiters.splice(index, 1);
    return index >= 0;
  }

  /** Puts the first waiting call into the masters' queues, unless the lock is here and will be handed off. */
  #enqueueFirst(): void {
    if (this.#queued || this.#handingOff || (this.#lease && this.#localGrantsLeft > 0)) return;
    const first = this.#waiters[0];
    if (first) this.#enqueue(first);
    else if (!this.#lease) this.#events.onEmpty(this.#key);
  }

  #enqueue(waiter: LocalWaiter): void {
    const { request, ticket, attempts } = waiter;
    const onFinished: OnFinished = (lease, error) => this.#onFinished(waiter, lease, error);
    this.#queued = new QueuedAcquire(
      this.#context,
      this.#grantListener,
      request,
      ticket,
      attempts,
      onFinished,
    );
    this.#queued.start();
  }

  #onFinished(waiter: LocalWaiter, lease: Lease | undefined, error: unknown): void {
    const { contention, wasRefused } = this.#queued!;
    this.#queued = undefined;
    // A won round says nothing to the calls that still wait.
    this.#contention = lease ? undefined : contention;
    if (wasRefused) this.#events.onRefused(waiter.request.resources);
    this.#remove(waiter);
    if (lease) {
      this.#localGrantsLeft = Math.min(this.#waiters.length, maxLocalGrants - 1);
      this.#setLease(lease, waiter);
    }
    waiter.resolve({ lease, contention, error });
    this.#enqueueFirst();
  }

  #setLease(lease: Lease, { request, attempts }: AcquireCall): void {
    this.#lease = lease;
    // Not the whole waiter, which would keep its promise in memory.
    this.#holder = { request, attempts };
    lease.handOff = (settings) => this.#onRelease(lease, settings);
    lease.onEnd(() => this.#onLeaseEnd(lease));
  }

  #onLeaseEnd(lease: Lease): void {
    // `#onRelease` handles a release: the lock may stay in this process.
    if (lease.state === "released") return;
    // The receiver of a detached lease may count later grants, through an extension that finds them (PROTOCOL 5.6).
    if (lease.isDetached) this.#grantListener.forget(waiterOf(lease.token));
    else this.#rollBackGrants(lease);
    this.#clearLease(lease);
  }

  /** Grants that still arrive for this lease are rolled back. */
  #rollBackGrants({ placement, token, resources, longestTtl }: Lease): void {
    this.#grantListener.rollBackGrants(waiterOf(token), { placement, resources, ttl: longestTtl });
  }

  #clearLease(lease: Lease): void {
    if (this.#lease !== lease) return;
    this.#lease = undefined;
    this.#enqueueFirst();
  }

  /**
   * The holder releases: hands the lock off within this process, or returns `undefined` to release it on the
   * masters.
   */
  #onRelease(lease: Lease, settings: Settings): Promise<ExecutionResult> | undefined {
    const isHere = this.#lease === lease;
    const next = isHere && this.#localGrantsLeft > 0 ? this.#waiters[0] : undefined;
    if (next) {
      this.#handingOff = this.#handOff(lease, next, settings);
      return this.#handingOff;
    }
    this.#rollBackGrants(lease);
    // After the release, so that waiters on the masters come before this process.
    if (isHere) void Promise.resolve().then(() => this.#clearLease(lease));
    return undefined;
  }

  async #handOff(lease: Lease, next: LocalWaiter, settings: Settings): Promise<ExecutionResult> {
    this.#localGrantsLeft -= 1;
    const reused = reuseLease(lease, this.#holder!, next);
    // A reused token stays in use: an extension may find and count its grants (PROTOCOL 7.18).
    if (!reused) this.#rollBackGrants(lease);
    const { successor, result } = await (reused ?? transferToken(lease, next, settings));
    this.#handingOff = undefined;
    if (successor) {
      this.#setLease(successor, next);
      if (this.#remove(next)) next.resolve({ lease: successor });
      // The next call has given up meanwhile: the lock goes to the one after it.
      else void release(successor, settings);
    } else this.#lease = undefined;
    this.#enqueueFirst();
    return result;
  }
}
