import { createHash } from "node:crypto";
import type { Redis } from "ioredis";
import {
  type ClientOptions,
  closeClients,
  type OpenContender,
  openClients,
  untilAnswered,
} from "./contender.ts";

/** The settings in which our own connections differ from ioredis's defaults and that may affect timing. */
const sameAsOurs: ClientOptions = {
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  enableAutoPipelining: false,
};

/** The release script of Redis's page on distributed locks. */
const releaseScript = `
if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) else return 0 end`;
const releaseSha = createHash("sha1").update(releaseScript).digest("hex");

/**
 * The lower bound: only the commands of a lock, sent to all masters at once; resolves when a quorum has answered yes.
 * It has no clock, no timer, no time-out and no rollback, and its token is predictable.
 */
export function bareOn(clientOptions?: ClientOptions): OpenContender {
  return async (name, { urls, ttl }) => {
    const clients = await openClients(urls, { ...sameAsOurs, ...clientOptions });
    const quorum = Math.floor(clients.length / 2) + 1;
    const ready = (): Promise<void> =>
      untilAnswered(clients, (client) => client.script("LOAD", releaseScript));
    await ready();
    let count = 0;
    return {
      name,
      async acquire(resource) {
        count += 1;
        const token = count.toString(16).padStart(32, "0");
        await quorumOf(clients, quorum, "OK", (client) => client.set(resource, token, "PX", ttl, "NX"));
        return () => quorumOf(clients, quorum, 1, (client) => client.evalsha(releaseSha, 1, resource, token));
      },
      ready,
      async quit() {
        closeClients(clients);
      },
    };
  };
}

function quorumOf(
  clients: readonly Redis[],
  quorum: number,
  yes: unknown,
  ask: (client: Redis) => Promise<unknown>,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let votes = 0;
    let against = 0;
    for (const client of clients) {
      ask(client).then(
        (reply) => {
          if (reply === yes) votes += 1;
          else against += 1;
          if (votes === quorum) resolve();
          else if (against > clients.length - quorum) reject(new Error("no quorum"));
        },
        (error) => {
          against += 1;
          if (against > clients.length - quorum) reject(error);
        },
      );
    }
  });
}
