import assert from "node:assert/strict";
import type { Lock } from "@quorlock/redlock";
import { type Behaviour, type Bench, behaviour } from "./bench.ts";
import {
  endsBeforeItsKeys,
  failed,
  held,
  lasted,
  lifetimesOn,
  occupy,
  throwing,
  untilGone,
  untilVoted,
  valuesOf,
  within,
} from "./looking.ts";

const noBatches = {
  "without scripts": "a transaction takes several commands",
  "a Cluster": "it has no batches",
};
const alone = { real: "what is on its way at one moment is not seen there" } as const;
const noTurns = { real: "a process that is blocked would have to be another one" } as const;

/** As many names. */
function names(count: number, prefix = "r"): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index}`);
}

/** How many keys of this prefix a master has. */
async function keysOn({ masters }: Bench, prefix: string): Promise<number> {
  const all = await Promise.all(names(1000, prefix).map((key) => masters[0]!.call("EXISTS", key)));
  return all.filter((one) => one === 1).length;
}

const batchCases: readonly Behaviour[] = [
  behaviour(
    "12.1",
    "Locks that are asked for in one turn reach each master together",
    async (bench) => {
      const { masters } = bench;
      const redlock = await bench.redlock();
      const taps = await Promise.all(masters.map((master) => master.tap()));
      await Promise.all(names(20).map((name) => redlock.acquire(name, 2000)));
      for (const tap of taps) {
        const sent = (await tap.commands()).filter(([command]) => command === "EVALSHA");
        assert.equal(sent.length, 1);
      }
    },
    { masters: 3, notOn: noBatches },
  ),

  behaviour(
    "12.1",
    "Each master is sent what it was asked, and nothing else",
    async (bench) => {
      const redlocks = [await bench.redlock(), await bench.redlock()];
      const asked = redlocks.flatMap((redlock, index) =>
        names(3, `r${index}`).map((name) => redlock.acquire(name, 2000)),
      );
      for (const lock of await Promise.all(asked)) await untilVoted(bench, bench.masters, lock);
    },
    { masters: 3 },
  ),

  behaviour(
    "12.2",
    "A call that is given up before it is sent is not sent, and nothing is for it",
    async (bench) => {
      const { masters, time } = bench;
      const redlock = await bench.redlock();
      const tap = await masters[0]!.tap();
      const others: Promise<Lock>[] = [];
      // Two commands without an answer: others wait for one.
      for (const name of names(2)) {
        others.push(redlock.acquire(name, 2000));
        await time.pass(0.1);
      }
      const controller = new AbortController();
      const asked = time.took(redlock.acquire("given up", 20_000, { signal: controller.signal }));
      await time.pass(0.1);
      controller.abort();
      failed(await asked, "ABORTED");
      await Promise.all(others);
      await time.pass(50);
      const sent = JSON.stringify(await tap.commands());
      assert.ok(!sent.includes("given up"), `sent: ${sent}`);
      for (const value of await valuesOf(masters, "given up")) assert.equal(value, null);
    },
    { masters: 3, notOn: { ...noBatches, ...alone } },
  ),

  behaviour(
    "12.3",
    "Each of several locks that are asked for together has its own answer",
    async (bench) => {
      const { masters } = bench;
      const redlock = await bench.redlock();
      await occupy(masters, "r0");
      const asked = names(3).map((name) => redlock.tryAcquire(name, 2000));
      const [refused, ...granted] = await Promise.all(asked);
      assert.equal(refused, null);
      for (const lock of granted) await endsBeforeItsKeys(bench, lock!);
      await Promise.all(granted.map((lock) => lock!.release()));
      const [again] = await Promise.all([redlock.tryAcquire("r0", 2000), redlock.tryAcquire("r1", 2000)]);
      assert.equal(again, null);
    },
    { masters: 3 },
  ),

  behaviour(
    "12.4",
    "Each of several locks that are asked for together has its own ttl",
    async (bench) => {
      const { masters } = bench;
      const redlock = await bench.redlock();
      const ttls = [1000, 5000, 3000];
      const locks = await Promise.all(ttls.map((ttl, index) => redlock.acquire(`r${index}`, ttl)));
      for (const [index, ttl] of ttls.entries()) {
        await untilVoted(bench, masters, locks[index]!);
        for (const left of await lifetimesOn(masters, `r${index}`))
          within(bench, left, ttl - 10, ttl, "a key");
        await endsBeforeItsKeys(bench, locks[index]!);
      }
    },
    { masters: 3 },
  ),

  behaviour(
    "12.5",
    "What is asked for in one turn is done in that order",
    async (bench) => {
      const { redlock, lock } = await held(bench);
      const released = lock.release();
      const again = redlock.acquire("r", 2000);
      assert.equal((await released).outcome, "released");
      await untilVoted(bench, bench.masters, await again);
    },
    { masters: 3 },
  ),

  behaviour(
    "12.5",
    "A key that no lock can have fails its own call, and none beside it",
    async (bench) => {
      const { masters, time } = bench;
      const redlock = await bench.redlock();
      await Promise.all(masters.map((master) => master.call("RPUSH", "r0", "a list")));
      const asked = names(3).map((name) => time.took(redlock.acquire(name, 2000)));
      const [broken, ...others] = await Promise.all(asked);
      assert.ok(broken!.error, "a list is a lock");
      for (const { value } of others) assert.equal(value?.state, "held");
    },
    { masters: 3 },
  ),

  behaviour(
    "12.5",
    "An error that a script meets at one lock is not that of those beside it",
    async (bench) => {
      const { masters, time } = bench;
      const redlock = await bench.redlock({ fencing: true });
      await Promise.all(masters.map((master) => master.call("RPUSH", "quorlock:fence:r0", "no counter")));
      const asked = names(3).map((name) => time.took(redlock.acquire(name, 2000)));
      const [broken, ...others] = await Promise.all(asked);
      failed(broken!, "NO_QUORUM");
      for (const { value } of others) assert.equal(value?.state, "held");
    },
    { masters: 3, notOn: noBatches },
  ),
];

const clusterCases: readonly Behaviour[] = [
  behaviour(
    "12.6",
    "A Cluster is asked for each lock by itself",
    async (bench) => {
      const redlock = await bench.redlock();
      const tap = await bench.masters[0]!.tap();
      const locks = await Promise.all(names(5).map((name) => redlock.acquire(name, 2000)));
      assert.equal((await tap.commands()).length, 5);
      const released = await Promise.all(locks.map((lock) => lock.release()));
      for (const { outcome } of released) assert.equal(outcome, "released");
    },
    { isCluster: true },
  ),

  behaviour(
    "12.6",
    "While a slot moves, no writer is let in beside the readers of its lock",
    async (bench) => {
      const { faults, masters, time } = bench;
      const redlocks = [await bench.redlock(), await bench.redlock()];
      const [reader, writer] = redlocks.map((redlock) => new bench.client.ReadWriteLock(redlock, "r"));
      const reading = await reader!.read(20_000);
      await faults.moveSlot(masters[0]!, 20, 200);
      for (let count = 0; count < 25; count += 1) {
        assert.equal(await writer!.tryWrite(5000).catch(() => null), null);
        await time.pass(10);
      }
      await reading.extend(20_000);
      assert.equal((await reading.release()).outcome, "released");
      assert.equal((await writer!.write(5000)).state, "held");
    },
    { isCluster: true, notOn: { real: "test/integration/connections moves slots of a real one" } },
  ),
];

const windowCases: readonly Behaviour[] = [
  behaviour(
    "12.7",
    "An extension does not wait behind hundreds of releases",
    async (bench) => {
      const { faults, masters, time } = bench;
      const { redlock, lock } = await held(bench, 20_000);
      const locks: Lock[] = [];
      for (const name of names(600)) locks.push(await redlock.acquire(name, 60_000));
      await faults.slow(redlock, masters, 20, "requests");
      const releases = locks.map((one) => time.took(one.release()));
      await time.pass(5);
      const extended = await time.took(lock.extend(20_000));
      lasted(bench, extended.took, 0, 30, "the extension");
      for (const one of await Promise.all(releases)) assert.equal(one.error, undefined);
      assert.equal(await keysOn(bench, "r"), 0);
    },
    { masters: 1, notOn: { ...noBatches, ...alone } },
  ),

  behaviour(
    "12.8",
    "A vote that is given up on its way is followed by its rollback",
    async (bench) => {
      const { faults, masters, time } = bench;
      const redlock = await bench.redlock();
      await faults.slow(redlock, masters, 50, "requests");
      const controller = new AbortController();
      const asked = time.took(redlock.acquire("r", 60_000, { signal: controller.signal }));
      await time.pass(10);
      controller.abort();
      failed(await asked, "ABORTED");
      await time.pass(150);
      await untilGone(bench, masters, "r");
    },
    { masters: 3 },
  ),

  behaviour(
    "12.8",
    "A vote that is given up while it waits to be sent leaves no key, though its rollback goes first",
    async (bench) => {
      const { masters, time } = bench;
      const redlock = await bench.redlock();
      // Two commands without an answer: the next ones wait here.
      for (const name of names(2)) {
        void time.took(redlock.acquire(name, 2000));
        await time.pass(0.1);
      }
      const controller = new AbortController();
      const asked = names(3, "given up ").map((name) =>
        time.took(redlock.acquire(name, 60_000, { signal: controller.signal })),
      );
      await time.pass(0.1);
      controller.abort();
      for (const one of await Promise.all(asked)) failed(one, "ABORTED");
      await time.pass(50);
      for (const name of names(3, "given up ")) await untilGone(bench, masters, name);
    },
    { masters: 3, notOn: alone },
  ),

  behaviour(
    "12.9",
    "A process that was blocked for longer than masters may take reads their answers all the same",
    async (bench) => {
      const { faults, time } = bench;
      const redlock = await bench.redlock({ nodeTimeout: 100 });
      const asked = time.took(redlock.acquire("r", 5000));
      await faults.block(redlock, 400);
      assert.equal((await asked).value?.state, "held");
    },
    { masters: 3, notOn: noTurns },
  ),

  behaviour(
    "12.9",
    "Locks by the hundred are extended and released though their answers take a while",
    async (bench) => {
      const { faults, masters } = bench;
      const redlock = await bench.redlock();
      const locks: Lock[] = [];
      for (const name of names(600)) locks.push(await redlock.acquire(name, 20_000));
      await faults.slow(redlock, masters, 40);
      await Promise.all(locks.map((lock) => lock.extend(20_000)));
      const released = await Promise.all(locks.map((lock) => lock.release()));
      for (const { outcome } of released) assert.equal(outcome, "released");
      assert.equal(await keysOn(bench, "r"), 0);
    },
    { masters: 1, notOn: { ...noBatches, ...alone } },
  ),
];

/** How many of a thousand calls masters have heard of, when the first answers are on their way. */
async function roundsAtOnce(bench: Bench, options: object, prepare?: "slow rounds"): Promise<number> {
  const { faults, masters, time } = bench;
  const redlock = await bench.redlock(options);
  if (prepare) {
    await redlock.acquire("quick", 1000);
    await faults.slow(redlock, masters, 150, "replies");
    await time.took(redlock.acquire("slow", 1000));
  }
  await faults.slow(redlock, masters, 50);
  const asked = names(200, "n").map((name) => time.took(redlock.acquire(name, 60_000)));
  await time.pass(60);
  const count = await keysOn(bench, "n");
  await faults.slow(redlock, masters, 0);
  await Promise.all(asked);
  await redlock.quit();
  return count;
}

const admissionCases: readonly Behaviour[] = [
  behaviour(
    "12.10",
    "Sixty-four calls ask at a time at first, or as many as acquireConcurrency says",
    async (bench) => {
      assert.equal(await roundsAtOnce(bench, { acquireConcurrency: 5 }), 5);
      await bench.masters[0]!.call("FLUSHALL");
      // One more for the round that was in time.
      within(bench, await roundsAtOnce(bench, {}), 64, 65, "calls");
    },
    { masters: 1, notOn: alone },
  ),

  behaviour(
    "12.10",
    "Half as many ask at a time when masters take long",
    async (bench) => {
      within(bench, await roundsAtOnce(bench, {}, "slow rounds"), 32, 33, "calls");
    },
    { masters: 1, notOn: alone },
  ),

  behaviour(
    "12.10",
    "A call waits for its turn to ask no longer than its own time",
    async (bench) => {
      const { faults, masters, time } = bench;
      const redlock = await bench.redlock({ acquireConcurrency: 1 });
      await faults.hang(masters);
      const first = time.took(redlock.acquire("r", 5000, { nodeTimeout: 3000 }));
      const timed = time.took(redlock.acquire("s", 5000, { waitTimeout: 400 }));
      const single = time.took(redlock.acquire("t", 5000, { nodeTimeout: 200 }));
      lasted(bench, (await single).took, 0, 200, "one that does not retry");
      lasted(bench, (await timed).took, 0, 600, "one that waits");
      await faults.resume(masters);
      await first;
    },
    { masters: 3 },
  ),

  behaviour(
    "12.10",
    "A call that throws makes room for the next",
    async (bench) => {
      const { masters, time } = bench;
      const redlock = await bench.redlock({ acquireConcurrency: 1 });
      await occupy(masters, "r");
      const thrown = redlock.acquire("r", 2000, { retryCount: 3, backoff: throwing, waitTimeout: 1000 });
      const waiting = time.took(redlock.acquire("s", 2000));
      await assert.rejects(thrown, /no pause/);
      assert.equal((await waiting).value?.state, "held");
    },
    { masters: 3 },
  ),

  behaviour(
    "12.11",
    "No new lock is asked for while the extensions of hundreds are late",
    async (bench) => {
      const { faults, masters, time } = bench;
      const redlock = await bench.redlock({ nodeTimeout: 400 });
      const controller = new AbortController();
      const { signal } = controller;
      const uses = names(150).map((name) =>
        redlock.using(
          name,
          1200,
          { signal },
          (aborted) =>
            new Promise<void>((resolve) => {
              aborted.addEventListener("abort", () => resolve(), { once: true });
            }),
        ),
      );
      await time.pass(100);
      assert.equal((await redlock.acquire("early", 1000)).state, "held");
      await faults.slow(redlock, masters, 200, "replies");
      await time.pass(550);
      const held = await time.took(redlock.acquire("late", 1000));
      failed(held, "NO_QUORUM");
      assert.match(String(held.error), /extensions are \d+ ms late/);
      await faults.slow(redlock, masters, 0);
      await time.pass(1500);
      assert.equal((await redlock.acquire("again", 1000)).state, "held");
      controller.abort();
      await Promise.allSettled(uses);
    },
    { masters: 1, notOn: alone },
  ),
];

/** Section 12 of docs/protocol.md. */
export const load: readonly Behaviour[] = [...batchCases, ...clusterCases, ...windowCases, ...admissionCases];
