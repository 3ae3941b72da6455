import { entryOf, type PeerName, peerNamed } from "@quorlock/peers";
import {
  type ClientOptions,
  closeClients,
  type OpenContender,
  openClients,
  untilAnswered,
} from "./contender.ts";

/** The other libraries by their names in the tables. */
const libraries = {
  redlock: "redlock-5",
  "redis-semaphore": "redis-semaphore",
  "redlock-universal": "redlock-universal",
  sesamecare: "sesamecare",
} satisfies Readonly<Record<string, PeerName>>;

/** The name of each peer's package, and the module that is measured. */
export async function peerPackages(): Promise<ReadonlyArray<readonly [name: string, entry: string]>> {
  const peers = await Promise.all(Object.values(libraries).map(peerNamed));
  return peers.map(({ packageName }) => [packageName, entryOf(packageName)]);
}

/** Opens each library on clients with these options; the keys are the names with `suffix` appended. */
export function peersOn(suffix: string, options?: ClientOptions): Readonly<Record<string, OpenContender>> {
  const opened = Object.entries(libraries).map(([name, peer]): [string, OpenContender] => [
    `${name}${suffix}`,
    openerOf(peer, options),
  ]);
  return Object.fromEntries(opened);
}

function openerOf(peer: PeerName, options?: ClientOptions): OpenContender {
  return async (name, { urls, ttl, waitTimeout }) => {
    const clients = await openClients(urls, options);
    const locker = (await peerNamed(peer)).on(clients, { waitTimeout });
    return {
      name,
      async acquire(resource) {
        const held = await locker.acquire(resource, ttl);
        return () => locker.release(held);
      },
      ready: () => untilAnswered(clients),
      async quit() {
        closeClients(clients);
      },
    };
  };
}
