import type { Peer } from "./peer.ts";

// The other libraries, for all programs that compare them with this client. Each is loaded only when it is asked for: a
// peer's import must not disturb another's process.

export * from "./peer.ts";
export * from "./redlock.ts";

/** The names of the peers in all tables. */
export type PeerName = "redlock-5" | "redis-semaphore" | "redlock-universal" | "sesamecare";

const loaders: Readonly<Record<PeerName, () => Promise<Peer>>> = {
  "redlock-5": async () => (await import("./redlock.ts")).redlockOf("redlock"),
  "redis-semaphore": async () => (await import("./redis-semaphore.ts")).redisSemaphore,
  "redlock-universal": async () => (await import("./redlock-universal.ts")).redlockUniversal,
  sesamecare: async () => (await import("./redlock.ts")).redlockOf("@sesamecare-oss/redlock"),
};

export const peerNames: readonly PeerName[] = Object.keys(loaders) as PeerName[];

export function peerNamed(name: PeerName): Promise<Peer> {
  return loaders[name]();
}

/** The module of a peer's package, as a URL. */
export function entryOf(packageName: string): string {
  return import.meta.resolve(packageName);
}
