import {
  AbortError,
  InvalidArgumentError,
  LockLostError,
  type RedlockError,
  ResourceLockedError,
} from "../errors.ts";
import type { Routine } from "../holding/lock.ts";
import { Lock } from "../holding/lock.ts";
import { runWithLock } from "../holding/using.ts";
import type { Inspection } from "../protocol/inspect.ts";
import { type AcquireOptions, Redlock, type RedlockInternals } from "../redlock.ts";
import { maxWaitOf, pauseBetween } from "../settings/backoff.ts";
import { placeOf, routineAmong } from "../settings/options.ts";
import { shown } from "../settings/ranges.ts";
import { checkName } from "../settings/resources.ts";
import {
  checkHolding,
  checkTtl,
  nodeTimeoutFor,
  type Settings,
  withoutWaiting,
} from "../settings/settings.ts";
import { isAwaitedByRoutineOf } from "../time/async-context.ts";
import { sleepUnless } from "../time/sleep.ts";
import { Slots } from "./semaphore-slots.ts";
import { SlotRace } from "./slot-race.ts";

export interface SemaphoreOptions extends Omit<AcquireOptions, "parent"> {
  /** The number of permits, granted together. Default 1. */
  readonly permits?: number | undefined;
}

/** The state of a semaphore. */
export interface SemaphoreInspection {
  /** The permits that some master has given, each by its key, with the state of the key on each master. */
  readonly permits: readonly { readonly resource: string; readonly masters: readonly Inspection[] }[];
  /** The waiters, by each master: the holder gets the next permit, and its `waiters` come after it. */
  readonly waiting: readonly Inspection[];
}

const optionsOwner = placeOf("the calls of a Semaphore", ["parent"], ["permits"]);
/** The maximum limit: the first waiter waits for every slot at once. */
const maxLimit = 10_000;
/** A waiter for more slots asks for each of them less often than it would for a single lock. */
const manySlots = 1000;
/** The maximum number of slots that `acquire` tries before it waits: each try costs a round. */
const maxGuesses = 3;
/**
 * The ttl of the admission lock, ms: a waiter that crashes while it holds that lock delays the others by this
 * at most.
 */
const defaultAdmissionTtl = 3000;

/** One call, with its settings. */
interface PermitRequest {
  readonly permits: number;
  readonly ttl: number;
  /** Without the semaphore's own options. */
  readonly options: AcquireOptions;
  readonly settings: Settings;
}

/**
 * At most `limit` permits at a time, on the same masters as the locks of `redlock`.
 *
 * A limit kept by each master separately does not hold over a majority: three masters that admit two each
 * make three holders (PROTOCOL 10.1). So there are `limit` slots, each a lock with a key of its own, and a
 * permit is the lock of one slot. Every guarantee of a lock holds for a permit.
 *
 * A call that finds no free slot waits in FIFO order: one at a time holds the admission lock, also an
 * ordinary lock, and waits for all slots at once. Only the order depends on the admission lock, never the
 * limit (PROTOCOL 10.2).
 */
export class Semaphore {
  readonly name: string;
  readonly limit: number;
  readonly #redlock: Redlock;
  readonly #internals: RedlockInternals;
  readonly #slots: Slots;
  readonly #admissionLock: string;
  /** The number of waiting calls. */
  #waitingCount = 0;
  /**
   * The latest time at which the first permit becomes free, or the next waiter is admitted, from the last
   * refusal; monotonic, ms.
   */
  #freeAt: number = Number.NEGATIVE_INFINITY;

