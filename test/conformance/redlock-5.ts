import { createRequire } from "node:module";
// The version of ioredis that redlock 5 was used with.
import { Redis } from "ioredis-5";
import { connected, cut } from "./clients.ts";
import type { Held, Library, Subject, SubjectOptions } from "./subject.ts";

interface Redlock5Lock {
  readonly value: string;
  readonly expiration: number;
  extend(duration: number): Promise<Redlock5Lock>;
  release(): Promise<unknown>;
}

interface Redlock5 {
  acquire(resources: string[], duration: number): Promise<Redlock5Lock>;
  using<T>(resources: string[], duration: number, routine: (signal: AbortSignal) => Promise<T>): Promise<T>;
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
  async open(urls, options) {
    const { database = 0 } = options;
    const clients = await connected(urls.map((url) => new Redis(url, { db: database })));
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

const systemNow = Date.now;

class Redlock5Subject implements Subject {
  readonly #clients: readonly Redis[];
  readonly #redlock: Redlock5;

  constructor(clients: readonly Redis[], redlock: Redlock5, wallClock: (() => number) | undefined) {
    this.#clients = clients;
    this.#redlock = redlock;
    // It reads the clock of the process, so that is what has to step; `disconnect` puts it back.
    if (wallClock) Date.now = wallClock;
  }

  async acquire(resource: string, ttl: number): Promise<Held> {
    return heldOf(await this.#redlock.acquire([resource], ttl));
  }

  using<T>(resource: string, ttl: number, routine: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.#redlock.using([resource], ttl, routine);
  }

  async extend(held: Held, ttl: number): Promise<Held> {
    return heldOf(await (held.lock as Redlock5Lock).extend(ttl));
  }

  release(held: Held): Promise<unknown> {
    return (held.lock as Redlock5Lock).release();
  }

  async select(database: number): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.select(database)));
  }

  onFault(listener: (error: unknown) => void): void {
    this.#redlock.on("error", listener);
  }

  quit(): Promise<void> {
    return this.#redlock.quit();
  }

  disconnect(): void {
    Date.now = systemNow;
    cut(this.#clients);
  }
}

function heldOf(lock: Redlock5Lock): Held {
  return { token: lock.value, remaining: () => lock.expiration - Date.now(), lock };
}
