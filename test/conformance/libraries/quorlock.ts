import { type Held, type Locker, redlockProgram } from "@quorlock/peers";
import { type Lock, Redlock, type RedlockOptions, systemRuntime } from "@quorlock/redlock";
import { ReadWriteLock } from "@quorlock/redlock/read-write-lock";
import { Semaphore } from "@quorlock/redlock/semaphore";
import { Redis } from "ioredis";
import { clientOptions, connected, subjectOf } from "./clients.ts";
import type { Library, Subject, SubjectOptions } from "./subject.ts";

/** This client. */
export const quorlock: Library = {
  name: "quorlock",
  packageName: "@quorlock/redlock",
  program: redlockProgram,
  async open(urls, options) {
    const clients = await connected(urls.map((url) => new Redis(url, clientOptions(options))));
    const redlock = new Redlock(clients, settingsFrom(options));
    // It makes its own connections; a look at any resource waits for all of them.
    await redlock.inspect("connected");
    // Declares the masters new; of several clients the first has done it.
    if (options.restartGuard !== undefined) await redlock.initialize().catch(() => {});
    return subjectOf(clients, lockerOf(redlock));
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

/** Its calls by the names of the cases. */
function lockerOf(redlock: Redlock): Locker & Pick<Subject, "detach" | "resume" | "write"> {
  return {
    acquire: async (resource, ttl) => heldOf(await redlock.acquire(resource, ttl)),
    using: (resource, ttl, routine) => redlock.using(resource, ttl, routine),
    extend: async (held, ttl) => heldOf(await redlock.extend(held.lock as Lock, ttl)),
    release: (held) => redlock.release(held.lock as Lock),
    async permit(resource, limit, ttl) {
      const lock = await new Semaphore(redlock, resource, limit).tryAcquire(ttl);
      return lock ? () => lock.release() : undefined;
    },
    detach: async (held) => JSON.stringify(await (held.lock as Lock).detach()),
    resume: async (detached, ttl) => heldOf(await redlock.resume(JSON.parse(detached)).extend(ttl)),
    write: async (resource, ttl) => heldOf(await new ReadWriteLock(redlock, resource).write(ttl)),
    onFault: (listener) => void redlock.on("error", listener),
    quit: () => redlock.quit(),
  };
}

function heldOf(lock: Lock): Held {
  const remaining = () => lock.remaining();
  return { token: lock.value, isValid: () => remaining() > 0, remaining, lock };
}
