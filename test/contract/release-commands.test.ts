import { enqueueScript, leaveScript } from "@quorlock/redlock/internal";
import { type Masters, startMasters } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";

// PROTOCOL 7.4.

// The head of the release script has a short path for one key, for an empty queue and for a first waiter that is
// subscribed. Every other case goes through the rest of the script, with the same result.

const minute = 60_000;
const queue = "quorlock:queue:{r}";

let masters: Masters;
let redis: Redis;
let listener: Redis;
/** The notifications that waiters have received until now. */
const heard: string[] = [];

beforeAll(async () => {
  masters = await startMasters(1, { say: () => {} });
  redis = new Redis(masters.urls[0]!);
  listener = redis.duplicate();
  listener.on("message", (_, message: string) => void heard.push(message));
  await listener.subscribe("inbox");
});
afterAll(async () => {
  redis?.disconnect();
  listener?.disconnect();
  await masters?.stop();
});

beforeEach(async () => {
  await redis.flushall();
  await redis.set("r", "mine.1", "PX", minute);
  heard.length = 0;
});

interface Waiter {
  readonly ticket?: number;
  readonly inbox?: string;
}

async function wait(token: string, { ticket = 1, inbox = "inbox" }: Waiter = {}): Promise<void> {
  await redis.eval(enqueueScript.source, 1, "r", token, 2 * minute, ticket, minute, "", inbox);
}

/** How often each command was executed by the release, but for those about it. */
async function release(token: string): Promise<Readonly<Record<string, number>>> {
  await redis.config("RESETSTAT");
  expect(await redis.eval(leaveScript.source, 1, "r", token)).toBe(1);
  const stats = await redis.info("commandstats");
  // Earlier messages are on their way before the answer.
  await listener.ping();
  const all = [...stats.matchAll(/cmdstat_(\S+):calls=(\d+)/g)].map(([, name, calls]) => [
    name!,
    Number(calls),
  ]);
  return Object.fromEntries(all.filter(([name]) => !/^(config|eval|info|ping)/.test(String(name))));
}

const grant = {
  get: 4,
  exists: 1,
  zrange: 2,
  "pubsub|numsub": 1,
  set: 1,
  publish: 1,
  zrem: 1,
  del: 2,
};

describe("a release", () => {
  it("of a key without waiters takes three commands", async () => {
    expect(await release("mine.1")).toEqual({ get: 1, exists: 1, del: 1 });
    expect(await redis.keys("*")).toEqual([]);
  });

  it("with a subscribed first waiter takes thirteen: the key is set, and the waiter leaves the queue", async () => {
    await wait("first.3", { ticket: 1 });
    await wait("second.1", { ticket: 2 });
    expect(await release("mine.1")).toEqual(grant);
    expect(heard).toEqual(["first.3 - 2"]);
    expect(await redis.get("r")).toBe("first.3");
    expect(await redis.pttl("r")).toBeGreaterThan(minute);
    expect(await redis.zrange(queue, "0", "-1")).toEqual(["second"]);
    expect(await redis.exists(`${queue}:first`)).toBe(0);
  });

  it.each([1, 3])(
    "by a waiter that stands in the queue itself, with ticket %i, takes it out first",
    async (ticket) => {
      await wait("other.1", { ticket: 2 });
      await redis.zadd(queue, ticket, "mine");
      await redis.set(`${queue}:mine`, `1 ${minute} inbox  g`, "PX", minute);
      await release("mine.1");
      expect(heard).toEqual(["other.1 - -"]);
      expect(await redis.keys("*")).toEqual(["r"]);
    },
  );

  it("by a user without PUBLISH reserves the key for the waiter's next round", async () => {
    await wait("first.1");
    await redis.acl("SETUSER", "mute", "reset", "on", ">secret", "~*", "+@all");
    const mute = redis.duplicate({ username: "mute", password: "secret" });
    try {
      expect(await mute.eval(leaveScript.source, 1, "r", "mine.1")).toBe(1);
    } finally {
      mute.disconnect();
    }
    expect(await redis.get("r")).toBe("first.1");
    expect(await redis.pttl("r")).toBeLessThanOrEqual(minute);
    expect(await redis.zrange(queue, "0", "-1")).toEqual(["first"]);
  });
});
