/** A lock as its holder sees it. */
export interface Held {
  /** The value of the keys. */
  readonly token: string;
  /** Whether the library takes it for held, asked now. */
  isValid(): boolean;
  /** The time left as the library states it, ms, asked now. */
  remaining(): number;
  /** The library's own object. */
  readonly lock: unknown;
}

/** The calls that every lock library over Redis has in some form. Without `on...` and `quit` it has no such call. */
export interface Locker {
  /** Locks `resource` for `ttl` ms, or rejects. */
  acquire(resource: string, ttl: number): Promise<Held>;
  /**
   * Holds `resource`, kept extended, while `routine` runs; its signal aborts when the lock is lost. `lock` is the library's
   * own object, if it gives one to the routine.
   */
  using<T>(
    resource: string,
    ttl: number,
    routine: (signal: AbortSignal, lock?: unknown) => Promise<T>,
  ): Promise<T>;
  /** `ttl` ms more from now; resolves to the lock to go on with, which in some libraries is a new one. */
  extend(held: Held, ttl: number): Promise<Held>;
  release(held: Held): Promise<unknown>;
  /** One of `limit` permits, tried for once: how to give it back, or `undefined` if none is left. */
  permit(resource: string, limit: number, ttl: number): Promise<(() => Promise<unknown>) | undefined>;
  /** The faults that the library reports. */
  onFault?(listener: (error: unknown) => void): void;
  quit?(): Promise<void>;
}

/** Absent settings have the default of the library. */
export interface LockerSettings {
  /** Attempts after the first; -1 is without end. */
  readonly retryCount?: number | undefined;
  /** Between two attempts, ms, without jitter. */
  readonly retryDelay?: number | undefined;
  /** How long `acquire` tries, ms, with the pause between attempts that is best for the library. Not with `retryCount`. */
  readonly waitTimeout?: number | undefined;
  /** How long before the end `using` extends, ms. */
  readonly extensionThreshold?: number | undefined;
}

export interface Peer {
  readonly packageName: string;
  /** The prefix that the library puts before the name of a resource to make its key. Default: none. */
  readonly keyPrefix?: string;
  /** The library on clients of any version of ioredis. */
  on(clients: readonly object[], settings: LockerSettings): Locker;
}

/** A library that has no such call cannot fail at it. */
export class NotOfferedError extends Error {
  override readonly name = "NotOfferedError";
}

/** For a call that a library has not: rejects with the reason. */
export function notOffered(why: string): () => Promise<never> {
  return () => Promise.reject(new NotOfferedError(why));
}
