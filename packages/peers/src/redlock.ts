import { createRequire } from "node:module";
import { type Held, type Locker, type LockerSettings, notOffered, type Peer } from "./peer.ts";

// The interface of redlock 5.0.0-beta.2, as far as it is used; its own types are not found by TypeScript.

export interface Redlock5Settings {
  readonly driftFactor?: number;
  readonly retryCount?: number;
  readonly retryDelay?: number;
  readonly retryJitter?: number;
  readonly automaticExtensionThreshold?: number;
}

export interface Redlock5Lock {
  readonly resources: readonly string[];
  readonly value: string;
  readonly expiration: number;
  extend(duration: number): Promise<Redlock5Lock>;
  release(): Promise<unknown>;
}

export interface Redlock5ExecutionError extends Error {
  readonly attempts: ReadonlyArray<Promise<{ readonly votesAgainst: ReadonlyMap<unknown, Error> }>>;
}

export interface Redlock5 {
  readonly scripts: Readonly<Record<string, { readonly value: string; readonly hash: string }>>;
  acquire(resources: string[], duration: number, settings?: Redlock5Settings): Promise<Redlock5Lock>;
  extend(lock: Redlock5Lock, duration: number): Promise<Redlock5Lock>;
  using<T>(
    resources: string[],
    duration: number,
    settings: Redlock5Settings,
    routine: (signal: AbortSignal) => Promise<T>,
  ): Promise<T>;
  on(event: "error", listener: (error: unknown) => void): unknown;
  quit(): Promise<void>;
}

export type Redlock5Class = new (clients: Iterable<object>, settings?: Redlock5Settings) => Redlock5;

/**
 * Pause between two attempts, ms: the default of redlock 5 (with a jitter of 100). Of 1 to 200 ms it performs best under
 * contention: a failed attempt leaves its votes behind, so shorter pauses make attempts block each other more.
 */
const bestDelay = 200;

function settingsFrom(settings: LockerSettings): Redlock5Settings {
  const { retryCount, retryDelay, waitTimeout, extensionThreshold } = settings;
  return {
    ...(waitTimeout !== undefined && {
      retryDelay: bestDelay,
      retryCount: Math.ceil(waitTimeout / bestDelay),
    }),
    ...(retryCount !== undefined && { retryCount }),
    ...(retryDelay !== undefined && { retryDelay, retryJitter: 0 }),
    ...(extensionThreshold !== undefined && { automaticExtensionThreshold: extensionThreshold }),
  };
}

/** Its default threshold does for 600 ms and more; for less its users have to give one. */
function thresholdFor(ttl: number): Redlock5Settings {
  return ttl < 600 ? { automaticExtensionThreshold: ttl - 100 } : {};
}

function heldOf(lock: Redlock5Lock): Held {
  const remaining = () => lock.expiration - Date.now();
  return { token: lock.value, isValid: () => remaining() > 0, remaining, lock };
}

function ownOf({ lock }: Held): Redlock5Lock {
  return lock as Redlock5Lock;
}

function lockerOn(Redlock: Redlock5Class, clients: readonly object[], settings: LockerSettings): Locker {
  const redlock = new Redlock(clients, settingsFrom(settings));
  return {
    acquire: async (resource, ttl) => heldOf(await redlock.acquire([resource], ttl)),
    using: (resource, ttl, routine) => redlock.using([resource], ttl, thresholdFor(ttl), routine),
    extend: async (held, ttl) => heldOf(await ownOf(held).extend(ttl)),
    release: (held) => ownOf(held).release(),
    permit: notOffered("no semaphore"),
    onFault: (listener) => void redlock.on("error", listener),
    quit: () => redlock.quit(),
  };
}

const load = createRequire(import.meta.url);

/** redlock 5.0.0-beta.2, or its fork, which has the same calls. */
export function redlockOf(packageName: string): Peer {
  const module = load(packageName) as { readonly default?: Redlock5Class; readonly Redlock: Redlock5Class };
  const Redlock = module.default ?? module.Redlock;
  return {
    packageName,
    on: (clients, settings) => lockerOn(Redlock, clients, settings),
  };
}
