/**
 * The few calls that every lock library over Redis has in some form. A case is written against these, so that
 * it runs on this client and on its peers alike. The benchmark has adapters of its own: it measures each library as it
 * is by default and with nothing in between, and a case sets what the defaults leave open. The simulator has a third
 * one for redlock 5, which runs on its time and its network.
 */
export interface Subject {
  /** The application's own, whose options ioredis looks at whenever it connects. */
  readonly clients: readonly { readonly options: object }[];
  /** Locks `resource` for `ttl` ms, or rejects. */
  acquire(resource: string, ttl: number): Promise<Held>;
  /**
   * Holds `resource`, kept extended, while `routine` runs; its signal aborts when the lock is lost. `lock` is the library's
   * own object, where it gives one to the routine.
   */
  using<T>(
    resource: string,
    ttl: number,
    routine: (signal: AbortSignal, lock?: unknown) => Promise<T>,
  ): Promise<T>;
  /** `ttl` ms more from now; resolves to the lock to go on with, which in some libraries is a new one. */
  extend(held: Held, ttl: number): Promise<Held>;
  release(held: Held): Promise<unknown>;
  /** One of `limit` permits, tried for once: how to give it back, or `undefined` where none is left. */
  permit(resource: string, limit: number, ttl: number): Promise<(() => Promise<unknown>) | undefined>;
  /** Gives a lock away, as text that travels. */
  detach?(held: Held): Promise<string>;
  /** Goes on, for `ttl` ms, with a lock that was given away. */
  resume?(detached: string, ttl: number): Promise<Held>;
  /** A lock to write, where many may read. Its key is `writeKeyOf(resource)`. */
  write?(resource: string, ttl: number): Promise<Held>;
  /** Switches the database of the clients that the library was given, at run time. */
  select(database: number): Promise<void>;
  /** The faults that the library reports. */
  onFault(listener: (error: unknown) => void): void;
  /** The library's own way to end. */
  quit(): Promise<void>;
  /** Cuts every connection at once, for when `quit` does not settle. */
  disconnect(): void;
}

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

/** Absent options have the default of the library. */
export interface SubjectOptions {
  /** Attempts after the first; -1 is without end. */
  readonly retryCount?: number;
  /** Between two attempts, ms, without jitter. */
  readonly retryDelay?: number;
  /** How long before the end `using` extends, ms. */
  readonly extensionThreshold?: number;
  /** The database that the clients are configured for. */
  readonly database?: number;
  /** The clients connect again where a server says that it is a replica. */
  readonly reconnectOnReadonly?: boolean;
  /** Stands in for the wall clock of the holder's machine: ms since the epoch. */
  readonly wallClock?: () => number;
  /** Where the library can: masters whose clocks are set are left out. */
  readonly clockWatch?: boolean;
  /** Where the library can: masters that may have forgotten votes give none for this time, ms. */
  readonly restartGuard?: number;
  /** Where the library can: who holds a lock may take it again. */
  readonly reentrant?: boolean;
}

export interface Library {
  readonly name: string;
  /** The name of the package that is imported or required. */
  readonly packageName: string;
  /** The prefix that the library puts before the name of a resource to make its key. Default: none. */
  readonly keyPrefix?: string;
  /** Why `using` is none of its own, where it only seems to have one. */
  readonly usingIsMadeUp?: string;
  /** A few lines that lock `resource` and release it, with the package as `loaded` and ioredis's `Redis`. */
  program(urls: readonly string[], resource: string): string;
  /** Connects to each master (or has failed to, once) and makes the library ready to lock. */
  open(urls: readonly string[], options: SubjectOptions): Promise<Subject>;
}

/** How long a library may take to quit before its connections are cut, ms. */
export const quitLimit = 2000;

/** A library that has no such call cannot fail at it: the table says so, and why, instead of a verdict. */
export class NotOfferedError extends Error {
  override readonly name = "NotOfferedError";
}

/** A call that only some libraries have. */
export function offered<K extends "detach" | "resume" | "write">(
  subject: Subject,
  name: K,
): NonNullable<Subject[K]> {
  const call = subject[name];
  if (!call) throw new NotOfferedError(`no such call: ${name}`);
  return call.bind(subject) as NonNullable<Subject[K]>;
}

/** For a call of {@link Subject} that a library has not: rejects with the reason. */
export function notOffered(why: string): () => Promise<never> {
  return () => Promise.reject(new NotOfferedError(why));
}
