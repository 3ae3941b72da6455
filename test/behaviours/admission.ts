import assert from "node:assert/strict";
import type { Redlock } from "@quorlock/redlock";
import { type Behaviour, type Bench, behaviour, type Outcome } from "./bench.ts";
import { failed, lasted, occupy } from "./looking.ts";

const alone = { masters: 1 };
const virtual = { masters: 1, notOn: { real: "it is about milliseconds" } };
const never = /^Timed out waiting for admission: 1 may ask/;

interface Crowd {
  readonly redlock: Redlock;
  readonly first: Promise<Outcome<unknown>>;
}

/** A process in which one call may ask at a time, and one asks for `ms` masters that hang. */
async function crowded(bench: Bench, ms: number, options: object = {}): Promise<Crowd> {
  const redlock = await bench.redlock({ acquireConcurrency: 1, retryJitter: 0, queue: false, ...options });
  await bench.faults.hang(bench.masters);
  const first = bench.time.took(redlock.acquire("other", 60_000, { nodeTimeout: ms, retryCount: 0 }));
  return { redlock, first };
}

async function over(bench: Bench, { redlock, first }: Crowd): Promise<void> {
  await bench.faults.resume(bench.masters);
  await first;
  await redlock.quit();
}

/** Rule 12.10 of docs/protocol.md: how long a call waits for admission. */
export const admission: readonly Behaviour[] = [
  behaviour(
    "12.10",
    "A call that never retries has its nodeTimeout for admission and its round together",
    async (bench) => {
      const { time } = bench;
      for (const [ms, least, words] of [
        [1000, 150, never],
        [120, 200, /^No quorum/],
      ] as const) {
        const crowd = await crowded(bench, ms);
        const { took, error } = await time.took(crowd.redlock.tryAcquire("r", 60_000, { nodeTimeout: 200 }));
        assert.match(error.message, words);
        lasted(bench, took, least - 2, least + 2, "the call");
        await over(bench, crowd);
      }
    },
    virtual,
  ),

  behaviour(
    "12.10",
    "Without a nodeTimeout a call waits for 500 ms, whatever its ttl is",
    async (bench) => {
      const { time } = bench;
      for (const ttl of [1000, 60_000]) {
        const crowd = await crowded(bench, 4000, { nodeTimeout: undefined });
        const { took, error } = await time.took(crowd.redlock.tryAcquire("r", ttl));
        assert.match(error.message, never);
        lasted(bench, took, 500, 502, "the call");
        await over(bench, crowd);
      }
    },
    virtual,
  ),

  behaviour(
    "12.10",
    "While masters answer other calls it waits on, for two seconds at most",
    async (bench) => {
      const { faults, masters, time } = bench;
      const redlock = await bench.redlock({ acquireConcurrency: 1, nodeTimeout: undefined });
      await faults.slow(redlock, masters, 19.5);
      const asked = Array.from({ length: 60 }, (_, index) =>
        time.took(redlock.tryAcquire(`r${index}`, 1000)),
      );
      const ended = await Promise.all(asked);
      // A round takes 40 ms.
      assert.equal(ended.filter(({ error }) => error === undefined).length, 50);
      lasted(bench, Math.max(...ended.map(({ took }) => took)), 2000, 2001, "the last");
    },
    virtual,
  ),

  behaviour(
    "12.10",
    "A call that retries waits for as long as its retries would take, and that counts as them",
    async (bench) => {
      const { masters, time } = bench;
      const options = { nodeTimeout: 200, retryCount: 3, retryDelay: 100 };
      const crowd = await crowded(bench, 4000);
      const refused = await time.took(crowd.redlock.acquire("r", 60_000, options));
      assert.match(refused.error.message, never);
      lasted(bench, refused.took, 450, 452, "the call");
      await over(bench, crowd);
      await occupy(masters, "r");
      const shorter = await crowded(bench, 360);
      const waiting = time.took(shorter.redlock.acquire("r", 60_000, options));
      await time.pass(361);
      await bench.faults.resume(masters);
      const late = await waiting;
      failed(late, "RESOURCE_LOCKED");
      // 210 ms of 360 are two of three retries.
      lasted(bench, late.took, 460, 475, "the call");
      await over(bench, shorter);
    },
    virtual,
  ),

  behaviour(
    "12.10",
    "A process that was blocked gives a call its time for admission once more",
    async (bench) => {
      const crowd = await crowded(bench, 450);
      const waiting = bench.time.took(crowd.redlock.tryAcquire("r", 60_000, { nodeTimeout: 400 }));
      await bench.faults.block(crowd.redlock, 400);
      await bench.time.pass(51);
      await bench.faults.resume(bench.masters);
      assert.equal((await waiting).value?.state, "held");
      await over(bench, crowd);
    },
    virtual,
  ),

  behaviour(
    "12.10",
    "A refusal is told, though the call is not admitted again",
    async (bench) => {
      const { faults, masters, time } = bench;
      await occupy(masters, "r");
      const redlock = await bench.redlock({ acquireConcurrency: 1, queue: false, retryJitter: 0 });
      const asked = time.took(redlock.acquire("r", 2000, { waitTimeout: 300, retryDelay: 150 }));
      await time.pass(100);
      await faults.hang(masters);
      const other = time.took(redlock.acquire("other", 60_000, { nodeTimeout: 900 }));
      const refused = await asked;
      failed(refused, "RESOURCE_LOCKED");
      lasted(bench, refused.took, 0, 305, "the call");
      await faults.resume(masters);
      await other;
    },
    alone,
  ),

  behaviour(
    "12.10",
    "A call that is given up while it waits for admission settles at once, and is never asked for",
    async (bench) => {
      const { masters, time } = bench;
      const crowd = await crowded(bench, 400);
      const controller = new AbortController();
      const { signal } = controller;
      const given = time.took(crowd.redlock.acquire("r", 60_000, { signal, waitTimeout: 5000 }));
      const next = time.took(crowd.redlock.acquire("s", 60_000, { waitTimeout: 5000 }));
      await time.pass(50);
      controller.abort();
      const outcome = await given;
      failed(outcome, "ABORTED");
      lasted(bench, outcome.took, 50, 55, "the call");
      await time.pass(351);
      const tap = await masters[0]!.tap().catch(() => undefined);
      await bench.faults.resume(masters);
      assert.equal((await next).value?.state, "held");
      assert.ok(!JSON.stringify(await tap?.commands()).includes('"r"'));
      await over(bench, crowd);
    },
    virtual,
  ),

  behaviour(
    "12.10",
    "A call that goes to a queue when it is admitted makes room for the next",
    async (bench) => {
      const { masters, time } = bench;
      await occupy(masters, "r");
      const redlock = await bench.redlock({ acquireConcurrency: 1 });
      const waiting = [1, 2, 3].map(() => time.took(redlock.acquire("r", 2000, { waitTimeout: 300 })));
      const next = await time.took(redlock.acquire("s", 2000));
      assert.equal(next.value?.state, "held");
      for (const one of waiting) failed(await one, "RESOURCE_LOCKED");
    },
    alone,
  ),
];
