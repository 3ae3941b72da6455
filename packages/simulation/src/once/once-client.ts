import type { Lock, Redlock, Runtime } from "@quorlock/redlock";
import { once } from "@quorlock/redlock/once";
import type { Plan } from "../plan/plan.ts";
import { Bounds } from "../run/bounds.ts";
import {
  type ClientClasses,
  clientOf,
  nameOf,
  publishedClasses,
  type Subject,
  type SubjectClient,
  type SubjectJob,
} from "../run/subject.ts";

// Jobs that run once where a plan has locks: instances tick by their own clocks, which are ticks apart, and some of them are slow.

/** How long a job is kept, and the time between two ticks, as parts of the ttl. */
const keptTtls = 3;
const tickTtls = 1;
/** Clocks are apart by up to twice as much. */
const offsetTtls = 2;
/** As plans draw them, ms. */
const largestOffset = 100_000;
/** Every so many calls ask for the tick before. */
const slowAmong = 3;

/** With the restart guard no key may live longer. */
function keepForIn({ ttl, restartGuard }: Plan["settings"]): number {
  return Math.min(keptTtls * ttl, restartGuard?.maxTtl ?? Number.POSITIVE_INFINITY);
}

/** The limits of a call of `once`, by the client's documentation. */
class OnceBounds extends Bounds {
  /** The first connections; then each try may be followed by a reading of the masters. */
  override get acquire(): number {
    const { retryCount, nodeTimeout = 500 } = this.settings;
    const { waitTimeout: _, ...counted } = this.settings;
    const tries = new Bounds(counted);
    const ready = Math.min(10_000, keepForIn(this.settings)) + nodeTimeout;
    return ready + tries.acquire + (retryCount + 1) * (nodeTimeout + 4);
  }

  /** The lease is extended for as long as it lasts, and is then detached. (Late answers may prolong it up to that.) */
  override get release(): number {
    return keepForIn(this.settings) + super.extend + super.round + super.release;
  }
}

/** Each use of a lock is a job of a tick. */
function onlyJobs(plan: Plan): Plan {
  const { workload, clients, settings } = plan;
  const { lists: _, ...rest } = workload;
  const nearer = (offset: number): number => Math.round((offset / largestOffset) * offsetTtls * settings.ttl);
  return {
    ...plan,
    clients: clients.map((client) => ({ ...client, isForeign: false, offset: nearer(client.offset) })),
    workload: {
      ...rest,
      resources: Math.min(2, workload.resources),
      // (Most calls are refused, for which nobody waits.)
      think: tickTtls * settings.ttl * 0.2,
      parallel: Math.min(2, workload.parallel ?? 1),
      styles: { using: 1 },
    },
  };
}

/** The jobs of one client process; its other locks are plain ones. */
function jobsOf(
  redlock: Redlock,
  runtime: Runtime,
  settings: Plan["settings"],
  run: typeof once,
): SubjectClient {
  const keepFor = keepForIn(settings);
  const tickLength = tickTtls * settings.ttl;
  let calls = 0;
  const tick = (): number => {
    calls += 1;
    const now = Math.floor(runtime.wall() / tickLength);
    return (calls % slowAmong === 0 ? now - 1 : now) * tickLength;
  };
  return {
    // (A call waits in no queue.)
    queued: () => ({ keys: [], isShared: false }),
    acquire: (resources, ttl, options) => redlock.acquire(resources, ttl, options),
    tryAcquire: (resources, ttl, options) => redlock.tryAcquire(resources, ttl, options),
    async using(resources, ttl, given, routine) {
      const { waitTimeout: _, ...options } = given;
      const job: SubjectJob = { keepFor, calledAt: runtime.monotonic() };
      const terms = { ...options, ttl, keepFor, at: tick() };
      const { ran } = await run(redlock, nameOf(resources), terms, async (signal, lock) => {
        await routine(signal, Object.assign(lock, { job }));
        job.onWorked?.();
      });
      if (ran) job.onKept?.();
      else throw Object.assign(new Error("another instance has the job"), { code: "RESOURCE_LOCKED" });
    },
    extend: (lock, ttl, options) => redlock.extend(lock as unknown as Lock, ttl, options),
    release: (lock, options) => redlock.release(lock as unknown as Lock, options),
    quit: () => redlock.quit(),
  };
}

/** The jobs of a copy of the client. */
export function onceSubject(client: ClientClasses & { readonly once: typeof once }): Omit<Subject, "name"> {
  return {
    planOf: onlyJobs,
    boundsFor: (settings) => new OnceBounds(settings),
    create: (connections, runtime, settings) =>
      jobsOf(clientOf(client, connections, runtime, settings), runtime, settings, client.once),
  };
}

/** The function as it is published. */
export const theOnce: Subject = { name: "once", ...onceSubject({ ...publishedClasses, once }) };
