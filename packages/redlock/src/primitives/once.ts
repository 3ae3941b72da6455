import { ExecutionError, InvalidArgumentError, type Owner, ResourceLockedError } from "../errors.ts";
import { Lock, type Routine, throwIfEnded } from "../holding/lock.ts";
import { runWithLock } from "../holding/using.ts";
import { retryFraction } from "../protocol/extend.ts";
import { type AcquireOptions, Redlock } from "../redlock.ts";
import { pauseBetween } from "../settings/backoff.ts";
import { placeOf, routineAmong } from "../settings/options.ts";
import { shown } from "../settings/ranges.ts";
import { checkName } from "../settings/resources.ts";
import {
  attemptsAllowed,
  checkHolding,
  checkIsMeant,
  checkTtlRange,
  nodeTimeoutFor,
  type Settings,
} from "../settings/settings.ts";
import { outside } from "../time/async-context.ts";
import { Latch } from "../time/cancellation.ts";
import { validityLoss } from "../time/lease-clock.ts";
import { maxTimerDelay } from "../time/runtime.ts";
import { endedFromOutside, sleep, sleepUnless } from "../time/sleep.ts";

export interface OnceOptions extends Omit<AcquireOptions, "parent" | "waitTimeout" | "maxHoldTime"> {
  /**
   * How long nobody else runs the job, ms, from the grant on. With `at`: more than the time by which the last instance can
   * be later than the first. Without: the interval, less the time by which ticks can come early.
   */
  readonly keepFor: number;
  /**
   * The time that the job is scheduled for, the same in all instances; a `Date`, or ms since the epoch. The resource is then
   * `name:2026-11-23T07:52:42.000Z`. Without it, the resource is `name`.
   */
  // biome-ignore lint/style/noRestrictedGlobals: a time that the caller names; no clock is read.
  readonly at?: Date | number | undefined;
  /**
   * The ttl of the lease while the routine runs, ms: if the process dies meanwhile, another one can run the job after this
   * time. Default 10,000, or `keepFor` if that is less.
   */
  readonly ttl?: number | undefined;
  /** Whether a routine that throws keeps others out as well. Default false: the lock is released. */
  readonly keepOnError?: boolean | undefined;
}

/** The outcome of a call of {@link once}. */
export type OnceResult<T> =
  | { readonly ran: true; readonly value: T }
  | {
      readonly ran: false;
      /** The Redlock that runs the job or has run it, if it has a name (the option `owner`) and still exists. */
      readonly owner: Owner | undefined;
      /** The time for which it keeps others out at most unless it extends that, ms; `Infinity` for a key without expiry. */
      readonly remaining: number;
    };

/** `RunCoordinator` of node-cron 4.6. */
export interface RunCoordinator {
  shouldRun(key: string, ttlMs: number): Promise<boolean>;
}

export interface RunCoordinatorOptions extends Omit<OnceOptions, "at" | "keepFor" | "ttl" | "keepOnError"> {
  /** As in {@link once}, ms. Default: the `distributedLease` of the task, 30,000 unless it says otherwise. */
  readonly keepFor?: number | undefined;
}

const place = placeOf(
  "once",
  ["parent", "waitTimeout", "maxHoldTime"],
  ["keepFor", "at", "ttl", "keepOnError"],
);
const coordinatorPlace = placeOf("runCoordinator", ["parent", "waitTimeout", "maxHoldTime"], ["keepFor"]);
const defaultTtl = 10_000;
/** The time for the first connections of a Redlock, ms. */
const readyTimeout = 10_000;

/** One call, checked. */
interface Job {
  readonly redlock: Redlock;
  readonly resource: string;
  readonly keepFor: number;
  readonly ttl: number;
  readonly keepOnError: boolean;
  /** The options of `acquire`. */
  readonly options: AcquireOptions;
  readonly settings: Settings;
}

/**
 * Of all processes that call this for the same `name` (and the same `at`), one runs `routine`; the others resolve to `{ ran:
 * false }` at once. The lock is kept extended while the routine runs, and then kept until `keepFor` ms after the grant,
 * whatever becomes of this process and its Redlock. A routine that throws releases it, and a process that dies loses it within `ttl`.
 *
 * While no quorum of masters decides, it tries again, as the settings say (`retryCount`, `retryDelay`). The first call on a Redlock waits for
 * its connections before that.
 * @throws what `acquire` throws, then what the routine throws. LockLostError if the lock was lost before the routine had
 * ended: another process may run the job as well. InvalidArgumentError before anything is sent.
 * @example
 * ```ts
 * const result = await once(redlock, "report", { at: scheduled, keepFor: 60_000 }, (signal) => work(signal));
 * if (!result.ran) console.log("runs elsewhere", result.owner?.name);
 * ```
 */
export async function once<T>(
  redlock: Redlock,
  name: string,
  options: OnceOptions,
  routine: Routine<T>,
): Promise<OnceResult<T>> {
  routineAmong("once", undefined, [options, routine]);
  const job = jobOf(redlock, name, options);
  const answer = await tryUntilDecided(job);
  if (!(answer instanceof Lock)) return answer;
  const { ttl, settings } = job;
  return runWithLock(answer, ttl, settings, job.options.signal, (signal, lock) =>
    runAndKeep(job, routine, signal, lock),
  );
}

