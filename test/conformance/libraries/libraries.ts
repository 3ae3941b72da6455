import type { Library } from "./subject.ts";

/** Each is loaded only when it is asked for: a peer's import must not disturb another's process. */
const loaders: Readonly<Record<string, () => Promise<Library>>> = {
  quorlock: async () => (await import("./quorlock.ts")).quorlock,
  "redlock-5": async () => (await import("./redlock-5.ts")).redlock5,
  "redis-semaphore": async () => (await import("./redis-semaphore.ts")).redisSemaphore,
  "redlock-universal": async () => (await import("./redlock-universal.ts")).redlockUniversal,
};

export const libraryNames: readonly string[] = Object.keys(loaders);

export async function libraryNamed(name: string): Promise<Library> {
  const load = loaders[name];
  if (!load) throw new Error(`there is no library "${name}"; there are ${libraryNames.join(", ")}`);
  return load();
}
