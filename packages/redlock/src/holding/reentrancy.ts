import {
  ExecutionError,
  InvalidArgumentError,
  LockLostError,
  listed,
  ResourceLockedError,
} from "../errors.ts";
import type { AcquireResult, LockRequest } from "../protocol/attempt.ts";
import type { Context } from "../protocol/context.ts";
import { Attempts } from "../protocol/execution-stats.ts";
import { extend } from "../protocol/extend.ts";
import { release } from "../protocol/release.ts";
import { ttlWithin } from "../settings/lease-limit.ts";
import type { Settings } from "../settings/settings.ts";
import { type AsyncContext, type Frame, frames } from "../time/async-context.ts";
import { Cancellation } from "../time/cancellation.ts";
import { maxTimerDelay, type Runtime } from "../time/runtime.ts";
import { sleep } from "../time/sleep.ts";
import { Lock, type LockOwner } from "./lock.ts";
import { ReentrantLock } from "./reentrant-lock.ts";
import type { Turn } from "./turns.ts";
import type { Routine } from "./using.ts";

// Reentrancy (PROTOCOL 10.6) is counted here, in the client: masters that counted on their own would come to different
// counts as soon as one of them missed a command.
//
// Handles form a tree. The first one has the hold of the masters, which is a lease. A call from inside of it, for the
// same resources, is given a further handle on that lease, and no master is asked; the lease is released when its
// last handle is. Who may enter is decided by the handle that a call is inside of, never by the lease alone:
//
// - Calls inside of the same handle are siblings. They exclude each other as anybody else would, so they take turns.
//   A call inside of the one whose turn it is enters at once.
// - A handle that was released or lost lets nobody in, even if others keep its lease: a promise that outlives the
//   handle it was started under has to ask the masters like everybody else.
//
// What a call is inside of follows the async context of a routine of `using`, or is named: `{ parent: lock }`. A
// handle that `acquire` returns is in no context. It would have to be put into that of its caller, whose other
// branches would then enter a hold that is not theirs.

/** What came of asking: as of a contest, and the handle, where a hold was entered. */
export type Entered = AcquireResult & { readonly lock?: ReentrantLock };

/** A hold that has less than this part of the wanted ttl left is extended before it is entered. */
const leastLeft = 1 / 2;

/** Whom the calls of one Redlock are inside of. */
export class Reentrancy {
  readonly #context: Context;
  readonly #asyncContext: AsyncContext<Frame | undefined> | undefined;

  /** @param asyncContext `undefined`: only handles that are named count. */
  constructor(context: Context, asyncContext: AsyncContext<Frame | undefined> | undefined) {
    this.#context = context;
    this.#asyncContext = asyncContext;
  }

