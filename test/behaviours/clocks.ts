import assert from "node:assert/strict";
import type { ClockEvent, Lock, Redlock } from "@quorlock/redlock";
import { type Behaviour, type Bench, behaviour, type OpenOptions } from "./bench.ts";
import { failed, lasted, occupy, untilVoted, untilVotes, valuesOf, votesFor, within } from "./looking.ts";

const notOn = { "without scripts": "the watch of clocks needs scripts" };
const terms = { masters: 3, notOn, takes: "clocks" } as const;
const suspended = { ...terms, notOn: { ...notOn, real: "no test puts its machine to sleep" } };
/** By how much clocks are set, ms: every key has expired by then. */
const far = 40_000;

interface Watching {
  readonly redlock: Redlock;
  /** As `kind master-index`. */
  readonly told: string[];
  readonly events: ClockEvent[];
}

/** A client that has read all clocks once. */
async function watching(bench: Bench, options: OpenOptions = { clockWatch: true }): Promise<Watching> {
  const redlock = await bench.redlock(options);
  const [events, told]: [ClockEvent[], string[]] = [[], []];
  redlock.on("clock", (event) => {
    events.push(event);
    told.push(
      `${event.kind} ${bench.masters.findIndex((master) => bench.addressOf(redlock, master) === event.node)}`,
    );
  });
  assert.equal(await votesFor(redlock), bench.masters.length);
  return { redlock, told, events };
}

const exclude = { clockWatch: { exclude: true } };

/** A client that does not count masters with a wrong clock, and has read none yet. */
function excluding(bench: Bench, maxTtl?: number): Promise<Redlock> {
  return bench.redlock({ clockWatch: { exclude: true, ...(maxTtl && { maxTtl }) } });
}

/** A lock on "r" by the votes of the second and the third of three masters, of which the third one loses it by a step. */
async function heldAndForgotten({ faults, masters }: Bench, redlock: Redlock): Promise<Lock> {
  await occupy(masters.slice(0, 1), "r");
  const lock = await redlock.acquire("r", 10_000);
  await Promise.all(lock.attempts);
  await faults.lose(masters.slice(0, 1), "r");
  await faults.step(masters.slice(2), far);
  assert.deepEqual(await valuesOf(masters.slice(2), "r"), [null]);
  return lock;
}

