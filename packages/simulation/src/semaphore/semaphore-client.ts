import type { Lock, Redlock } from "@quorlock/redlock";
import { Semaphore } from "@quorlock/redlock/semaphore";
import { DefaultMap } from "../default-map.ts";
import { Bounds } from "../run/bounds.ts";
import {
  type ClientClasses,
  clientOf,
  publishedClasses,
  type Subject,
  type SubjectClient,
  type SubjectLock,
} from "../run/subject.ts";

// Semaphores where a plan has locks: the same workload, faults and checks.

/** The number of permits of a resource: "resource-0" has two, and each further one has one more. */
export function limitOf(resource: string): number {
  return Number(resource.slice("resource-".length)) + 2;
}

/** The most that a plan asks for: the workload knows four resources at most. */
const largestLimit = 5;

/** Where the plan wants several resources, several permits of the first one are asked for. */
const several = 2;

/** The time limits of a semaphore's calls, by the client's documentation. */
class SemaphoreBounds extends Bounds {
  /** A few slots are tried; then there is the waiting; and several permits become one lock in one more attempt. */
  override get acquire(): number {
    const { waitTimeout, retryCount } = this.settings;
    return (waitTimeout ?? this.pauses(retryCount, 0)) + 4 * super.tryAcquire + 3 * this.release;
  }

  override get tryAcquire(): number {
    return largestLimit * super.tryAcquire;
  }
}

/** Every key that the semaphore of a resource may leave behind. */
export function keysOf(resource: string): readonly string[] {
  const slots = Array.from({ length: limitOf(resource) }, (_, index) => `{${resource}}:slot:${index}`);
  return [...slots, `{${resource}}:admission`];
}

/** The semaphores of one client process, each by the name of its resource. */
function semaphoresOf(redlock: Redlock, Class: typeof Semaphore): SubjectClient {
  const semaphores = new DefaultMap((name: string) => new Class(redlock, name, limitOf(name)));
  const wish = (resources: string | readonly string[]): { semaphore: Semaphore; permits: number } =>
    typeof resources === "string"
      ? { semaphore: semaphores.get(resources), permits: 1 }
      : { semaphore: semaphores.get(resources[0]!), permits: several };
  return {
    // (A call waits for a lock of another name first, and then for slots: its order is not checked.)
    queued: () => ({ keys: [], isShared: false }),
    async acquire(resources, ttl, options) {
      const { semaphore, permits } = wish(resources);
      return shared(await semaphore.acquire(ttl, { ...options, permits }), semaphore, permits);
    },
    async tryAcquire(resources, ttl, options) {
      const { semaphore, permits } = wish(resources);
      const lock = await semaphore.tryAcquire(ttl, { ...options, permits });
      return lock && shared(lock, semaphore, permits);
    },
    using(resources, ttl, options, routine) {
      const { semaphore, permits } = wish(resources);
      return semaphore.using(ttl, { ...options, permits }, (signal, lock) =>
        routine(signal, shared(lock, semaphore, permits)),
      );
    },
    extend: (lock, ttl, options) => redlock.extend(lock as unknown as Lock, ttl, options),
    release: (lock, options) => redlock.release(lock as unknown as Lock, options),
    quit: () => redlock.quit(),
  };
}

/** The lock itself, with what the checker has to know. */
function shared(lock: Lock, { name, limit }: Semaphore, permits: number): SubjectLock {
  return Object.assign(lock, { share: { of: name, permits, limit } });
}

/** The semaphores of a copy of the client. */
export function semaphoreSubject(
  client: ClientClasses & { readonly Semaphore: typeof Semaphore },
): Omit<Subject, "name"> {
  return {
    boundsFor: (settings) => new SemaphoreBounds(settings),
    keysOf,
    create: (connections, runtime, settings) =>
      semaphoresOf(clientOf(client, connections, runtime, settings), client.Semaphore),
  };
}

/** The semaphore as it is published. */
export const theSemaphore: Subject = {
  name: "semaphore",
  ...semaphoreSubject({ ...publishedClasses, Semaphore }),
};
