import {
  AbortError,
  InvalidArgumentError,
  LockLostError,
  type RedlockError,
  ResourceLockedError,
} from "../errors.ts";
import { Lock } from "../holding/lock.ts";
import { type Routine, runWithLock } from "../holding/using.ts";
import { type AcquireOptions, Redlock, type RedlockInternals } from "../redlock.ts";
import { routineAmong } from "../settings/options.ts";
import { shown } from "../settings/ranges.ts";
import { checkName } from "../settings/resources.ts";
import { checkHolding, checkTtl, nodeTimeoutFor, type Settings } from "../settings/settings.ts";
import { Slots } from "./semaphore-slots.ts";
import { SlotRace } from "./slot-race.ts";

export interface SemaphoreOptions extends Omit<AcquireOptions, "parent"> {
  /** How many permits: all of them, or none. Default 1. */
  readonly permits?: number | undefined;
}

const place = "the calls of a Semaphore";
/** The one at the head of the line waits for every slot at once. */
const largestLimit = 10_000;
/** So many slots does `acquire` try before it joins the line: one after the other they cost a round each. */
const mostGuesses = 3;
/** A process that dies at the head of the line holds up the others for this time at most, ms. */
const usualTurnstileTtl = 3000;

/** What one call wants, with the settings that it is asked for with. */
interface LockRequest {
  readonly permits: number;
  readonly ttl: number;
  /** Without those that are the semaphore's own. */
  readonly options: AcquireOptions;
  readonly settings: Settings;
}

/**
 * At most `limit` permits at a time, over the same masters as the locks of `redlock`.
 *
 * A limit that each master keeps for itself is none over a majority of them: three masters that each let two in make
 * three holders (PROTOCOL 10.1). So there are `limit` slots, each a lock with a key of its own, and a permit is the lock
 * of one of them: whatever is true of a lock is true of a permit.
 *
 * Who finds no free slot waits, first come first served: one at a time goes through a turnstile, an ordinary lock as
 * well, and waits for all slots at once. Only the order rests on the turnstile, never the limit (PROTOCOL 10.2).
 */
export class Semaphore {
  readonly name: string;
  readonly limit: number;
  readonly #redlock: Redlock;
  readonly #inside: RedlockInternals;
  readonly #slots: Slots;
  readonly #turnstile: string;
  /** Calls that wait in line. */
  #waiting = 0;
  /** When the first permit is free at the latest, or the line moves on, by the last refusal; monotonic, ms. */
  #freeAt: number = Number.NEGATIVE_INFINITY;

  /**
   * @param name what the permits are for. The keys are `{name}:slot:0` and so on, and `{name}:turnstile`.
   * @param limit how many permits there are, 1 to 10,000; every client has to give the same.
   * @throws InvalidArgumentError
   */
  constructor(redlock: Redlock, name: string, limit: number) {
    this.#inside = Redlock.internalsOf(redlock);
    checkName("semaphore", name);
    checkCount("limit", limit, largestLimit);
    this.#redlock = redlock;
    this.#slots = new Slots(name, limit, this.#inside.context.runtime);
    this.#turnstile = `{${name}}:turnstile`;
    this.name = name;
    this.limit = limit;
  }

  /**
   * Waits for its turn and takes `permits` permits for `ttl` ms: one lock over as many slots.
   * @throws ResourceLockedError (of this semaphore's name) when there were too few in time; ExecutionError when no
   * quorum answered; AbortError; InvalidArgumentError before anything is sent.
   */
  async acquire(ttl: number, options: SemaphoreOptions = {}): Promise<Lock> {
    const request = this.#wishOf(ttl, options);
    const { runtime } = this.#inside.context;
    const end = runtime.monotonic() + patienceOf(request.settings);
    const left = () => Math.max(0, end - runtime.monotonic());
    // What those of this process who wait were told is true for whoever comes behind them, until that time is over.
    const isKnown = this.#waiting > 0 && this.#remaining > 0;
    const answer = isKnown ? undefined : await this.#look(request, mostGuesses);
    if (answer instanceof Lock) return answer;
    this.#waiting += 1;
    try {
      return this.#granted(await this.#wait(request, answer, left));
    } finally {
      this.#waiting -= 1;
    }
  }