  /**
   * @param name the name of the permits. The keys are `{name}:slot:0` and so on, and `{name}:admission` for
   * admission.
   * @param limit the number of permits, 1 to 10,000, the same for all clients.
   * @throws InvalidArgumentError, also on a Redis Cluster for a name that begins with `}`.
   */
  constructor(redlock: Redlock, name: string, limit: number) {
    this.#internals = Redlock.internalsOf(redlock);
    checkName("semaphore", name, this.#internals.context.hasCluster);
    checkCount("limit", limit, maxLimit);
    this.#redlock = redlock;
    this.#slots = new Slots(name, limit, this.#internals.context.runtime);
    this.#admissionLock = `{${name}}:admission`;
    this.name = name;
    this.limit = limit;
  }

  /**
   * Waits in FIFO order and acquires `permits` permits for `ttl` ms, as one lock over that number of slots.
   * @throws ResourceLockedError (with the semaphore's name) if too few became free in time; ExecutionError if
   * no quorum answered; AbortError; InvalidArgumentError before anything is sent.
   * @example
   * ```ts
   * const semaphore = new Semaphore(redlock, "api", 5);
   * await using permit = await semaphore.acquire(5_000, { waitTimeout: 2_000 });
   * ```
   */
  async acquire(ttl: number, options: SemaphoreOptions = {}): Promise<Lock> {
    const request = this.#requestOf(ttl, options);
    const { runtime } = this.#internals.context;
    const startedAt = runtime.monotonic();
    // Until that time, the last refusal of the calls that wait in this process applies to later ones as well.
    const isKnown = this.#waitingCount > 0 && this.#remaining > 0;
    const answer = isKnown ? undefined : await this.#tryFreeSlots(request, maxGuesses);
    if (answer instanceof Lock) return answer;
    const end = startedAt + maxWaitOf(request.settings, runtime);
    const left = () => Math.max(0, end - runtime.monotonic());
    this.#waitingCount += 1;
    try {
      return this.#recordGrant(await this.#wait(request, answer, left));
    } finally {
      this.#waitingCount -= 1;
    }
  }

  /**
   * The same without waiting: `null` if too few permits are free. Tries one slot after the other until one is
   * granted.
   * @throws ExecutionError if no quorum answered; AbortError; InvalidArgumentError.
   * @example
   * ```ts
   * const pair = await semaphore.tryAcquire(5_000, { permits: 2 });
   * if (pair === null) return; // fewer than two are free
   * ```
   */
  async tryAcquire(ttl: number, options: SemaphoreOptions = {}): Promise<Lock | null> {
    const answer = await this.#tryFreeSlots(this.#requestOf(ttl, options), this.limit);
    if (answer instanceof Lock) return answer;
    if (answer instanceof ResourceLockedError) return null;
    throw this.#named(answer);
  }

  /** The user knows no slot. */
  #named(error: unknown): unknown {
    return error instanceof AbortError ? new AbortError(error.cause, [this.name]) : error;
  }

  /**
   * Acquires permits, runs `routine` while they are kept extended, releases them, and returns the routine's
   * result, like {@link Redlock.using}.
   * @example
   * ```ts
   * const answer = await semaphore.using(5_000, (signal) => fetch(url, { signal }));
   * ```
   */
  using<T>(ttl: number, routine: Routine<T>): Promise<T>;
  using<T>(ttl: number, options: SemaphoreOptions | undefined, routine: Routine<T>): Promise<T>;
  async using<T>(
    ttl: number,
    ...given: [SemaphoreOptions | Routine<T> | undefined, Routine<T>?]
  ): Promise<T> {
    const { options = {}, routine } = routineAmong<SemaphoreOptions, Routine<T>>("using", ttl, given);
    const settings = this.#internals.settingsFor(options, optionsOwner);
    checkHolding(ttl, settings, options.automaticExtensionThreshold);
    return runWithLock(await this.acquire(ttl, options), ttl, settings, options.signal, routine);
  }

  /**
   * Returns who has permits and who waits for one, by each master, like {@link Redlock.inspect}. It asks for `limit` keys, 100 at
   * a time: for diagnosis.
   * @example
   * ```ts
   * const { permits, waiting } = await semaphore.inspect();
   * for (const { masters } of permits) console.log(masters[0]?.holder?.name);
   * ```
   */
  async inspect(): Promise<SemaphoreInspection> {
    const slots = this.#slots.all;
    const [waiting, ...found] = await this.#internals.inspect([this.#admissionLock, ...slots]);
    const permits = found.map((masters, index) => ({ resource: slots[index]!, masters }));
    const taken = permits.filter(({ masters }) => masters.some(({ owner }) => owner !== undefined));
    return { permits: taken, waiting: waiting! };
  }

