import { once } from "node:events";
import { setTimeout as pause, setImmediate as turnOver } from "node:timers/promises";
import type { Client } from "@quorlock/redlock";
import type { Random } from "@quorlock/simulation";
import { Cluster, Redis } from "ioredis";
import { Cluster as Cluster5, Redis as Redis5 } from "ioredis-5";
import { createClient } from "redis";
import { createClient as createClient5 } from "redis-5";

// The clients of one worker: each of a library that its seed draws, so that one Redlock mixes them, and each fleet.

/** A client, and how an application tells it that its master wants another password: libraries look when they connect. */
export interface OpenClient {
  readonly client: Client;
  /** Its name and major version. */
  readonly library: string;
  readonly setPassword: (password: string | undefined) => void;
  /** Leaves its connection. Resolves when it has another one. */
  readonly reconnect: () => Promise<void>;
}

const ioredis = [
  ["ioredis 6", Redis, Cluster],
  ["ioredis 5", Redis5, Cluster5],
] as const;
const nodeRedis = [
  ["node-redis 6", createClient],
  ["node-redis 5", createClient5],
] as const;

/** Masters are down for seconds at most: reconnecting must not take longer than that. */
const longestDelay = 250;
const delayAfter = (attempts: number): number => Math.min(attempts * 50, longestDelay);

export function openClient(url: string, random: Random): OpenClient {
  return random.chance(0.5) ? openIoredis(url, random) : openNodeRedis(url, random);
}

function openIoredis(url: string, random: Random): OpenClient {
  const [library, Client] = random.pick(ioredis);
  const client = new Client(url, {
    retryStrategy: delayAfter,
    // As for every address that may later lead to another server.
    reconnectOnError: (error) => error.message.includes("READONLY"),
  });
  client.on("error", () => {});
  const reconnect = async (): Promise<void> => {
    // One that is disconnected in the turn in which it begins to dial has ended, also if it is to reconnect.
    await turnOver();
    const ready = new Promise<void>((resolve) => void client.once("ready", resolve));
    client.disconnect(true);
    await ready;
  };
  return { client, library, setPassword: (password) => changePassword(client.options, password), reconnect };
}

function openNodeRedis(url: string, random: Random): OpenClient {
  const [library, create] = random.pick(nodeRedis);
  const socket = { reconnectStrategy: (retries: number) => delayAfter(retries + 1) };
  const client = create({ url, socket });
  client.on("error", () => {});
  client.connect().catch(() => {});
  const reconnect = async (): Promise<void> => {
    if (client.isOpen) client.destroy();
    // One that was connecting looks after its pause whether it is still open. If it is open again by then, it goes on beside the new
    // attempt, and each of them destroys the socket of the other.
    await pause(2 * longestDelay);
    await client.connect();
  };
  return { client, library, setPassword: (password) => changePassword(client.options, password), reconnect };
}

function changePassword(
  options: { username?: string | null | undefined; password?: string | null | undefined },
  password?: string,
): void {
  if (password === undefined) {
    delete options.username;
    delete options.password;
  } else Object.assign(options, { username: "default", password });
}

/**
 * Resolves when it is connected, as far as its library says it: a Cluster client that a busy machine kept from that for a second
 * may have found its masters later than the connections of Quorlock, which are then replaced (PROTOCOL 2.18).
 */
export async function openCluster(urls: readonly string[], random: Random): Promise<Client> {
  const [, , Client] = random.pick(ioredis);
  // After 1 s, its default, it takes the masters for lost, although it was the process that did not run.
  const cluster = new Client([...urls], { slotsRefreshTimeout: 10_000 });
  cluster.on("error", () => {});
  await once(cluster, "ready");
  return cluster;
}