  /**
   * The same without waiting: `null` when too few are free. Asks for one slot after the other until one is granted.
   * @throws ExecutionError when no quorum answered; AbortError; InvalidArgumentError.
   */
  async tryAcquire(ttl: number, options: SemaphoreOptions = {}): Promise<Lock | null> {
    const answer = await this.#look(this.#wishOf(ttl, options), this.limit);
    if (answer instanceof Lock) return answer;
    if (answer instanceof ResourceLockedError) return null;
    throw answer;
  }

  /**
   * Acquires, runs `routine` while the permits are kept extended, gives them back, and comes to what the routine came
   * to; as {@link Redlock.using}.
   */
  using<T>(ttl: number, routine: Routine<T>): Promise<T>;
  using<T>(ttl: number, options: SemaphoreOptions | undefined, routine: Routine<T>): Promise<T>;
  async using<T>(
    ttl: number,
    optionsOrRoutine: SemaphoreOptions | Routine<T> | undefined,
    routineAfterOptions?: Routine<T>,
  ): Promise<T> {
    const { options = {}, routine } = routineAmong<SemaphoreOptions, Routine<T>>(
      "using",
      ttl,
      optionsOrRoutine,
      routineAfterOptions,
    );
    const settings = this.#inside.settingsFor(options, place);
    checkHolding(ttl, settings, options.automaticExtensionThreshold);
    return runWithLock(await this.acquire(ttl, options), ttl, settings, options.signal, routine);
  }