  /** `routine`, with all that it calls inside of its lock. */
  inside<T>(routine: Routine<T>): Routine<T> {
    const asyncContext = this.#asyncContext;
    if (!asyncContext) return routine;
    return (signal, lock) => {
      const frame = { context: this.#context, lock, outer: asyncContext.getStore() };
      // Settled inside as well: a thenable may begin its work only when it is awaited.
      return asyncContext.run(frame, async () => routine(signal, lock));
    };
  }

  /** The innermost handle of the context that holds `resources`. */
  inContext(resources: readonly string[]): ReentrantLock | undefined {
    for (let frame = this.#asyncContext?.getStore(); frame; frame = frame.outer) {
      if (frame.context !== this.#context) continue;
      const lock = frame.lock as ReentrantLock;
      if (lock.isOpen && covers(lock, resources)) return lock;
    }
    return undefined;
  }

  named(parent: unknown, resources: readonly string[]): ReentrantLock {
    if (!(parent instanceof ReentrantLock) || Lock.leaseOf(parent).context !== this.#context) {
      throw new InvalidArgumentError("parent must be a lock of this Redlock");
    }
    if (!covers(parent, resources)) {
      throw new InvalidArgumentError(`parent does not hold ${listed(resources)}`);
    }
    if (parent.isOpen) return parent;
    throw new LockLostError(parent.resources, `parent is ${parent.state}, nothing of it remains`);
  }
}

/** @throws InvalidArgumentError where async contexts are wanted, and there are none. */
export function reentrancyOf(
  context: Context,
  reentrant: boolean | "handle" | undefined,
): Reentrancy | undefined {
  if (!reentrant) return undefined;
  const asyncContext = reentrant === "handle" ? undefined : frames();
  if (asyncContext || reentrant === "handle") return new Reentrancy(context, asyncContext);
  throw new InvalidArgumentError(
    'reentrant: true needs AsyncLocalStorage, and there is none; use reentrant: "handle" and name the lock: { parent }',
  );
}

/** The handle to enter for `resources`; `undefined` where the masters are to be asked. */
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
 * Whether `lock` holds all of `resources`, or none.
 * @throws InvalidArgumentError for some of them: to wait for all would be to wait for oneself.
 */
function covers(lock: ReentrantLock, resources: readonly string[]): boolean {
  const missing = resources.filter((resource) => !lock.resources.includes(resource));
  if (missing.length === 0 || missing.length === resources.length) return missing.length === 0;
  const held = resources.filter((resource) => lock.resources.includes(resource));
  throw new InvalidArgumentError(
    `${listed(held)} is held already and ${listed(missing)} is not: ask for what is missing alone, or for all at first`,
  );
}

/** Who asks, for what, and from inside of which handle. */
export interface Caller {
  readonly owner: LockOwner;
  readonly outer: ReentrantLock;
  readonly request: LockRequest;
  readonly cancellation: Cancellation;
}

/** Enters the outer handle when the caller's turn has come, and begins `anew` where that handle has ended by then. */
export async function enter(
  caller: Caller,
  anew: (request: LockRequest) => Promise<Entered>,
): Promise<Entered> {
  const { outer, request, cancellation } = caller;
  const { runtime } = Lock.leaseOf(outer).context;
  const begun = runtime.monotonic();
  const turn = outer.inside.take(request.resources);
  let entered = false;
  try {
    if (!turn.begun) await waitFor(turn, runtime, request.settings, cancellation);
    if (cancellation.reason) throw cancellation.reason;
    if (!turn.begun) return lockedBySibling(outer, request);
    entered = outer.isOpen;
    if (entered) return await enterNow(caller, turn);
  } finally {
    if (!entered) outer.inside.end(turn);
  }
  return anew(lessWaited(request, runtime.monotonic() - begun));
}

async function enterNow({ owner, outer, request, cancellation }: Caller, turn: Turn): Promise<Entered> {
  const lease = Lock.leaseOf(outer);
  const attempts = new Attempts(lease.context.nodes);
  const lock = new ReentrantLock(owner, lease, attempts, { outer, turn });
  const { minimumValidity } = request.settings;
  const { limit } = lock;
  const ttl = ttlWithin(limit, request.ttl, lease.context.clock.now());
  try {
    if (lease.remaining() < ttl * leastLeft || lock.remaining() <= minimumValidity) {
      await cancellation.race(extend(lease, request.ttl, { ...request.settings, limit }));
      if (cancellation.reason) throw cancellation.reason;
      checkValidity(lock, minimumValidity);
    }
    return { lease, attempts, lock };
  } catch (error) {
    await lock.leave(() => release(lease, request.settings));
    throw error;
  }
}

function checkValidity(lock: Lock, minimumValidity: number): void {
  const left = lock.remaining();
  if (left > minimumValidity) return;
  const why = `The hold on ${listed(lock.resources)} has ${Math.floor(left)} ms left, and minimumValidity is ${minimumValidity} ms`;
  throw new ExecutionError(`${why}: ask for a longer ttl, or raise maxHoldTime of the outer call`, []);
}

/** Waits until the turn begins, at most for as long as the settings let a call wait for others. */
async function waitFor(
  turn: Turn,
  runtime: Runtime,
  settings: Settings,
  cancellation: Cancellation,
): Promise<void> {
  const { waitTimeout, retryCount, retryDelay } = settings;
  const patience = waitTimeout ?? (retryCount === -1 ? maxTimerDelay : retryCount * retryDelay);
  const over = new Cancellation();
  const wake = () => over.cancel(new Error("the wait is over"));
  turn.onBegin = wake;
  const forget = cancellation.onCancel(wake);
  await sleep(runtime, patience, over);
  forget();
}

function lockedBySibling(outer: ReentrantLock, { resources }: LockRequest): Entered {
  const who =
    "another call inside of the same hold (to be inside of that one, use its routine or name it: parent)";
  return { contended: true, error: new ResourceLockedError(resources[0]!, outer.remaining(), [], who) };
}

function lessWaited(request: LockRequest, waited: number): LockRequest {
  const { waitTimeout } = request.settings;
  if (waitTimeout === undefined) return request;
  return { ...request, settings: { ...request.settings, waitTimeout: Math.max(0, waitTimeout - waited) } };
}
