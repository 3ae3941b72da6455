import { createHash } from "node:crypto";
import type { Redis } from "ioredis";
import { type ClientOptions, closeClients, openClients, untilAnswered } from "./clients.ts";
import type { OpenContender } from "./contender.ts";

/** What our own connections differ in from ioredis's defaults, as far as it can matter for the time taken. */
const sameAsOurs: ClientOptions = {
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  enableAutoPipelining: false,
};

/** As Redis's own page on distributed locks has it, for any number of keys. */
const acquireAllScript = scriptOf(`
for _, key in ipairs(KEYS) do if redis.call("EXISTS", key) == 1 then return 0 end end
for _, key in ipairs(KEYS) do redis.call("SET", key, ARGV[1], "PX", ARGV[2]) end
return #KEYS`);
const releaseScript = scriptOf(`
if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", unpack(KEYS)) else return 0 end`);

/**
 * The floor: the very commands that a lock costs, to all masters at once, done when a quorum has answered yes.
 * No clock, no timer, no time-out, no roll-back, and a token that anybody could guess.
 */
export function bareOn(clientOptions?: ClientOptions): OpenContender {
  return async (name, { urls, ttl }) => {
    const clients = await openClients(urls, { ...sameAsOurs, ...clientOptions });
    const quorum = Math.floor(clients.length / 2) + 1;
    const ready = (): Promise<void> =>
      untilAnswered(clients, async (client) => {
        for (const { source } of [acquireAllScript, releaseScript]) await client.script("LOAD", source);
      });
    await ready();
    let count = 0;
    const nextToken = (): string => {
      count += 1;
      return count.toString(16).padStart(32, "0");
    };
    return {
      name,
      async acquire(resource) {
        const token = nextToken();
        await quorumOf(clients, quorum, "OK", (client) => client.set(resource, token, "PX", ttl, "NX"));
        return () =>
          quorumOf(clients, quorum, 1, (client) => client.evalsha(releaseScript.sha1, 1, resource, token));
      },
      async acquireAll(resources) {
        const token = nextToken();
        const { length } = resources;
        const claim = (client: Redis): Promise<unknown> =>
          client.evalsha(acquireAllScript.sha1, length, ...resources, token, ttl);
        const giveBack = (client: Redis): Promise<unknown> =>
          client.evalsha(releaseScript.sha1, length, ...resources, token);
        await quorumOf(clients, quorum, length, claim);
        return () => quorumOf(clients, quorum, length, giveBack);
      },
      ready,
      async quit() {
        closeClients(clients);
      },
    };
  };
}

function scriptOf(source: string): { readonly source: string; readonly sha1: string } {
  return { source, sha1: createHash("sha1").update(source).digest("hex") };
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