  #requestOf(ttl: number, given: SemaphoreOptions): PermitRequest {
    const settings = this.#internals.settingsFor(given, optionsOwner);
    const { permits: count, ...options } = given ?? {};
    const permits = count ?? 1;
    checkCount("permits", permits, this.limit);
    checkTtl(ttl, settings);
    return { permits, ttl, options, settings };
  }

  /**
   * Tries slots until enough are granted together. A refusal names a taken slot; another one is tried in its
   * place.
   */
  async #tryFreeSlots(
    { permits, ttl, options, settings }: PermitRequest,
    guesses: number,
  ): Promise<Lock | RedlockError> {
    const refused = new Set<string>();
    // Released slots belong to the waiters. Without queues, waiters have no order.
    const admissionLock = this.#internals.context.isQueued ? this.#admissionLock : undefined;
    const request = { ttl, settings: withoutWaiting(settings), unless: admissionLock };
    let minRemaining = Number.POSITIVE_INFINITY;
    for (;;) {
      const slots = this.#slots.take(permits, refused);
      if (!slots) return this.#recordRefusal(minRemaining);
      const answer = await this.#internals.acquire({ ...request, resources: slots }, options.signal);
      if (answer instanceof Lock) return this.#recordGrant(answer);
      if (!(answer instanceof ResourceLockedError)) return answer;
      minRemaining = Math.min(minRemaining, answer.remaining);
      if (answer.resource === this.#admissionLock) return this.#recordRefusal(minRemaining, answer);
      refused.add(answer.resource);
      this.#slots.prefer(slots.filter((slot) => slot !== answer.resource));
      if (refused.size >= guesses) return this.#recordRefusal(minRemaining, answer);
    }
  }

  get #remaining(): number {
    return Math.max(0, this.#freeAt - this.#internals.context.runtime.monotonic());
  }

  /** A refusal of the whole semaphore: the first permit is free in `remaining` ms. */
  #recordRefusal(remaining: number, { attempts }: Partial<ResourceLockedError> = {}): ResourceLockedError {
    this.#freeAt = this.#internals.context.runtime.monotonic() + remaining;
    return new ResourceLockedError(this.name, remaining, attempts);
  }

  /** A separate error for each caller, with the time that remains now of the last refusal. */
  #refusalOf({ attempts }: Partial<ResourceLockedError> = {}): ResourceLockedError {
    const { leases } = this.#internals.context;
    const held = [...leases].filter(({ resources }) => this.#slots.has(resources[0]!));
    const own = held.reduce((sum, { resources }) => sum + resources.length, 0);
    const isNested = held.some(({ resources }) => isAwaitedByRoutineOf(resources));
    const why = isNested ? " (a call nested in one waits for itself: semaphores cannot be nested)" : "";
    const holder = `this same Redlock, which has ${own} of ${this.limit} permits${why}`;
    return new ResourceLockedError(this.name, this.#remaining, attempts, own > 0 ? holder : undefined);
  }

  async #wait(request: PermitRequest, answer: RedlockError | undefined, left: () => number): Promise<Lock> {
    const refusal = answer instanceof ResourceLockedError ? answer : undefined;
    let failure = refusal ? undefined : answer;
    const { context, closed } = this.#internals;
    for (let setbacks = 0; ; ) {
      if (left() === 0) throw failure ?? this.#refusalOf(refusal);
      try {
        const granted = await this.#waitForAdmission(request, left);
        if (granted instanceof Lock) return granted;
        // Permits were free, but the masters have not granted them with `minimumValidity` left.
        failure = granted;
        setbacks += 1;
        // Outside of the order of the waiters.
        const pause = Math.min(left(), pauseBetween(request.settings, context.runtime, setbacks));
        await sleepUnless(context.runtime, pause, request.options.signal, closed);
      } catch (error) {
        if (error instanceof ResourceLockedError) {
          // The remaining time of the admission lock says nothing about the permits, only when the next
          // waiter is admitted.
          if (error.resource !== this.#admissionLock || this.#remaining === 0)
            this.#recordRefusal(error.remaining);
          throw this.#refusalOf(error);
        }
        // The admission lock was lost, because this process was suspended or the masters were unreachable:
        // wait again.
        const isOut = error instanceof AbortError && error.cause instanceof LockLostError;
        if (!isOut || request.options.signal?.aborted) throw this.#named(error);
      }
    }
  }

  /** Waits for the admission lock, and holding it, for the slots. Resolves to the error if the masters do not grant free ones. */
  #waitForAdmission(request: PermitRequest, left: () => number): Promise<Lock | RedlockError> {
    const { ttl, settings } = request;
    // The threshold applies to the permits, and so do the settings replaced here.
    const { automaticExtensionThreshold: _, ...options } = request.options;
    // The masters are as far away as for the permits, although the admission lock has a shorter ttl.
    const nodeTimeout = nodeTimeoutFor(ttl, settings);
    const admissionTtl = Math.min(ttl, Math.max(defaultAdmissionTtl, Math.ceil(10 * nodeTimeout)));
    const lasting = { minimumValidity: 0, maxHoldTime: Number.POSITIVE_INFINITY };
    const overrides = { ...lasting, nodeTimeout, waitTimeout: left() };
    const admissionOptions = { ...options, ...overrides };
    return new Promise((resolve, reject) => {
      const admitted = async (signal: AbortSignal): Promise<Lock | RedlockError> => {
        const answer = await this.#acquireFreedSlots(request, signal, left);
        // The admission lock is released after the grant: only the next waiter waits for that.
        if (answer instanceof Lock) resolve(answer);
        return answer;
      };
      this.#redlock
        .using(this.#admissionLock, admissionTtl, admissionOptions, admitted)
        .then(resolve, reject);
    });
  }

  /** With the admission lock: acquires the first slots that are released, or returns why the masters do not grant them. */
  async #acquireFreedSlots(
    { permits, ttl, settings }: PermitRequest,
    signal: AbortSignal,
    left: () => number,
  ): Promise<Lock | RedlockError> {
    // PROTOCOL 10.2: a backoff with the admission lock would delay all other waiters.
    const acquire = (slot: string, signal: AbortSignal, delay: number): Promise<Lock | RedlockError> => {
      const waiting = { ...settings, minimumValidity: 0, waitTimeout: left() + delay };
      // One slot a millisecond on average.
      const minHeartbeat = this.limit > manySlots ? this.limit : 0;
      const request = { resources: [slot], ttl, settings: waiting, minHeartbeat };
      return this.#internals.acquire(request, signal);
    };
    for (;;) {
      const { runtime } = this.#internals.context;
      const terms = { runtime, slots: this.#slots.all, count: permits, ttl, settings, signal, left };
      const held = await new SlotRace({ ...terms, acquire }).run();
      if (permits === 1 && held[0]!.remaining() > settings.minimumValidity) return held[0]!;
      // Several slots become one lock, and one with too little time left is voted for again: sent in the same turn, the vote reaches each master right after the
      // releases.
      for (const lock of held) void lock.release();
      const resources = held.flatMap((lock) => lock.resources);
      const once = withoutWaiting(settings);
      const answer = await this.#internals.acquire({ resources, ttl, settings: once }, signal);
      if (!(answer instanceof ResourceLockedError)) return answer;
      if (left() === 0) throw answer;
    }
  }

  #recordGrant(lock: Lock): Lock {
    // A permit was free, so the last refusal no longer applies. This permit is free by then.
    this.#freeAt = this.#internals.context.runtime.monotonic() + lock.remaining();
    Lock.leaseOf(lock).onEnd(() => this.#slots.prefer(lock.resources));
    return lock;
  }
}

function checkCount(name: string, count: number, max: number): void {
  if (Number.isSafeInteger(count) && count >= 1 && count <= max) return;
  throw new InvalidArgumentError(`${name} must be a whole number from 1 to ${max}, but is ${shown(count)}`);
}
