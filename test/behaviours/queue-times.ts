import assert from "node:assert/strict";
import type { LockNode } from "@quorlock/redlock";
import { type Behaviour, type Bench, behaviour } from "./bench.ts";
import {
  changed,
  endsBeforeItsKeys,
  handOver,
  held,
  lasted,
  occupy,
  untilGone,
  untilWaiting,
  valuesOf,
  waitingCall,
  within,
} from "./looking.ts";

const noQueue = { "without scripts": "it keeps no queue", "a Cluster": "it keeps no queue" } as const;
const terms = { masters: 3, notOn: noQueue };
const virtual = { masters: 3, notOn: { real: "it is about milliseconds" } };
const patient = { waitTimeout: 60_000 };

/** Masters of which no grant is heard, nor whether any would be. */
function deaf(nodes: readonly LockNode[]): readonly LockNode[] {
  return nodes.map((node) =>
    changed(node, { queue: { isListening: false, listen: () => new Promise(() => {}) } }),
  );
}

/** A call that waits, has its votes, and sends them a larger token, which takes 600 ms. */
async function storing(bench: Bench, signal?: AbortSignal) {
  const { faults, masters, time } = bench;
  const { redlock, lock } = await held(bench, 20_000);
  const waiter = await bench.redlock({ fencing: true, nodeTimeout: 900 });
  const demanding = { ...patient, minimumValidity: 3500, retryDelay: 20_000, retryJitter: 0, signal };
  const waiting = time.took(waiter.acquire("r", 4000, demanding));
  await untilWaiting(bench, redlock, 1);
  await time.pass(100);
  const ahead = (Number(((await masters[0]!.call("TIME")) as string[])[0]) + 600) * 1e6;
  for (const master of masters) await master.call("SET", "quorlock:fence:r", ahead);
  await faults.slow(waiter, masters, 600, "requests");
  await lock.release();
  await time.pass(50);
  return { redlock, waiter, waiting, ahead };
}

