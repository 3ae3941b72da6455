// @ts-expect-error Its types are not found under "node20" resolution: its exports do not name them.
import Redlock5, * as names from "redlock";

// The part of redlock 5.0.0-beta.2's interface that code depends on, and that ours has as well.

export interface SharedSettings {
  driftFactor?: number;
  retryCount?: number;
  retryDelay?: number;
  retryJitter?: number;
  automaticExtensionThreshold?: number;
}

export interface SharedStats {
  readonly membershipSize: number;
  readonly quorumSize: number;
  readonly votesFor: ReadonlySet<object>;
  readonly votesAgainst: ReadonlyMap<object, Error>;
}

type Attempts = ReadonlyArray<Promise<SharedStats>>;

export interface SharedLock {
  readonly resources: readonly string[];
  readonly value: string;
  readonly attempts: Attempts;
  readonly expiration: number;
  release(): Promise<{ attempts: Attempts }>;
  extend(duration: number): Promise<SharedLock>;
}

type Routine<T> = (signal: AbortSignal & { error?: Error }) => Promise<T>;

export interface SharedRedlock {
  acquire(resources: string[], duration: number, settings?: SharedSettings): Promise<SharedLock>;
  release(lock: SharedLock, settings?: SharedSettings): Promise<{ attempts: Attempts }>;
  extend(lock: SharedLock, duration: number, settings?: SharedSettings): Promise<SharedLock>;
  using<T>(resources: string[], duration: number, routine: Routine<T>): Promise<T>;
  using<T>(resources: string[], duration: number, settings: SharedSettings, routine: Routine<T>): Promise<T>;
  on(event: "error", listener: (error: Error) => void): unknown;
  quit(): Promise<void>;
}

export interface RedlockModule {
  default: new (clients: Iterable<object>, settings?: SharedSettings) => SharedRedlock;
  ExecutionError: new (message: string, attempts: Attempts) => Error & { readonly attempts: Attempts };
  ResourceLockedError: new (message: string) => Error;
}

export const redlock5 = { ...(names as object), default: Redlock5 as unknown } as RedlockModule;
