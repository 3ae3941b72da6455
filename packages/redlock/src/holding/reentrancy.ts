import {
  ExecutionError,
  InvalidArgumentError,
  LockLostError,
  listed,
  ResourceLockedError,
} from "../errors.ts";
import type { Context } from "../protocol/context.ts";
import { Attempts } from "../protocol/execution-stats.ts";
import { extend } from "../protocol/extend.ts";
import type { Lease } from "../protocol/lease.ts";
import { release } from "../protocol/release.ts";
import type { LockRequest } from "../protocol/request.ts";
import { lateTimerThreshold } from "../protocol/round.ts";
import type { AcquireResult } from "../protocol/vote.ts";
import { maxWaitOf } from "../settings/backoff.ts";
import { ttlWithin } from "../settings/lease-limit.ts";
import { nodeTimeoutFor } from "../settings/settings.ts";
import { type Frames, frames } from "../time/async-context.ts";
import { Cancellation } from "../time/cancellation.ts";
import { sleep } from "../time/sleep.ts";
import { Lock, type LockOwner, type Routine } from "./lock.ts";
import { ReentrantLock, type Turn } from "./reentrant-lock.ts";

// Reentrancy (PROTOCOL 10.6) is counted in the client: counts on the masters would differ as soon as one of
// them missed a command.
//
// Handles form a tree. The outermost one owns the lease. A call nested in it, for the same resources, gets a
// further handle on the same lease without asking any master; the lease is released with its last handle.
// Whether a call may enter depends on the handle it is nested in, never on the lease alone:
//
// - Calls nested in the same handle are siblings. They exclude each other like any two callers, so they take
//   turns. A call nested in the sibling whose turn it is enters immediately.
// - A handle that was released or lost admits no call, even if others keep its lease. A promise that outlives
//   its handle has to ask the masters.
//
// The nesting follows the async context of a routine of `using`, or is given by `{ parent: lock }`. A handle
// returned by `acquire` is in no async context. It would have to be put into its caller's context, and the
// caller's other branches could then enter a lease that is not theirs.

/** The result of an acquire, with the handle if the call entered a lease. */
export type EnterResult = AcquireResult & { readonly lock?: ReentrantLock };

/** A lease with less than this part of the requested ttl left is extended before it is entered. */
const minRemainingFraction = 1 / 2;

/** Finds the handles that the calls of one Redlock are nested in. */
export class Reentrancy {
  readonly #context: Context;
  readonly #asyncContext: Frames | undefined;

  /** @param reentrant "handle": only handles given as `parent` count. */
  constructor(context: Context, reentrant: true | "handle") {
    this.#context = context;
    this.#asyncContext = reentrant === "handle" ? undefined : frames();
  }

