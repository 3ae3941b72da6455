import { createRequire } from "node:module";
// The version of ioredis that redlock 5 was used with.
import { Redis } from "ioredis-5";
import { ClientsOf, clientOptions, connected } from "./clients.ts";
import { redlockProgram } from "./redlock-program.ts";
import { type Held, type Library, notOffered, type Subject, type SubjectOptions } from "./subject.ts";

interface Redlock5Lock {
  readonly value: string;
  readonly expiration: number;
  extend(duration: number): Promise<Redlock5Lock>;
  release(): Promise<unknown>;
}

interface Redlock5 {
  acquire(resources: string[], duration: number): Promise<Redlock5Lock>;
  using<T>(
    resources: string[],
    duration: number,
    settings: Readonly<Record<string, number>>,
    routine: (signal: AbortSignal) => Promise<T>,
  ): Promise<T>;
  on(event: "error", listener: (error: unknown) => void): unknown;
  quit(): Promise<void>;
}

// Its declarations cannot be found under module node20 (row 21), so what is used of it is declared above.
const { default: Redlock } = createRequire(import.meta.url)("redlock") as {
  default: new (clients: readonly Redis[], settings: Readonly<Record<string, number>>) => Redlock5;
};

/** redlock 5.0.0-beta.2. */
export const redlock5: Library = {
  name: "redlock-5",
  packageName: "redlock",
  program: redlockProgram,
  async open(urls, options) {
    const clients = await connected(urls.map((url) => new Redis(url, clientOptions(options))));
    return new Redlock5Subject(clients, new Redlock(clients, settingsFrom(options)), options.wallClock);
  },
};

function settingsFrom(options: SubjectOptions): Record<string, number> {
  const { retryCount, retryDelay, extensionThreshold } = options;
  return {
    ...(retryCount !== undefined && { retryCount }),
    ...(retryDelay !== undefined && { retryDelay, retryJitter: 0 }),
    ...(extensionThreshold !== undefined && { automaticExtensionThreshold: extensionThreshold }),
  };
}

/** Its default threshold does for 600 ms and more; for less its users have to give one. */
function thresholdFor(ttl: number): Record<string, number> {
  return ttl < 600 ? { automaticExtensionThreshold: ttl - 100 } : {};
}

class Redlock5Subject extends ClientsOf<Redis> implements Subject {
  readonly #redlock: Redlock5;

  constructor(clients: readonly Redis[], redlock: Redlock5, wallClock: (() => number) | undefined) {
    super(clients, wallClock);
    this.#redlock = redlock;
  }

  async acquire(resource: string, ttl: number): Promise<Held> {
    return heldOf(await this.#redlock.acquire([resource], ttl));
  }

  using<T>(resource: string, ttl: number, routine: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.#redlock.using([resource], ttl, thresholdFor(ttl), routine);
  }

  async extend(held: Held, ttl: number): Promise<Held> {
    return heldOf(await (held.lock as Redlock5Lock).extend(ttl));
  }

  release(held: Held): Promise<unknown> {
    return (held.lock as Redlock5Lock).release();
  }

  permit = notOffered("no semaphore");

  override onFault(listener: (error: unknown) => void): void {
    this.#redlock.on("error", listener);
  }

  override quit(): Promise<void> {
    return this.#redlock.quit();
  }
}

function heldOf(lock: Redlock5Lock): Held {
  const remaining = () => lock.expiration - Date.now();
  return { token: lock.value, isValid: () => remaining() > 0, remaining, lock };
}
