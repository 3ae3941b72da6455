import { createHash } from "node:crypto";
import type { Redis } from "ioredis";
import {
  type ClientOptions,
  closeClients,
  type OpenContender,
  openClients,
  untilAnswered,
} from "./contender.ts";

/** What our own connections differ in from ioredis's defaults, as far as it can matter for the time taken. */
const sameAsOurs: ClientOptions = {
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  enableAutoPipelining: false,
};

/** As Redis's own page on distributed locks has it. */
const releaseScript = `
if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) else return 0 end`;
const releaseSha = createHash("sha1").update(releaseScript).digest("hex");

/**
 * The floor: the very commands that a lock costs, to all masters at once, done when a quorum has answered yes.
 * No clock, no timer, no time-out, no rollback, and a token that anybody could guess.
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
