import { type Lock, Redlock, type RedlockOptions, systemRuntime } from "@quorlock/redlock";
import { ReadWriteLock } from "@quorlock/redlock/read-write-lock";
import { Semaphore } from "@quorlock/redlock/semaphore";
import { Redis } from "ioredis";
import { ClientsOf, clientOptions, connected } from "./clients.ts";
import { redlockProgram } from "./redlock-program.ts";
import type { Held, Library, Subject, SubjectOptions } from "./subject.ts";

/** This client. */
export const quorlock: Library = {
  name: "quorlock",
  packageName: "@quorlock/redlock",
  program: redlockProgram,
  async open(urls, options) {
    const clients = await connected(urls.map((url) => new Redis(url, clientOptions(options))));
    const redlock = new Redlock(clients, settingsFrom(options));
    // It makes connections of its own; a look at any resource waits for all of them.
    await redlock.inspect("connected");
    // Declares the masters new; of several clients the first has done it.
    if (options.restartGuard !== undefined) await redlock.initialize().catch(() => {});
    return new QuorlockSubject(clients, redlock);
  },
};

function settingsFrom(options: SubjectOptions): RedlockOptions {
  const { retryCount, retryDelay, extensionThreshold, wallClock, clockWatch, reentrant, restartGuard } =
    options;
  return {
    ...(retryCount !== undefined && { retryCount }),
    ...(retryDelay !== undefined && { retryDelay, retryJitter: 0 }),
    ...(extensionThreshold !== undefined && { automaticExtensionThreshold: extensionThreshold }),
    ...(clockWatch && { clockWatch: { exclude: true } }),
    ...(restartGuard !== undefined && { restartGuard: { maxTtl: restartGuard } }),
    ...(reentrant !== undefined && { reentrant }),
    ...(wallClock !== undefined && { runtime: { ...systemRuntime, wall: wallClock } }),
  };
}

class QuorlockSubject extends ClientsOf<Redis> implements Subject {
  readonly #redlock: Redlock;

  constructor(clients: readonly Redis[], redlock: Redlock) {
    super(clients);
    this.#redlock = redlock;
  }

  async acquire(resource: string, ttl: number): Promise<Held> {
    return heldOf(await this.#redlock.acquire(resource, ttl));
  }

  using<T>(
    resource: string,
    ttl: number,
    routine: (signal: AbortSignal, lock?: unknown) => Promise<T>,
  ): Promise<T> {
    return this.#redlock.using(resource, ttl, routine);
  }

  async extend(held: Held, ttl: number): Promise<Held> {
    return heldOf(await this.#redlock.extend(held.lock as Lock, ttl));
  }

  release(held: Held): Promise<unknown> {
    return this.#redlock.release(held.lock as Lock);
  }

  async permit(resource: string, limit: number, ttl: number): Promise<(() => Promise<unknown>) | undefined> {
    const lock = await new Semaphore(this.#redlock, resource, limit).tryAcquire(ttl);
    return lock ? () => lock.release() : undefined;
  }

  async detach(held: Held): Promise<string> {
    return JSON.stringify(await (held.lock as Lock).detach());
  }

  async resume(detached: string, ttl: number): Promise<Held> {
    return heldOf(await this.#redlock.resume(JSON.parse(detached)).extend(ttl));
  }

  async write(resource: string, ttl: number): Promise<Held> {
    return heldOf(await new ReadWriteLock(this.#redlock, resource).write(ttl));
  }

  override onFault(listener: (error: unknown) => void): void {
    this.#redlock.on("error", listener);
  }

  override quit(): Promise<void> {
    return this.#redlock.quit();
  }
}

function heldOf(lock: Lock): Held {
  const remaining = () => lock.remaining();
  return { token: lock.value, isValid: () => remaining() > 0, remaining, lock };
}