/**
 * For node-cron 4.6: of all instances that schedule a task with the same `name` and `distributed: true`, one runs it at each
 * time. If no quorum of masters answers, it rejects, and node-cron skips the run.
 * @throws InvalidArgumentError
 * @example
 * ```ts
 * cron.setRunCoordinator(runCoordinator(redlock));
 * cron.schedule("0 3 * * *", () => work(signal), { name: "report", distributed: true });
 * ```
 */
export function runCoordinator(redlock: Redlock, options?: RunCoordinatorOptions): RunCoordinator {
  const settings = Redlock.internalsOf(redlock).settingsFor(options, coordinatorPlace);
  const { keepFor, ...rest } = options ?? {};
  if (keepFor !== undefined && keepFor !== null) checkKeepFor(keepFor, settings);
  return {
    // The key has the scheduled time: `report:2026-11-23T03:00:00.000Z`.
    shouldRun: async (key, ttlMs) => {
      const { ran } = await once(redlock, key, { ...rest, keepFor: keepFor ?? ttlMs }, () => {});
      return ran;
    },
  };
}

function jobOf(redlock: Redlock, name: string, given: OnceOptions): Job {
  const settings = Redlock.internalsOf(redlock).settingsFor(given, place);
  checkName("job", name);
  const { keepFor, at, ttl, keepOnError, ...options } = given ?? ({} as OnceOptions);
  checkKeepFor(keepFor, settings);
  const resource = at === undefined || at === null ? name : `${name}:${isoTimeOf(at)}`;
  const leaseTtl = ttl ?? Math.min(defaultTtl, keepFor);
  checkHolding(leaseTtl, { ...settings, maxHoldTime: undefined }, options.automaticExtensionThreshold);
  if (leaseTtl > keepFor) {
    throw new InvalidArgumentError(
      `ttl must not be above keepFor, but ${leaseTtl} ms is above ${keepFor} ms`,
    );
  }
  return {
    redlock,
    resource,
    keepFor,
    ttl: leaseTtl,
    keepOnError: keepOnError ?? false,
    options,
    // A lock that ends before the routine does would let a second one in.
    settings: { ...settings, maxHoldTime: undefined },
  };
}

/** PROTOCOL 9.8: masters refuse a longer ttl. The job would have run by then. */
function checkKeepFor(keepFor: unknown, settings: Settings): void {
  const { maxTtl = Number.POSITIVE_INFINITY } = settings;
  checkTtlRange(keepFor, "keepFor");
  checkIsMeant("keepFor", keepFor, settings);
  if (keepFor <= maxTtl) return;
  throw new InvalidArgumentError(
    `keepFor must not be above the maxTtl of restartGuard, but ${keepFor} ms is above ${maxTtl} ms`,
  );
}

function isoTimeOf(at: unknown): string {
  // Of another realm as well, such as Jest's.
  const isDate = Object.prototype.toString.call(at) === "[object Date]";
  // biome-ignore lint/style/noRestrictedGlobals: a time that the caller names; no clock is read.
  const time = new Date(isDate || typeof at === "number" ? Number(at) : Number.NaN);
  if (!Number.isNaN(time.getTime())) return time.toISOString();
  throw new InvalidArgumentError(
    `at must be a valid Date, or milliseconds since the epoch, but is ${isDate ? "an invalid Date" : shown(at)}`,
  );
}

/**
 * Tries until the lock is granted, or a quorum of masters is seen to keep it for one other owner. A refusal alone does not show that: a few votes
 * of a process that died, or of rivals that gave up, refuse as well, and then nobody would run the job.
 */
async function tryUntilDecided(job: Job): Promise<Lock | (OnceResult<never> & { readonly ran: false })> {
  const { redlock, resource, ttl, options, settings, keepFor } = job;
  const { context, closed, attempt } = Redlock.internalsOf(redlock);
  const { runtime, clock } = context;
  // PROTOCOL 10.9: whoever had the lock at the time of this call may be through with the job, and the lock be free.
  const end = clock.now() + keepFor;
  await makeReady(job);
  let failure = new ExecutionError(`keepFor was over before a master was asked for "${resource}"`, []);
  for (let count = 1; ; count += 1) {
    const left = end - clock.now();
    // Less is no time-out.
    if (left < 1) break;
    try {
      // Only where it is too long: a given one bounds the wait for admission as well (PROTOCOL 12.10).
      const within = left < nodeTimeoutFor(ttl, settings) ? { ...options, nodeTimeout: left } : options;
      // Never nested in a lock that the caller holds: its lease would be shared, and could not be detached.
      const tried = await outside(() => attempt(resource, ttl, within));
      if (tried instanceof Lock && clock.now() < end) return tried;
      // Votes may be awaited for longer than that, after a stall of the process: they do not count either.
      if (tried instanceof Lock) {
        await Lock.releaseWithin(tried, settings);
        break;
      }
      if (!(tried instanceof ResourceLockedError)) throw tried;
      const { isKept, owner, remaining } = await stateOf(job);
      // PROTOCOL 10.9.
      if (isKept) return { ran: false, owner, remaining };
      // It says whether what is in the way is a lock at all.
      failure = tried;
    } catch (error) {
      if (!(error instanceof ExecutionError)) throw error;
      failure = error;
    }
    if (count === attemptsAllowed(settings)) break;
    const pause = Math.min(pauseBetween(settings, runtime, count), Math.max(0, end - clock.now()));
    await sleepUnless(runtime, pause, options.signal ?? undefined, closed);
  }
  throw failure;
}

