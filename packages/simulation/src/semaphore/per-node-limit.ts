import type { Lock } from "@quorlock/redlock";
import { Semaphore } from "@quorlock/redlock/semaphore";
import {
  clientOf,
  holdWhile,
  nameOf,
  publishedClasses,
  type Resources,
  type Subject,
  type SubjectLock,
} from "../run/subject.ts";
import { keysOf, limitOf } from "./semaphore-client.ts";

/**
 * The semaphore that suggests itself, and that other libraries have: each master lets in as many as the limit says,
 * and a permit is to be let in by a majority. It is none: with 3 masters and a limit of 2 three have a permit, two
 * masters each. Here with the client's own semaphore on each master, so that nothing else is different.
 */
export const perNodeLimit: Subject = {
  name: "each master keeps the limit for itself",
  isUnbounded: true,
  keysOf,
  create(connections, runtime, settings) {
    const redlocks = connections.map((one) => clientOf(publishedClasses, [one], runtime, settings));
    const tryAcquire = async (resources: Resources, ttl: number) => {
      const name = nameOf(resources);
      const semaphores = redlocks.map((redlock) => new Semaphore(redlock, name, limitOf(name)));
      const tried = await Promise.all(semaphores.map((one) => one.tryAcquire(ttl).catch(() => null)));
      const permit = permitOf(
        name,
        tried.filter((lock) => lock !== null),
        Math.floor(redlocks.length / 2) + 1,
      );
      if (permit.remaining() > 0) return permit;
      await permit.release();
      return null;
    };
    return {
      tryAcquire,
      async acquire(resources, ttl) {
        const lock = await tryAcquire(resources, ttl);
        if (lock) return lock;
        throw Object.assign(new Error("full"), { code: "RESOURCE_LOCKED" });
      },
      using(resources, ttl, _options, routine) {
        return holdWhile(this, resources, ttl, routine);
      },
      quit: () => Promise.all(redlocks.map((redlock) => redlock.quit())),
    };
  },
};

/** Held for as long as a majority of these locks, each on one master. */
function permitOf(name: string, locks: readonly Lock[], majority: number): SubjectLock {
  return {
    // On each master another slot: there is no resource that all of them would name.
    resources: [],
    share: { of: name, permits: 1, limit: limitOf(name) },
    value: locks[0]?.value ?? "",
    remaining: () => locks.map((lock) => lock.remaining()).sort((a, b) => b - a)[majority - 1] ?? 0,
    extend: () => Promise.reject(Object.assign(new Error("never extended"), { code: "LOCK_LOST" })),
    async release() {
      await Promise.all(locks.map((lock) => lock.release()));
      return { outcome: "released" };
    },
  };
}