  /** Wraps `routine` so that all its calls are nested in its lock. */
  nest<T>(routine: Routine<T>): Routine<T> {
    const asyncContext = this.#asyncContext;
    if (!asyncContext) return routine;
    return (signal, lock) => {
      const frame = { context: this.#context, lock, outer: asyncContext.getStore() };
      // Awaited inside as well: a thenable may start its work only when it is awaited.
      return asyncContext.run(frame, async () => routine(signal, lock));
    };
  }

  /** The innermost handle in the async context that holds `resources`. */
  inContext(resources: readonly string[]): ReentrantLock | undefined {
    for (let frame = this.#asyncContext?.getStore(); frame; frame = frame.outer) {
      if (frame.context !== this.#context) continue;
      const lock = frame.lock as ReentrantLock;
      if (lock.isOpen && covers(lock, resources)) return lock;
    }
    return undefined;
  }

  named(parent: unknown, resources: readonly string[]): ReentrantLock {
    const { context } = Lock.leaseOf(parent as Lock, "parent");
    if (!(parent instanceof ReentrantLock) || context !== this.#context)
      throw new InvalidArgumentError("parent must be a lock of this Redlock");
    if (!covers(parent, resources)) {
      throw new InvalidArgumentError(`parent does not hold ${listed(resources)}`);
    }
    if (parent.isOpen) return parent;
    throw new LockLostError(parent.resources, `parent is ${parent.state}, so no call can be nested in it`);
  }
}

/** The handle to enter for `resources`; `undefined` if the masters must be asked. */
export function outerFor(
  reentrancy: Reentrancy | undefined,
  resources: readonly string[],
  parent: Lock | undefined,
): ReentrantLock | undefined {
  if (parent === undefined) return reentrancy?.inContext(resources);
  if (reentrancy) return reentrancy.named(parent, resources);
  throw new InvalidArgumentError('parent needs a Redlock with reentrant: true or "handle"');
}

/**
 * Whether `lock` holds all of `resources`, or none of them.
 * @throws InvalidArgumentError if it holds only some: waiting for the others would mean waiting for itself.
 */
function covers(lock: ReentrantLock, resources: readonly string[]): boolean {
  const own = new Set(lock.resources);
  const missing = resources.filter((resource) => !own.has(resource));
  if (missing.length === 0 || missing.length === resources.length) return missing.length === 0;
  const held = resources.filter((resource) => own.has(resource));
  throw new InvalidArgumentError(
    `${listed(held)} is held already and ${listed(missing)} is not: lock only the missing ones here, or all of them in the outer call`,
  );
}

/** A call nested in the handle `outer`. */
export interface NestedCall {
  readonly owner: LockOwner;
  readonly outer: ReentrantLock;
  readonly request: LockRequest;
  readonly cancellation: Cancellation;
}

/**
 * Enters the outer handle when it is the call's turn. If that handle has ended by then, calls
 * `acquireInstead`.
 */
export async function enter(
  call: NestedCall,
  acquireInstead: (request: LockRequest) => Promise<EnterResult>,
): Promise<EnterResult> {
  const { outer, request, cancellation } = call;
  const turn = outer.takeTurn(request.resources);
  let rest = request;
  let hasEntered = false;
  try {
    if (!turn.hasBegun) rest = await waitFor(turn, call);
    if (cancellation.reason) throw cancellation.reason;
    if (!turn.hasBegun) return lockedBySibling(outer, request);
    hasEntered = outer.isOpen;
    if (hasEntered) return await enterNow({ ...call, request: rest }, turn);
  } finally {
    if (!hasEntered) outer.leaveTurn(turn);
  }
  return acquireInstead(rest);
}

async function enterNow(
  { owner, outer, request, cancellation }: NestedCall,
  turn: Turn,
): Promise<EnterResult> {
  const lease = Lock.leaseOf(outer);
  const attempts = new Attempts(lease.context.nodes);
  const lock = new ReentrantLock(owner, lease, attempts, turn);
  const { minimumValidity } = request.settings;
  const { limit } = lock;
  const ttl = ttlWithin(limit, request.ttl, lease.context.clock.now());
  try {
    if (lease.remaining() < ttl * minRemainingFraction || lock.remaining() <= minimumValidity) {
      await extendWithin(lease, { ...request, settings: { ...request.settings, limit } }, cancellation);
      checkValidity(lock, minimumValidity);
    }
    return { lease, attempts, lock };
  } catch (error) {
    await lock.leave(() => release(lease, request.settings));
    throw error;
  }
}

/** Extends the lease that a call enters, within the time of that call (PROTOCOL 1.10): another extension may be under way. */
async function extendWithin(
  lease: Lease,
  { resources, ttl, settings }: LockRequest,
  cancellation: Cancellation,
): Promise<void> {
  const { clock, runtime } = lease.context;
  const { waitTimeout, retryCount } = settings;
  const isTimed = waitTimeout !== undefined || retryCount === 0;
  const time = isTimed ? (waitTimeout ?? 0) : Number.POSITIVE_INFINITY;
  const retries = isTimed ? { retryCount: time > 0 ? -1 : 0 } : {};
  const over = new Cancellation();
  const forget = cancellation.onEnd(() => over.cancel(() => cancellation.reason!));
  const endInTime = async (nodeTimeout: number): Promise<void> => {
    const due = runtime.monotonic() + time + nodeTimeout;
    await sleep(runtime, time + nodeTimeout, over);
    // PROTOCOL 12.9: what came while the process stalled is not read yet.
    if (runtime.monotonic() - due > lateTimerThreshold) await sleep(runtime, nodeTimeout, over);
    over.cancel(() => new ExecutionError(`The lock on ${listed(resources)} was not extended in time`, []));
  };
  if (isTimed) void endInTime(nodeTimeoutFor(ttl, settings));
  try {
    await over.race(extend(lease, ttl, { ...settings, ...retries }, clock.now(), time));
    if (over.reason) throw over.reason;
  } finally {
    forget();
    over.end();
  }
}

function checkValidity(lock: Lock, minimumValidity: number): void {
  const left = lock.remaining();
  if (left > minimumValidity) return;
  const why = `The lock on ${listed(lock.resources)} has ${Math.floor(left)} ms left, and minimumValidity is ${minimumValidity} ms`;
  throw new ExecutionError(`${why}: request a longer ttl, or raise maxHoldTime of the outer call`, []);
}

/**
 * Waits until the turn begins, at most for the time that the settings allow. Returns the request with the rest of that
 * time (PROTOCOL 1.10): the call may have to wait for the masters as well.
 */
async function waitFor(turn: Turn, { outer, request, cancellation }: NestedCall): Promise<LockRequest> {
  const { settings } = request;
  const { runtime } = Lock.leaseOf(outer).context;
  const startedAt = runtime.monotonic();
  const maxWait = maxWaitOf(settings, runtime);
  const forget = cancellation.onEnd(() => turn.wait.end());
  await sleep(runtime, maxWait, turn.wait);
  forget();
  const waitTimeout = Math.max(0, startedAt + maxWait - runtime.monotonic());
  return { ...request, settings: { ...settings, waitTimeout } };
}

function lockedBySibling(outer: ReentrantLock, { resources }: LockRequest): EnterResult {
  const owner =
    "another call nested in the same lock (to nest the call in that one, make it in its routine or pass its lock as parent)";
  // The outer handle may have ended meanwhile, and the sibling keeps the lease.
  const remaining = outer.remaining() || Lock.leaseOf(outer).remaining();
  return { contended: true, error: new ResourceLockedError(resources[0]!, remaining, [], owner) };
}
