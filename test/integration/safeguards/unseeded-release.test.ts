import {
  type Answer,
  answerOf,
  type Guard,
  type GuardState,
  questionOf,
  RedisNode,
} from "@quorlock/redlock/internal";
import type { Master } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { describe, expect, it } from "vitest";
// The package makes nodes of clients: these are asked one by one, each with its own terms.
import { connectionOf } from "../../../packages/redlock/src/adapters/client-libraries.ts";
import { ask } from "../../contract/ask.ts";
import { until } from "../../contract/until.ts";
import { Fleet, fresh } from "../fleet/fleet.ts";

// PROTOCOL 8.8.

const fleet = Fleet.forTests(1);
const ttl = 30_000;

/** The answer of a node to a question about its guard. */
function asked(
  node: RedisNode,
  verb: "guardState" | "restoreCounters",
  words: readonly string[] = [],
): Promise<Answer> {
  return answerOf(node, questionOf({ verb, keys: [], words }));
}

/** A guard that may put the master into quarantine, for so short a time that it is over at once. */
function briefGuard(): Guard {
  return {
    terms: () => `${ttl},${Date.now() * 1000},0,1,${Date.now() + 2 * ttl},0,0`,
    refused: () => {},
    extendedInQuarantine: () => {},
  };
}

/** Two nodes over their own connections: one is guarded, of a client that guards and fences; the other is not. */
async function nodes(): Promise<{
  guarded: RedisNode;
  plain: RedisNode;
  end: () => void;
}> {
  const [{ host, port }] = fleet.masters as readonly [Master];
  const clients = [new Redis(port, host), new Redis(port, host)];
  const [guarded, plain] = clients.map((client) => new RedisNode(connectionOf(client))) as [
    RedisNode,
    RedisNode,
  ];
  guarded.watchGuard(briefGuard());
  return { guarded, plain, end: () => clients.map((client) => client.disconnect()) };
}

/** The master has forgotten everything, its quarantine is over, and its counters are not restored. */
async function unseeded({ guarded }: { guarded: RedisNode }): Promise<GuardState> {
  const [admin] = fleet.admins as readonly [Redis];
  const look = () => asked(guarded, "guardState");
  await look();
  await admin.del("quorlock:quarantine");
  // The end is by the wall clock of the client that began it: an end of 0 has passed.
  const [runId, epoch, , longest, database] = (await admin.get("quorlock:guard"))!.split(" ");
  await admin.set("quorlock:guard", [runId, epoch, 0, longest, database, 2].join(" "));
  const found = (await look()) as GuardState;
  expect((await admin.get("quorlock:guard"))!.endsWith(" 1")).toBe(true);
  expect(found.isReady).toBe(false);
  return found;
}

describe("a master that has lost its fencing counters, and releases a key with a waiter", () => {
  it.each([1, 2])(
    "grants it without a fencing token, with %i keys at a time; with restored counters, it has one",
    async (count) => {
      const [admin] = fleet.admins as readonly [Redis];
      await admin.flushall();
      const all = await nodes();
      const { guarded, plain } = all;
      try {
        const found = await unseeded(all);
        const keys = Array.from({ length: count }, () => fresh("unseeded"));
        const channel = `quorlock:inbox:${fresh()}`;
        const heard: string[] = [];
        await ask(plain).listen(channel, (push) => void (push.is !== "timed" && heard.push(push.token)));
        const claim = (key: string, token: string) => ({ resources: [key], token, ttl, abandoned: false });
        const waiting = (key: string, round: number, proposal?: number) => ({
          ...claim(key, `waiter-of-${key}.${round}`),
          ticket: 1,
          entryTtl: ttl,
          proposal,
        });
        for (const key of keys) {
          await ask(plain).vote(claim(key, `holder-of-${key}.0`));
          await ask(plain).enqueue(waiting(key, 1, 1000));
        }

        const released = keys.map((key) => ask(guarded).release([key], `holder-of-${key}.0`));
        for (const answer of await Promise.all(released)) expect(answer).toEqual({ is: "done" });
        // A message published after a grant arrives after it.
        await admin.publish(channel, "the-end - -");
        await until("all is heard", () => Promise.resolve(heard.includes("the-end")));
        expect(heard).toEqual(["the-end"]);
        expect(await admin.get("quorlock:floor")).toBeNull();

        // With its counters it votes for those who wait, above all that was given out.
        await asked(guarded, "restoreCounters", [`${found.epoch}`, "5000"]);
        for (const key of keys) {
          const answer = await ask(guarded).enqueue(waiting(key, 2, 6000));
          expect(answer).toMatchObject({ is: "yes", counter: 5000 });
        }
      } finally {
        all.end();
      }
    },
  );
});
