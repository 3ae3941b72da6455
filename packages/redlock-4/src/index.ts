// oxlint-disable typescript/no-generated-empty-object-type -- the Disposer of Bluebird has no members.
import type { EventEmitter } from "node:events";
import {
  type AcquireOptions,
  type Client,
  ClosedError,
  ExecutionError,
  InvalidArgumentError,
  type Lock as Lease,
  Redlock as Quorlock,
  type RedlockOptions,
  type Settings,
} from "@quorlock/redlock";
import { bluebird, type Disposer, type Done, type Promised, promised } from "./promises.ts";

/** Not imported: of the CommonJS code that is published, a bundle of ES modules cannot require it. */
const Emitter: typeof EventEmitter = process.getBuiltinModule("node:events").EventEmitter;

/** One resource or several. */
type Names = string | string[];

/** The lock could not be had, extended or released. `cause`: the error of the client, which says why. */
class LockError extends Error {
  override readonly name = "LockError";
  /** Missing if it is about `unlock`; declared as in @types/redlock. */
  attempts: number;

  constructor(message = "Failed to lock the resource.", attempts?: number, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.attempts = attempts as number;
  }
}

/** A lock as redlock 4 has it: plain values, which a lock of another process may have as well. */
class Lock {
  redlock: Redlock;
  /** A list, if it comes from a Redlock. */
  resource: Names;
  value: string | null;
  /** By the wall clock, ms since the epoch; 0 from the call of `unlock` on. */
  expiration: number;
  attempts: number;
  attemptsRemaining: number | undefined;

  constructor(
    redlock: Redlock,
    resource: Names,
    value: string | null,
    expiration: number,
    attempts: number,
    attemptsRemaining?: number,
  ) {
    this.redlock = redlock;
    this.resource = resource;
    this.value = value;
    this.expiration = expiration;
    this.attempts = attempts;
    this.attemptsRemaining = attemptsRemaining;
  }

  unlock(callback?: Done<void>): Promised<void> {
    return this.redlock.unlock(this, callback);
  }

  extend(ttl: number, callback?: Done<Lock>): Promised<Lock> {
    return this.redlock.extend(this, ttl, callback);
  }

  /** Like a disposer without a handler: a lock that was lost is no error. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.unlock();
    } catch (error) {
      if (!(error instanceof LockError)) throw error;
    }
  }
}

/** The options of one call, or its callback. */
type Given = AcquireOptions | Done<Lock>;

type LockLike = Pick<Lock, "resource" | "value"> & Partial<Lock>;

interface Held {
  readonly lease: Lease;
  /** The time that a server has to answer for it, ms. */
  readonly nodeTimeout: number | undefined;
}

/** The ttl that is assumed of a lock that was made by hand, ms: a day. */
const unknownTtl = 86_400_000;

/**
 * At most this long one server is waited for, ms: redlock 4 waits without end. A silent server of a long lock holds a call
 * up for no longer.
 */
const maxNodeTimeout = 2000;

/** The API of redlock 4 on {@link Redlock.quorlock}. */
class Redlock extends Emitter {
  static readonly Lock: typeof Lock = Lock;
  static readonly LockError: typeof LockError = LockError;
  /** The Redlock of `@quorlock/redlock` that the locks come from. */
  readonly quorlock: Quorlock;
  driftFactor: number;
  retryCount: number;
  retryDelay: number;
  retryJitter: number;
  readonly #options: RedlockOptions;
  /** The locks that come from here. */
  readonly #held = new WeakMap<LockLike, Held>();
  /** Each ends the pause of a call before its next attempt. */
  readonly #pauses = new Set<() => void>();