/** Section 11 of docs/protocol.md. */
export const clocksOfMasters: readonly Behaviour[] = [
  ...[20_000, -20_000].map((by) =>
    behaviour(
      "11.1",
      `A clock that is set by ${by} ms is reported with its size, and so is its return`,
      async (bench) => {
        const { faults, masters } = bench;
        const { redlock, told, events } = await watching(bench);
        assert.deepEqual(told, []);
        await faults.step(masters.slice(2), by);
        assert.equal(await votesFor(redlock), 3, "it counts, unless it is excluded");
        await votesFor(redlock);
        assert.deepEqual(told, ["stepped 2", "skewed 2"]);
        for (const { offset, uncertainty } of events)
          within(bench, offset, by - uncertainty, by + uncertainty, "its size");
        await faults.step(masters.slice(2), -by);
        await votesFor(redlock);
        assert.deepEqual(told.slice(2), ["stepped 2", "synced 2"]);
      },
      terms,
    ),
  ),

  behaviour(
    "11.1",
    "The step and the sleep of the client's own machine are reported for no master",
    async (bench) => {
      const { time, faults } = bench;
      const { redlock, told } = await watching(bench);
      for (const by of [60_000, -120_000]) {
        await faults.step(redlock, by);
        await votesFor(redlock);
      }
      await faults.suspend(redlock, 5000);
      await votesFor(redlock);
      const asking = time.took(redlock.tryAcquire("r", 2000));
      await faults.suspend(redlock, 100);
      await asking;
      await votesFor(redlock);
      assert.deepEqual(told, []);
    },
    suspended,
  ),

  behaviour(
    "11.1",
    "A reading on whose way the client slept is as uncertain as the sleep was long",
    async (bench) => {
      const { time, faults, masters } = bench;
      const { redlock, told } = await watching(bench);
      await faults.step(redlock, -100);
      for (const ms of [400, 800]) {
        await faults.slow(redlock, masters.slice(2), 20, "replies");
        const asking = time.took(redlock.tryAcquire(`r${ms}`, 20_000));
        await time.pass(10);
        await faults.suspend(redlock, ms);
        await asking;
        await faults.slow(redlock, masters.slice(2), 0, "replies");
        await votesFor(redlock);
      }
      assert.deepEqual(told, []);
    },
    suspended,
  ),

  behaviour(
    "11.1",
    "A clock that is a little fast is not reported, though the client's machine slept for long",
    async (bench) => {
      const { time, faults, masters } = bench;
      const { redlock, told } = await watching(bench);
      await faults.drift(masters, 5);
      await faults.suspend(redlock, 60_000);
      await votesFor(redlock);
      await time.pass(10_000);
      await votesFor(redlock);
      assert.deepEqual(told, []);
    },
    suspended,
  ),

  behaviour(
    "11.2",
    "A client that has just started does not count a master whose clock is wrong",
    async (bench) => {
      const { faults, masters } = bench;
      const lock = await heldAndForgotten(bench, await bench.redlock());
      const reasons: string[] = [];
      const newcomer = await excluding(bench);
      newcomer.on("error", ({ reason }) => reasons.push(reason));
      // The clock that would show which one is wrong is read last.
      await faults.slow(newcomer, masters.slice(1, 2), 50, "replies");
      assert.equal(await newcomer.tryAcquire("r", 2000).catch(() => null), null);
      assert.deepEqual(reasons, ["CLOCK"]);
      assert.equal(lock.state, "held");
      assert.notEqual(
        await (await bench.redlock()).tryAcquire("r", 2000),
        null,
        "without the option it counts",
      );
    },
    terms,
  ),

  behaviour(
    "11.2",
    "Of two clocks that disagree neither counts until a third one is read",
    async (bench) => {
      const { time, faults, masters } = bench;
      await faults.step(masters.slice(2), far);
      const redlock = await excluding(bench);
      await faults.slow(redlock, masters.slice(1, 2), 50, "replies");
      const { took, value } = await time.took(redlock.acquire("r", 2000));
      assert.equal(value?.state, "held");
      lasted(bench, took, 50, 52, "the call");
      await faults.kill(masters.slice(1, 2));
      await time.pass(20);
      failed(await time.took(redlock.acquire("s", 2000)), "NO_QUORUM");
    },
    terms,
  ),

  behaviour(
    "11.2",
    "Clocks that agree to within maxOffset cost no time",
    async (bench) => {
      const { time, faults, masters } = bench;
      await faults.step(masters.slice(1, 2), 900);
      const redlock = await excluding(bench);
      await faults.hang(masters.slice(3));
      const { took } = await time.took(redlock.acquire("r", 2000));
      lasted(bench, took, 0, 2, "the call");
    },
    { ...terms, masters: 5 },
  ),

  behaviour(
    "11.3",
    "A client that saw a step counts the master again when the longest ttl has passed",
    async (bench) => {
      const { faults, masters } = bench;
      const { redlock } = await watching(bench, { clockWatch: { exclude: true, maxTtl: 4000 } });
      await faults.step(masters.slice(2), far);
      assert.equal(await votesFor(redlock), 2);
      await faults.step(masters.slice(2), -far);
      assert.equal(await votesFor(redlock), 2);
      lasted(bench, await untilVotes(bench, redlock, 3), 3950, 4050, "ms until it counts");
    },
    terms,
  ),

  behaviour(
    "11.3",
    "A lock that a master forgot is given to nobody who saw the step, though its clock is right again",
    async (bench) => {
      const { time, faults, masters } = bench;
      const { redlock } = await watching(bench, { clockWatch: { exclude: true, maxTtl: 10_000 } });
      const lock = await heldAndForgotten(bench, await bench.redlock());
      await votesFor(redlock);
      await faults.step(masters.slice(2), -far);
      for (; lock.state === "held"; await time.pass(100)) {
        const second = await redlock.tryAcquire("r", 2000).catch(() => null);
        assert.ok(second === null || lock.remaining() === 0, "two clients hold");
      }
    },
    terms,
  ),

  behaviour(
    "11.4",
    "A grant of a master that is excluded does not count",
    async (bench) => {
      const { time, faults, masters } = bench;
      const { redlock } = await watching(bench, { clockWatch: { exclude: true, maxTtl: 20_000 } });
      await faults.step(masters.slice(2), far);
      await votesFor(redlock);
      await faults.step(masters.slice(2), -far);
      const lock = await (await bench.redlock()).acquire("r", 20_000);
      await untilVoted(bench, masters, lock);
      const waiting = time.took(redlock.acquire("r", 2000, { waitTimeout: 1000 }));
      await time.pass(300);
      await faults.lose(masters.slice(0, 1), "r");
      await occupy(masters.slice(0, 1), "r");
      await lock.release();
      failed(await waiting, "RESOURCE_LOCKED");
    },
    terms,
  ),

  behaviour(
    "11.4",
    "Extensions, waiters, permits, readers and writers do not count a master with a wrong clock either",
    async (bench) => {
      const { time, faults, masters } = bench;
      const { client } = bench;
      const redlock = await bench.redlock(exclude);
      const lock = await redlock.acquire("r", 10_000);
      await Promise.all(lock.attempts);
      await faults.step(masters.slice(2), 5000);
      await faults.slow(redlock, masters.slice(1, 2), 50, "replies");
      await faults.kill(masters.slice(0, 1));
      await time.pass(20);
      const asked: Record<string, () => Promise<unknown>> = {
        lock: () => redlock.tryAcquire("other", 2000),
        extension: () => lock.extend(10_000),
        permit: () => new client.Semaphore(redlock, "permits", 1).tryAcquire(2000),
        reader: () => new client.ReadWriteLock(redlock, "document").tryRead(2000),
        writer: () => new client.ReadWriteLock(redlock, "document").tryWrite(2000),
        waiter: () => redlock.acquire("waited", 2000, { waitTimeout: 300 }),
      };
      for (const [name, ask] of Object.entries(asked)) {
        const { value } = await time.took(ask());
        assert.ok(!value, `it counts for a ${name}`);
      }
    },
    terms,
  ),

  behaviour(
    "11.4",
    "A vote and the reading of the clock are one command",
    async (bench) => {
      const { masters } = bench;
      const redlock = await excluding(bench);
      const tap = await masters[0]!.tap();
      await Promise.all((await redlock.acquire("r", 2000)).attempts);
      assert.equal((await tap.commands()).length, 1);
    },
    { notOn },
  ),
];
