import { readFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { Redis as Valkey } from "iovalkey";
import { createClient } from "redis";
import { closeClients, type OpenContender, openClients, readyTimeout } from "./contender.ts";

type Package = typeof import("@quorlock/redlock");

/** The entry file of `@quorlock/redlock`: the built one, except in tests, which run the sources. */
export const builtEntry: string = import.meta.resolve("@quorlock/redlock");

/**
 * The benchmark measures the built package, as users run it, not its sources. The loader of TypeScript sources adds a
 * call to every closure (`__name`), which would slow our client but not the bare commands, which create none.
 */
export const built: Package = (await import(builtEntry)) as Package;

/**
 * The built package of the checkout that `QUORLOCK_BEFORE` names, to be compared with this one in the same process;
 * undefined if the variable is not set.
 */
export async function builtBefore(): Promise<Package | undefined> {
  const folder = process.env["QUORLOCK_BEFORE"];
  if (!folder) return undefined;
  const manifest = new URL("packages/redlock/package.json", pathToFileURL(`${folder}/`));
  // The path of the build differs between versions, so it is read from the manifest.
  const { exports } = JSON.parse(await readFile(manifest, "utf8")) as {
    exports: { ".": { import: { default: string } } };
  };
  return (await import(new URL(exports["."].import.default, manifest).href)) as Package;
}

/** The user's clients, one for each master. */
interface UserClients {
  readonly clients: ConstructorParameters<Package["Redlock"]>[0];
  readonly close: () => void;
}

async function ioredisOn(urls: readonly string[]): Promise<UserClients> {
  const clients = await openClients(urls);
  return { clients, close: () => closeClients(clients) };
}

export async function iovalkeyOn(urls: readonly string[]): Promise<UserClients> {
  const clients = urls.map((url) => new Valkey(url, { lazyConnect: true }));
  await Promise.all(clients.map((client) => client.connect()));
  const close = (): void => {
    for (const client of clients) client.disconnect();
  };
  return { clients, close };
}

export async function nodeRedisOn(urls: readonly string[]): Promise<UserClients> {
  const clients = urls.map((url) => createClient({ url }).on("error", () => {}));
  await Promise.all(clients.map((client) => client.connect()));
  return { clients, close: () => clients.forEach((client) => void (client.isOpen && client.destroy())) };
}

export function oursOf(
  load: () => Promise<Package | undefined>,
  openOn: (urls: readonly string[]) => Promise<UserClients> = ioredisOn,
): OpenContender {
  return async (name, { urls, ttl, waitTimeout, fencing = false }) => {
    const client = await load();
    if (!client) throw new Error(`${name} needs QUORLOCK_BEFORE`);
    const { clients, close } = await openOn(urls);
    const redlock = new client.Redlock(
      clients,
      waitTimeout === undefined ? { fencing } : { fencing, waitTimeout },
    );
    const ready = async (): Promise<void> => {
      const deadline = performance.now() + readyTimeout;
      // The client opens its own connections beside those of `clients`: only `inspect` shows whether they are up.
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
        close();
      },
    };
  };
}