async function makeReady({ redlock, keepFor, options }: Job): Promise<void> {
  if (Redlock.internalsOf(redlock).isReady) return;
  await redlock.ready({ timeout: Math.min(readyTimeout, keepFor), signal: options.signal });
}

/** The holder of the lock, by a reading of all masters; `isKept`: a quorum keeps it for the same owner. */
async function stateOf({ redlock, resource, ttl, options, settings }: Job): Promise<{
  readonly isKept: boolean;
  readonly owner: Owner | undefined;
  readonly remaining: number;
}> {
  const internals = Redlock.internalsOf(redlock);
  const { ended, forget } = endedFromOutside(options.signal, internals.closed, [resource]);
  // Within the limits of the call, since a master may hang (PROTOCOL 1.10).
  const inspecting = ended.race(internals.inspect([resource], nodeTimeoutFor(ttl, settings)));
  const found = await inspecting.finally(forget);
  if (!found) throw ended.reason!;
  const agreeing = found[0]!.filter(({ owner, disagrees }) => owner !== undefined && !disagrees);
  return {
    isKept: agreeing.length > 0,
    owner: agreeing.find(({ holder }) => holder !== undefined)?.holder,
    remaining: Math.max(0, ...agreeing.map((master) => master.remaining)),
  };
}

async function runAndKeep<T>(
  job: Job,
  routine: Routine<T>,
  signal: AbortSignal,
  lock: Lock,
): Promise<OnceResult<T>> {
  const { runtime } = Lock.leaseOf(lock).context;
  // A process that was suspended since the grant does not begin.
  throwIfEnded(lock);
  // PROTOCOL 10.9: from the grant on, by the clock that never shows too much time.
  const startedAt = runtime.monotonic();
  const left = (): number => Math.ceil(startedAt + job.keepFor - runtime.monotonic());
  let value: T;
  try {
    value = await routine(signal, lock);
  } catch (error) {
    // The error of the routine is reported, not that of the lock.
    if (job.keepOnError) await keep(job, lock, left).catch(() => {});
    throw error;
  }
  await keep(job, lock, left);
  return { ran: true, value };
}

/** Leaves the lock on the masters until nothing is `left()`. */
async function keep(job: Job, lock: Lock, left: () => number): Promise<void> {
  await extendTo(job, lock, left);
  throwIfEnded(lock);
  // `keepFor` is over: the end of the routine releases the lock.
  if (left() <= 0) return;
  const isTooLong = lock.remaining() > left();
  // PROTOCOL 10.9: neither this process nor `quit` shortens it from now on.
  const detached = await lock.detach();
  // The last extension went beyond `keepFor`. If the process ends before that, the keys expire within the ttl.
  const giveBack = () => Lock.releaseWithin(job.redlock.resume(detached), job.settings);
  if (isTooLong) giveBackAfter(left, giveBack, lock);
}

/** A timer may fire early, by the time that its turn has taken before: the time is read again then. */
function giveBackAfter(left: () => number, release: () => Promise<unknown>, lock: Lock): void {
  const { runtime } = Lock.leaseOf(lock).context;
  const giveBack = async (): Promise<unknown> => (left() > 0 ? wait() : release());
  const wait = (): void =>
    runtime
      .setTimer(() => void giveBack().catch(() => {}), Math.min(Math.max(1, left()), maxTimerDelay))
      .unref();
  wait();
}

/**
 * Extends the lock to the end of `keepFor`, net of drift. Asks for as long as the lock lasts; answers that come after the
 * `nodeTimeout` of their round extend it as well.
 */
async function extendTo(
  { redlock, ttl, keepFor, settings }: Job,
  lock: Lock,
  left: () => number,
): Promise<void> {
  const { runtime } = Lock.leaseOf(lock).context;
  const { nodeTimeout, driftFactor } = settings;
  const loss = validityLoss(keepFor, driftFactor);
  for (let count = 1; left() - loss > lock.remaining(); count += 1) {
    try {
      await redlock.extend(lock, Math.max(left(), ttl), { nodeTimeout, driftFactor, retryCount: 0 });
      return;
    } catch {
      // If the lock has ended, its loss is reported.
      if (lock.remaining() === 0) return;
      const pause = Math.min(pauseBetween(settings, runtime, count), lock.remaining() * retryFraction);
      await sleep(runtime, pause, new Latch());
    }
  }
}