  #wishOf(ttl: number, given: SemaphoreOptions): LockRequest {
    const settings = this.#inside.settingsFor(given, place);
    const { permits = 1, ...options } = given ?? {};
    checkCount("permits", permits, this.limit);
    checkTtl(ttl, settings);
    return { permits, ttl, options, settings };
  }

  /** Tries slots until enough are granted together: a refusal names one that is taken, and another comes in its place. */
  async #look(
    { permits, ttl, options, settings }: LockRequest,
    guesses: number,
  ): Promise<Lock | RedlockError> {
    const refused = new Set<string>();
    // What is freed is for those who wait. (Without queues nobody waits in any order.)
    const behind = this.#inside.context.isQueued ? this.#turnstile : undefined;
    const settingsHere = { ...once(settings), ...(behind && { behind }) };
    let soonest = Number.POSITIVE_INFINITY;
    for (;;) {
      const slots = this.#slots.take(permits, refused);
      if (!slots) return this.#refused(soonest);
      const answer = await this.#inside.acquire(slots, ttl, settingsHere, options.signal);
      if (answer instanceof Lock) return this.#granted(answer);
      if (!(answer instanceof ResourceLockedError)) return answer;
      soonest = Math.min(soonest, answer.remaining);
      if (answer.resource === this.#turnstile) return this.#refused(soonest, answer);
      refused.add(answer.resource);
      this.#slots.prefer(slots.filter((slot) => slot !== answer.resource));
      if (refused.size >= guesses) return this.#refused(soonest, answer);
    }
  }

  get #remaining(): number {
    return Math.max(0, this.#freeAt - this.#inside.context.runtime.monotonic());
  }

  /** As a refusal of the whole semaphore, which says that the first permit is free in `remaining` ms. */
  #refused(remaining: number, { attempts }: Partial<ResourceLockedError> = {}): ResourceLockedError {
    this.#freeAt = this.#inside.context.runtime.monotonic() + remaining;
    return new ResourceLockedError(this.name, remaining, attempts);
  }

  /** An error of the caller's own, with what is left now of what the last refusal said. */
  #refusal({ attempts }: Partial<ResourceLockedError> = {}): ResourceLockedError {
    const { leases } = this.#inside.context;
    const slots = new Set(this.#slots.all);
    const own = [...leases].flatMap(({ resources }) => resources).filter((slot) => slots.has(slot)).length;
    const holder = `this same Redlock, which has ${own} of ${this.limit} permits (a call from inside of one waits for itself: semaphores cannot be nested)`;
    return new ResourceLockedError(this.name, this.#remaining, attempts, own > 0 ? holder : undefined);
  }

  async #wait(request: LockRequest, answer: RedlockError | undefined, left: () => number): Promise<Lock> {
    const refusal = answer instanceof ResourceLockedError ? answer : undefined;
    for (;;) {
      if (left() === 0) throw refusal || !answer ? this.#refusal(refusal) : answer;
      try {
        return await this.#passTurnstile(request, left);
      } catch (error) {
        if (error instanceof ResourceLockedError) {
          // How long the turnstile is still taken says nothing of the permits, but when the line moves on.
          if (error.resource !== this.#turnstile || this.#remaining === 0) this.#refused(error.remaining);
          throw this.#refusal(error);
        }
        // The turnstile itself was lost, because this process stood still or the masters were away: back into line.
        const isOut = error instanceof AbortError && error.cause instanceof LockLostError;
        if (!isOut || request.options.signal?.aborted) throw error;
      }
    }
  }

  /** Waits in line, and at its head for the slots. */
  #passTurnstile(request: LockRequest, left: () => number): Promise<Lock> {
    const { ttl, settings } = request;
    // The threshold is about the permits, and so is what is set anew.
    const { automaticExtensionThreshold: _, ...options } = request.options;
    // The masters are as far away as for the permits, although the turnstile lives shorter.
    const nodeTimeout = nodeTimeoutFor(ttl, settings);
    const turnstileTtl = Math.min(ttl, Math.max(usualTurnstileTtl, Math.ceil(10 * nodeTimeout)));
    const permanent = { minimumValidity: 0, maxHoldTime: Number.POSITIVE_INFINITY };
    const anew = { ...permanent, nodeTimeout, waitTimeout: left() };
    return new Promise((resolve, reject) => {
      const waiting = { ...options, ...anew };
      const passing = this.#redlock.using(this.#turnstile, turnstileTtl, waiting, async (signal) => {
        // Given back behind the grant: only the next in line waits for that.
        resolve(await this.#gather(request, signal, left));
      });
      passing.catch(reject);
    });
  }

  /** At the head of the line: the slots that are freed first. */
  async #gather(
    { permits, ttl, settings }: LockRequest,
    signal: AbortSignal,
    left: () => number,
  ): Promise<Lock> {
    const acquire = (slot: string, signal: AbortSignal): Promise<Lock | RedlockError> =>
      this.#inside.acquire([slot], ttl, { ...settings, waitTimeout: left() }, signal);
    for (;;) {
      const race = new SlotRace({ slots: this.#slots.all, count: permits, ttl, settings, signal, acquire });
      const held = await race.run();
      if (permits === 1) return held[0]!;
      // Several become one lock: sent in the same turn, the vote comes to each master right behind the releases.
      for (const lock of held) void lock.release();
      const slots = held.flatMap(({ resources }) => resources);
      const answer = await this.#inside.acquire(slots, ttl, once(settings), signal);
      if (answer instanceof Lock) return answer;
      if (left() === 0) throw answer;
    }
  }

  #granted(lock: Lock): Lock {
    // A permit was free, so what was told before is over: this one is free by then.
    this.#freeAt = this.#inside.context.runtime.monotonic() + lock.remaining();
    Lock.leaseOf(lock).onEnd(() => this.#slots.prefer(lock.resources));
    return lock;
  }
}

/** Without waiting. */
function once(settings: Settings): Settings {
  return { ...settings, retryCount: 0, waitTimeout: undefined };
}

/** How long `acquire` waits by these settings, ms. */
function patienceOf({ waitTimeout, retryCount, retryDelay }: Settings): number {
  return waitTimeout ?? (retryCount === -1 ? Number.POSITIVE_INFINITY : retryCount * retryDelay);
}

function checkCount(what: string, count: number, most: number): void {
  if (Number.isSafeInteger(count) && count >= 1 && count <= most) return;
  throw new InvalidArgumentError(`${what} must be a whole number from 1 to ${most}, but is ${shown(count)}`);
}
