import { readFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { closeClients, type OpenContender, openClients, readyTimeout } from "./contender.ts";

type Package = typeof import("@quorlock/redlock");

/** The entry file of `@quorlock/redlock`: the built one, except for tests, which run sources. */
export const builtEntry: string = import.meta.resolve("@quorlock/redlock");

/**
 * What is measured is what users get: the built package, not its sources. The loader that runs TypeScript
 * sources gives every closure its name (`__name`), which costs time whenever one is made, and bare commands
 * make none.
 */
export const built: Package = (await import(builtEntry)) as Package;

/**
 * The built package of another checkout, named by `QUORLOCK_BEFORE`: what this one is compared with, in one process. Nothing
 * where none is named.
 */
export async function builtBefore(): Promise<Package | undefined> {
  const folder = process.env["QUORLOCK_BEFORE"];
  if (!folder) return undefined;
  const manifest = new URL("packages/redlock/package.json", pathToFileURL(`${folder}/`));
  // Where a build lies has changed, so it is asked for.
  const { exports } = JSON.parse(await readFile(manifest, "utf8")) as {
    exports: { ".": { default: string } };
  };
  return (await import(new URL(exports["."].default, manifest).href)) as Package;
}

export function oursOf(load: () => Promise<Package | undefined>): OpenContender {
  return async (name, { urls, ttl, waitTimeout }) => {
    const client = await load();
    if (!client) throw new Error(`${name} needs QUORLOCK_BEFORE`);
    const clients = await openClients(urls);
    const redlock = new client.Redlock(clients, waitTimeout === undefined ? {} : { waitTimeout });
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
      using: (resource, routine) => redlock.using(resource, ttl, routine),
      ready,
      async quit() {
        await redlock.quit();
        closeClients(clients);
      },
    };
  };
}