  constructor(clients: Client[], options?: RedlockOptions | null) {
    super();
    for (const name of ["lockScript", "unlockScript", "extendScript"]) {
      if (options && (options as Readonly<Record<string, unknown>>)[name] !== undefined) {
        throw new InvalidArgumentError(
          `${name}: scripts of your own are not supported: those of Quorlock keep the locks safe`,
        );
      }
    }
    this.#options = { ...options, queue: options?.queue ?? false };
    this.quorlock = new Quorlock(clients, this.#options);
    this.quorlock.on("error", (error) => this.emit("clientError", error));
    const { driftFactor, retryCount, retryDelay, retryJitter } = this.quorlock.settings;
    this.driftFactor = driftFactor;
    this.retryCount = retryCount;
    this.retryDelay = retryDelay;
    this.retryJitter = retryJitter;
  }

  get servers(): Client[] {
    return [...this.quorlock.clients];
  }

  lock(resource: Names, ttl: number, callback?: Done<Lock>): Promised<Lock> {
    return promised(this.#lock(resource, ttl, undefined), callback);
  }

  acquire(resource: Names, ttl: number, callback?: Done<Lock>): Promised<Lock> {
    return promised(this.#lock(resource, ttl, undefined), callback);
  }

  /** As in redlock 4, a `retryCount` or `retryDelay` of 0 counts as absent here. */
  lockWithOptions(resource: Names, ttl: number, options?: Given, callback?: Done<Lock>): Promised<Lock> {
    if (typeof options === "function") return this.lock(resource, ttl, options);
    return promised(this.#lock(resource, ttl, options), callback);
  }

  acquireWithOptions(resource: Names, ttl: number, options?: Given, callback?: Done<Lock>): Promised<Lock> {
    return this.lockWithOptions(resource, ttl, options, callback);
  }

  /** For `Promise.using` of Bluebird. */
  disposer(resource: Names, ttl: number, errorHandler?: Done<void>): Disposer<Lock> {
    if (!bluebird) {
      throw new InvalidArgumentError(
        "disposer() needs Bluebird: npm install bluebird, or write `await using lock = await redlock.lock(resource, ttl)`",
      );
    }
    return bluebird
      .resolve(this.#lock(resource, ttl, undefined))
      .disposer((lock) => lock.unlock().catch(errorHandler ?? (() => {}))) as Disposer<Lock>;
  }

  unlock(lock: LockLike, callback?: Done<void>): Promised<void> {
    return promised(this.#unlock(lock), callback);
  }

  release(lock: LockLike, callback?: Done<void>): Promised<void> {
    return promised(this.#unlock(lock), callback);
  }

  extend<L extends LockLike>(lock: L, ttl: number, callback?: Done<L>): Promised<L> {
    return promised(this.#extend(lock, ttl), callback);
  }

  /** Ends all waiting calls, releases all held locks, and quits the clients. */
  quit(callback?: Done<void>): Promised<void> {
    const quitting = this.quorlock.quit().then(() => this.servers.map(() => "OK"));
    for (const end of this.#pauses) end();
    return promised<unknown>(quitting, callback as Done<unknown>) as Promised<void>;
  }

  async #lock(resource: Names, ttl: number, options: AcquireOptions | undefined): Promise<Lock> {
    const retryCount = options?.retryCount || this.retryCount;
    const retryDelay = options?.retryDelay || this.retryDelay;
    const settings = { ...this.#settingsOf(ttl), ...options, retryCount, retryDelay };
    const { queue, waitTimeout, backoff } = { ...this.#options, ...options };
    // Whoever asks for one of these waits as Quorlock does. Else each attempt is a call: attempts and pauses are those of redlock 4.
    const isWaiting = queue === true || (waitTimeout ?? backoff) !== undefined;
    const asked = isWaiting ? settings : { ...settings, retryCount: 0 };
    for (let count = 1; ; count += 1) {
      try {
        const lease = await this.quorlock.acquire(resource, ttl, asked);
        const attempts = isWaiting ? lease.attempts.length : count;
        const { resources, value, expiration } = lease;
        const lock = new Lock(this, resources, value, expiration, attempts, retryCount - attempts);
        this.#held.set(lock, { lease, nodeTimeout: settings.nodeTimeout });
        return lock;
      } catch (error) {
        const attempts = isWaiting ? attemptsIn(error) : count;
        const mayRetry = !isWaiting && (retryCount === -1 || count <= retryCount);
        if (!mayRetry || !(error instanceof ExecutionError))
          throw lockErrorOf(error, exceeded(retryCount, resource), attempts);
      }
      const jitter = Math.floor((Math.random() * 2 - 1) * this.retryJitter);
      await new Promise<void>((resolve) => {
        const end = (): void => {
          clearTimeout(timer);
          this.#pauses.delete(end);
          resolve();
        };
        const timer = setTimeout(end, Math.max(0, retryDelay + jitter));
        this.#pauses.add(end);
      });
    }
  }

  async #unlock(lock: LockLike): Promise<void> {
    lock.expiration = 0;
    const message = `Unable to fully release the lock on resource "${String(lock.resource)}".`;
    try {
      const { lease, nodeTimeout } = this.#leaseOf(lock);
      // Released once: whoever asks again is told that it is gone.
      this.#held.delete(lock);
      const { outcome } = await this.quorlock.release(lease, { nodeTimeout });
      if (outcome !== "released") throw new LockError(message);
    } catch (error) {
      throw lockErrorOf(error, message);
    }
  }

  async #extend<L extends LockLike>(lock: L, ttl: number): Promise<L> {
    const { resource, expiration = Number.POSITIVE_INFINITY } = lock;
    const expired = `Cannot extend lock on resource "${String(resource)}" because the lock has already expired.`;
    if (expiration < Date.now()) throw new LockError(expired, 0);
    try {
      const { lease } = this.#leaseOf(lock);
      const settings = { ...this.#settingsOf(ttl), retryCount: this.retryCount, retryDelay: this.retryDelay };
      await this.quorlock.extend(lease, ttl, settings);
      this.#held.set(lock, { lease, nodeTimeout: settings.nodeTimeout });
      lock.value = lease.value;
      lock.expiration = lease.expiration;
      return lock;
    } catch (error) {
      const attempts = attemptsIn(error);
      throw lockErrorOf(error, attempts === 0 ? expired : exceeded(this.retryCount, resource), attempts);
    }
  }

  /** The lease of a lock from here; otherwise one is resumed, which the masters know by the value. */
  #leaseOf(lock: LockLike): Held {
    const { resource, value } = lock;
    const resources = [resource].flat();
    const held = this.#held.get(lock);
    // (Its properties may have been changed.)
    const { lease: known } = held ?? {};
    if (held && known?.value === value && known.resources.join("\0") === resources.join("\0")) return held;
    const lease = this.quorlock.resume({ resources, value: value ?? "", ttl: unknownTtl });
    return { lease, nodeTimeout: this.#settingsOf(unknownTtl).nodeTimeout };
  }

  /**
   * A server has half of the time that the lock would be valid: so short locks work as in redlock 4, which waits for all
   * servers, however long, and each lock that is granted has half of its time.
   */
  #settingsOf(ttl: number): Partial<Settings<undefined>> {
    const { driftFactor, retryJitter } = this;
    const valid = ttl - ttl * driftFactor - 2;
    const time = Math.min(Math.max(1, valid / 2), maxNodeTimeout);
    // A ttl that is none has an error of its own.
    const nodeTimeout = this.#options.nodeTimeout ?? (ttl > 0 ? time : undefined);
    return { driftFactor, retryJitter, nodeTimeout };
  }
}

function exceeded(retryCount: number, resource: Names): string {
  return `Exceeded ${retryCount} attempts to lock the resource "${String(resource)}".`;
}

function attemptsIn(error: unknown): number {
  return error instanceof ExecutionError ? error.attempts.length : 0;
}

/** An error of the client as redlock 4 reports it. Those that redlock 4 does not know stay as they are. */
function lockErrorOf(error: unknown, message: string, attempts?: number): unknown {
  if (!(error instanceof ExecutionError || error instanceof ClosedError)) return error;
  return new LockError(message, attempts, error);
}

type LockClass = Lock;
type LockErrorClass = LockError;

/** The names of types that @types/redlock has. */
declare namespace Redlock {
  export type Lock = LockClass;
  export type LockError = LockErrorClass;
  export type Callback<T> = Done<T>;
  export type Options = RedlockOptions;
  export type CompatibleRedisClient = Client;
}

export default Redlock;
