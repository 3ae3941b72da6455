import { setTimeout as pause } from "node:timers/promises";
import type { RedlockOptions } from "@quorlock/redlock";
import { built, builtBefore } from "./built-package.ts";
import { closeClients, openClients } from "./clients.ts";
import type { Contender, ContenderTerms, OpenContender } from "./contender.ts";

const readyTimeout = 10_000;

export const openOurs: OpenContender = openOursWith({});

export function openOursWith(options: RedlockOptions): OpenContender {
  return (name, terms) => open(options, name, terms);
}

/** The client of the checkout that `QUORLOCK_BEFORE` names. */
export const openBefore: OpenContender = async (name, terms) => {
  const before = await builtBefore();
  if (!before) throw new Error(`${name} needs QUORLOCK_BEFORE`);
  return open({}, name, terms, before);
};

async function open(
  options: RedlockOptions,
  name: string,
  { urls, ttl, waitTimeout }: ContenderTerms,
  { Redlock }: typeof built = built,
): Promise<Contender> {
  const clients = await openClients(urls);
  const redlock = new Redlock(clients, waitTimeout === undefined ? options : { ...options, waitTimeout });
  // Refused where a contender before was the first on these masters.
  if (options.restartGuard) await redlock.initialize().catch(() => {});
  const ready = async (): Promise<void> => {
    const deadline = performance.now() + readyTimeout;
    // It has connections of its own, behind the clients: only it can tell whether they stand.
    while (true) {
      const unreachable = (await redlock.inspect("ready")).find((inspection) => inspection.unreachable);
      if (!unreachable) return;
      if (performance.now() > deadline) throw unreachable.unreachable;
      await pause(20);
    }
  };
  await ready();
  return {
    name,
    async acquire(resource) {
      const lock = await redlock.acquire(resource, ttl);
      return () => lock.release();
    },
    async acquireAll(resources) {
      const lock = await redlock.acquire(resources, ttl);
      return () => lock.release();
    },
    using: (resource, routine) => redlock.using(resource, ttl, routine),
    ready,
    async quit() {
      await redlock.quit();
      closeClients(clients);
    },
  };
}