/** Rules 2.5, 7.1, 7.2, 7.5, 7.7, 7.8, 7.11, 7.15, 7.16, 7.17 and 8.2 of docs/protocol.md: how soon a call that waits has its turn. */
export const queueTimes: readonly Behaviour[] = [
  behaviour(
    "2.5",
    "A call that demands more than its votes have leaves the queues, and comes back behind those that called meanwhile",
    async (bench) => {
      const { faults, masters, time } = bench;
      const { redlock, lock } = await held(bench, 20_000);
      const [slow, other] = [await bench.redlock(), await bench.redlock()];
      await faults.slow(slow, masters, 60, "replies");
      const demanding = { ...patient, minimumValidity: 3950, retryDelay: 100, retryJitter: 0 };
      void time.took(slow.acquire("r", 4000, demanding));
      await untilWaiting(bench, redlock, 1);
      await time.pass(300);
      for (const name of ["the first", "the second"]) {
        const waiting = time.took(other.acquire("r", 20_000, patient));
        await time.pass(300);
        if (name === "the first") await lock.release();
        lasted(bench, (await waiting).took, 0, 700, name);
        await time.pass(50);
        await (await waiting).value!.release();
      }
      await slow.quit();
    },
    virtual,
  ),

  behaviour(
    "7.1",
    "A call for what was refused to its process just now stands in the queue at once, without a vote before",
    async (bench) => {
      const { masters, time } = bench;
      const { redlock } = await held(bench, 20_000);
      const other = await bench.redlock();
      const tap = await masters[0]!.tap();
      const asked = async (options: object) => {
        const before = (await tap.commands()).length;
        const waiting = time.took(other.acquire("r", 20_000, { waitTimeout: 150, ...options }));
        await untilWaiting(bench, redlock, 1);
        const sent = (await tap.commands()).slice(before);
        await waiting;
        return sent.filter(([name]) => name === "SET").length;
      };
      assert.deepEqual([await asked({}), await asked({})], [1, 0]);
      await time.pass(1100);
      assert.equal(await asked({}), 1);
    },
    virtual,
  ),

  behaviour(
    "7.2",
    "What one master alone says of tickets changes no order",
    async (bench) => {
      const { faults, masters, time } = bench;
      const { redlock, lock } = await held(bench, 20_000);
      const [first, second] = [await bench.redlock(), await bench.redlock()];
      const ahead = (Number(((await masters[0]!.call("TIME")) as string[])[0]) + 60) * 1e6;
      await masters[0]!.call("ZADD", "quorlock:queue:{r}", ahead, "nobody");
      const early = first.acquire("r", 20_000, patient);
      await time.until("it waits", async () => (await redlock.inspect("r"))[1]!.queueLength === 1);
      await time.pass(300);
      await faults.cut(second, masters.slice(0, 1));
      const late = time.took(second.acquire("r", 20_000, patient));
      await time.until("both wait", async () => (await redlock.inspect("r"))[1]!.queueLength === 2);
      await lock.release();
      const one = await early;
      await time.pass(100);
      await one.release();
      assert.equal((await late).value?.state, "held");
    },
    terms,
  ),

  behaviour(
    "7.5",
    "A grant that masters refuse counts nowhere but where the key is written, and its fencing token stored",
    async (bench) => {
      const { faults, masters, time } = bench;
      for (const fencing of [false, true]) {
        const [holder, waiter] = [await bench.redlock({ fencing }), await bench.redlock({ fencing })];
        for (const why of ["OOM", "NOREPLICAS", "READONLY"] as const)
          for (const count of [1, 2, 3]) {
            // A key that lives on where its release was refused would be free sooner there.
            await untilGone(bench, masters, "r");
            const lock = await holder.acquire("r", 20_000);
            await Promise.all(lock.attempts);
            const waiting = waiter.acquire("r", 1000, patient);
            await untilWaiting(bench, holder, 1);
            // A master that refuses its release too keeps the key no longer than that.
            await lock.extend(700);
            await faults.refuseWrites(masters.slice(0, count), why);
            // A full master still extends.
            if (why === "OOM") await lock.extend(700);
            await lock.release();
            const early = await Promise.race([waiting, time.pass(300)]);
            assert.equal(early !== undefined, count === 1 || why === "OOM", `${count} refuse by ${why}`);
            if (early) await endsBeforeItsKeys(bench, early);
            await faults.refuseWrites(masters, undefined);
            const granted = await waiting;
            await endsBeforeItsKeys(bench, granted);
            const stored = await valuesOf(masters, "quorlock:fence:r");
            assert.ok(stored.filter((token) => Number(token) >= (granted.fencingToken ?? 0)).length >= 2);
            await Promise.all((await granted.release()).attempts);
          }
      }
    },
    terms,
  ),

  behaviour(
    "7.7",
    "Votes of a grant with less than half of the ttl left are renewed before they are used",
    async (bench) => {
      const { time } = bench;
      const { lock, waiting } = await waitingCall(bench, 400, { nodeTimeout: 100 });
      await time.pass(215);
      await lock.release();
      within(bench, (await waiting).value!.remaining(), 385, 400, "what remains");
    },
    virtual,
  ),

  behaviour(
    "7.8",
    "A call that hears of a free key from less than a majority asks all within a nodeTimeout",
    async (bench) => {
      const { faults, masters, time } = bench;
      for (const resources of [["r"], ["r", "s"]]) {
        const { lock, waiter, waiting } = await waitingCall(bench, 20_000, {}, resources);
        await time.pass(100);
        await faults.cut(waiter, masters.slice(1), "pushes");
        const released = time.now();
        await lock.release();
        const { value } = await waiting;
        lasted(bench, time.now() - released, 200, 205, "the wait");
        await value!.release();
      }
    },
    virtual,
  ),

  behaviour(
    "7.8",
    "A call with too few votes gives them up at once, and asks no more than twice in a nodeTimeout",
    async (bench) => {
      const { masters, time } = bench;
      await occupy(masters.slice(1), "r");
      const waiter = await bench.redlock();
      const tap = await masters[1]!.tap();
      void time.took(waiter.acquire("r", 20_000, { ...patient, retryDelay: 20_000 }));
      const counts: number[] = [];
      for (let count = 0; count < 4; count += 1) {
        await time.pass(150);
        const asked = (await tap.commands()).filter((words) => words.at(-1)!.startsWith("quorlock:inbox:"));
        counts.push(asked.length);
      }
      assert.deepEqual(counts, [2, 4, 6, 6]);
      await waiter.quit();
    },
    virtual,
  ),

  behaviour(
    "7.11",
    "A waiter that has a vote asks again once the key of another program has expired",
    async (bench) => {
      const { time, masters } = bench;
      const redlock = await bench.redlock();
      await masters[1]!.call("SET", "r", "foreign", "PX", 150);
      const { took, value } = await time.took(redlock.acquire("r", 30_000, { waitTimeout: 400 }));
      assert.equal(value?.state, "held");
      lasted(bench, took, 140, 200, "the wait");
    },
    { masters: 2, notOn: { "without scripts": "it keeps no queue", "a Cluster": "it keeps no queue" } },
  ),

  behaviour(
    "7.11",
    "A heartbeat comes each quarter of the ttl, and a place in the queue outlives two that are lost",
    async (bench) => {
      const { faults, masters, time } = bench;
      const { redlock, lock, waiter, waiting } = await waitingCall(bench, 2000);
      await time.pass(100);
      await faults.cut(waiter, masters, "requests");
      await time.pass(1350);
      await untilWaiting(bench, redlock, 1);
      await faults.heal(waiter, masters);
      await lock.release();
      await (await waiting).value!.release();
      const { lock: next } = await held(bench, 20_000);
      const shorter = waiter.acquire("r", 1000, patient);
      await untilWaiting(bench, redlock, 1);
      await faults.cut(waiter, masters, "pushes");
      await time.pass(300);
      await handOver(bench, next, shorter, 260);
    },
    virtual,
  ),

  behaviour(
    "7.11",
    "A call whose answers take longer than a heartbeat has its turn",
    async (bench) => {
      const { faults, masters, time } = bench;
      const { redlock, lock } = await held(bench, 20_000);
      const waiter = await bench.redlock({ nodeTimeout: 900 });
      await faults.slow(waiter, masters, 150);
      const waiting = time.took(waiter.acquire("r", 1000, patient));
      await untilWaiting(bench, redlock, 1);
      await time.pass(500);
      assert.equal((await handOver(bench, lock, waiting, 1000)).value?.state, "held");
    },
    virtual,
  ),

  behaviour(
    "7.11",
    "A call asks again as soon as the lock in its way has expired, or its connections are back",
    async (bench) => {
      const { faults, masters, time } = bench;
      await occupy(masters, "r", 1500);
      const waiter = await bench.redlock();
      const expired = await time.took(waiter.acquire("r", 20_000, { ...patient, retryDelay: 20_000 }));
      lasted(bench, expired.took, 1490, 1510, "the wait for the end of a lock");
      await expired.value!.release();
      const { redlock, lock } = await held(bench, 20_000);
      const waiting = time.took(waiter.acquire("r", 20_000, patient));
      await untilWaiting(bench, redlock, 1);
      await time.pass(100);
      await faults.reset(waiter, masters);
      await handOver(bench, lock, waiting, 400);
    },
    virtual,
  ),

  behaviour(
    "7.11",
    "A call that hears no grants, or waits for a client without a queue, asks by its retryDelay",
    async (bench) => {
      const { faults, masters, time } = bench;
      const { redlock, lock } = await held(bench, 20_000);
      const often = { ...patient, retryDelay: 70, retryJitter: 0 };
      const waiting = time.took((await bench.redlock({ through: deaf })).acquire("r", 20_000, often));
      await untilWaiting(bench, redlock, 1);
      await time.pass(300);
      await (await handOver(bench, lock, waiting, 75)).value!.release();
      await occupy(masters, "r");
      const other = time.took((await bench.redlock()).acquire("r", 20_000, often));
      await time.pass(300);
      await faults.lose(masters, "r");
      const lost = time.now();
      await other;
      lasted(bench, time.now() - lost, 0, 75, "the wait");
    },
    virtual,
  ),

  behaviour(
    "7.11",
    "A call that waits has a released lock, or that of a dead process, as soon beside a master that hangs",
    async (bench) => {
      const { faults, masters, time } = bench;
      const { lock, waiting } = await waitingCall(bench, 1500, { nodeTimeout: 1400 });
      const other = await bench.redlock();
      await faults.hang(masters.slice(2));
      await handOver(bench, lock, waiting, 400);
      const { took } = await time.took(other.acquire("r", 20_000, { ...patient, nodeTimeout: 4000 }));
      lasted(bench, took, 1000, 2500, "the wait for the end of a lock");
      await faults.resume(masters);
    },
    terms,
  ),

  behaviour(
    "7.16",
    "A lock that is not fresh, or has a fencing token, is not handed on as it is",
    async (bench) => {
      const { time } = bench;
      for (const [fencing, age] of [
        [false, 450],
        [true, 0],
      ] as const) {
        const { redlock, lock: before } = await held(bench, 60_000);
        const own = await bench.redlock({ waitTimeout: 60_000, fencing });
        const [first, second] = [own.acquire("r", 4000), own.acquire("r", 4000)];
        await untilWaiting(bench, redlock, 1);
        await before.release();
        const lock = await first;
        await time.pass(age);
        await lock.release();
        const next = await second;
        within(bench, next.remaining(), 3900, 4000, "what remains");
        if (fencing) assert.ok(next.fencingToken! > lock.fencingToken!, `${next.fencingToken}`);
        await next.release();
      }
    },
    virtual,
  ),

  behaviour(
    "7.17",
    "The next call of a process that hears no grants asks once more behind the release, without retryDelay",
    async (bench) => {
      const { time } = bench;
      const { redlock, lock: before } = await held(bench, 60_000);
      const own = await bench.redlock({ ...patient, retryDelay: 900, retryJitter: 0, through: deaf });
      const [first, second] = [own.acquire("r", 4000), own.acquire("r", 4000)];
      await untilWaiting(bench, redlock, 1);
      await before.release();
      const lock = await first;
      await time.pass(600);
      await handOver(bench, lock, second, 5);
    },
    virtual,
  ),

  behaviour(
    "8.2",
    "A token that is not stored is no lock: the call that waits asks at once, and has one with its full time",
    async (bench) => {
      const { faults, masters, time } = bench;
      const { waiter, waiting, ahead } = await storing(bench);
      await faults.lose(masters, "r");
      await faults.slow(waiter, masters, 0);
      const begun = time.now();
      const next = (await waiting).value!;
      lasted(bench, time.now() - begun, 0, 600, "the wait");
      within(bench, next.remaining(), 3500, 4000, "what remains");
      assert.ok(next.fencingToken! > ahead, `${next.fencingToken}`);
    },
    virtual,
  ),

  behaviour(
    "8.2",
    "A call whose token is stored too late, or that is given up meanwhile, leaves the lock to the next",
    async (bench) => {
      const { time } = bench;
      for (const [isGivenUp, most] of [
        [false, 1160],
        [true, 620],
      ] as const) {
        const controller = new AbortController();
        const { redlock, waiter, waiting } = await storing(bench, controller.signal);
        const next = time.took(redlock.acquire("r", 20_000, patient));
        if (isGivenUp) controller.abort();
        lasted(bench, (await next).took, 0, most, "the wait");
        await waiter.quit();
        assert.equal((await waiting).value, undefined);
        await (await next).value!.release();
      }
    },
    virtual,
  ),
];
