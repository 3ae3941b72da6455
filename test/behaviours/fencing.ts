import assert from "node:assert/strict";
import type { Redlock } from "@quorlock/redlock";
import { type Behaviour, type Bench, behaviour, type Master, type OpenOptions } from "./bench.ts";
import { changed, failed, lasted, untilGone, untilVotes, valuesOf, votesFor, within } from "./looking.ts";

const hour = 3_600_000;
/** The longest ttl of the guarded cases, ms. */
const maxTtl = 2000;

const scripts = { "without scripts": "fencing needs scripts" };
const machineClock = { ...scripts, real: "no test steps the clock of its machine" };

/** A client that fences, whose clock is off by so much, ms. */
async function fencing(bench: Bench, offset = 0, options: OpenOptions = {}): Promise<Redlock> {
  const redlock = await bench.redlock({ fencing: true, ...options });
  if (offset !== 0) await bench.faults.step(redlock, offset);
  return redlock;
}

/** The token of one more lock, which all masters have voted for, and have released. */
async function tokenOf(redlock: Redlock, resource = "r"): Promise<number> {
  const lock = await redlock.acquire(resource, maxTtl);
  await Promise.all(lock.attempts);
  await Promise.all((await lock.release()).attempts);
  return lock.fencingToken!;
}

/** Sets the stored counter of "r" on the masters, as if a client had been so far ahead. */
async function counted(masters: readonly Master[], counter: number | string): Promise<void> {
  await Promise.all(masters.map((master) => master.call("SET", "quorlock:fence:r", counter)));
}

/** Between the votes and the storing of a larger token the key is lost on some masters. */
function losing({ faults, masters }: Bench, places: readonly number[]): NonNullable<OpenOptions["through"]> {
  return (nodes) =>
    nodes.map((node, place) =>
      changed(node, {
        ask: (question, index, sink) => {
          const isStoring = question.verb === "extend" && question.proposal !== undefined;
          if (!isStoring || !places.includes(place)) return node.ask(question, index, sink);
          void faults.lose([masters[place]!], "r").then(() => node.ask(question, index, sink));
        },
      }),
    );
}

/** Section 8 of docs/protocol.md. */
export const fencingTokens: readonly Behaviour[] = [
  behaviour(
    "8.1",
    "The token is the time, and the votes store it: there is no further command",
    async (bench) => {
      const { masters } = bench;
      const redlock = await fencing(bench);
      const taps = await Promise.all(masters.map((master) => master.tap()));
      const from = Number(((await masters[0]!.call("TIME")) as string[])[0]) * 1e6;
      const lock = await redlock.acquire("r", 2000);
      await Promise.all(lock.attempts);
      for (const tap of taps) assert.equal((await tap.commands()).length, 1, "a vote is one command");
      const ahead = lock.fencingToken! - from;
      assert.ok(ahead > -10e6 && ahead < 10e6, `${lock.fencingToken} is not about ${from}`);
      for (const stored of await valuesOf(masters, "quorlock:fence:r"))
        assert.equal(Number(stored), lock.fencingToken);
    },
    { notOn: scripts },
  ),

  behaviour(
    "8.1",
    "Each lock has a larger token than all before it, whichever masters have voted",
    async (bench) => {
      const { faults, masters } = bench;
      const redlock = await fencing(bench);
      const tokens: number[] = [];
      for (const away of [[], [3, 4], [0, 1], [2, 4], [0, 3], [1, 2]]) {
        const hung = masters.filter((_, place) => away.includes(place));
        await faults.hang(hung);
        tokens.push(await tokenOf(redlock));
        await faults.resume(hung);
        await untilGone(bench, masters, "r");
      }
      assert.deepEqual(
        tokens,
        [...new Set(tokens)].sort((a, b) => a - b),
      );
    },
    { notOn: scripts },
  ),

  behaviour(
    "8.2",
    "The token is larger than one of a client whose clock is ahead, and so is the one after it",
    async (bench) => {
      const first = await tokenOf(await fencing(bench, hour));
      const second = await tokenOf(await fencing(bench));
      const third = await tokenOf(await fencing(bench, -hour));
      const fourth = await tokenOf(await fencing(bench));
      assert.deepEqual([second, third, fourth], [first + 1, first + 2, first + 3]);
    },
    { notOn: machineClock },
  ),

  behaviour(
    "8.2",
    "A larger token is stored before the lock is granted, and the lock is no shorter for that",
    async (bench) => {
      const { masters } = bench;
      await counted(masters, 4e15);
      const lock = await (await fencing(bench)).acquire("r", 2000);
      assert.equal(lock.fencingToken, 4e15 + 1);
      const stored = (await valuesOf(masters, "quorlock:fence:r")).filter(
        (one) => one === "4000000000000001",
      );
      assert.ok(stored.length >= 3, `${stored.length} masters have stored it`);
      within(bench, lock.remaining(), 1970, 1979, "what remains");
    },
    { notOn: scripts },
  ),

  behaviour(
    "8.2",
    "A master on which the key was lost meanwhile stores no token, and does not count",
    async (bench) => {
      const { time, masters } = bench;
      await counted(masters, 4e15);
      const one = await fencing(bench, 0, { through: losing(bench, [0]) });
      assert.equal(await tokenOf(one), 4e15 + 1);
      const two = await fencing(bench, 0, { through: losing(bench, [0, 1]) });
      failed(await time.took(two.acquire("r", 2000)), "NO_QUORUM");
      await untilGone(bench, masters, "r");
    },
    { masters: 3, notOn: scripts },
  ),

  behaviour(
    "8.2",
    "A master on which the key was lost meanwhile keeps no fenced lock alive",
    async (bench) => {
      const { time, faults, masters } = bench;
      await counted(masters, 4e15);
      const redlock = await fencing(bench, 0, { through: losing(bench, [0]) });
      await faults.slow(redlock, masters.slice(1), 20, "replies");
      const lock = await redlock.acquire("r", 5000);
      await faults.hang(masters.slice(0, 1));
      await faults.lose(masters.slice(1, 2), "r");
      await time.took(lock.verify());
      assert.equal(lock.loss?.reason, "MAJORITY");
      await faults.resume(masters);
    },
    { masters: 3, notOn: scripts },
  ),

  behaviour(
    "8.3",
    "A master that may have a larger number than the token does not stand for it",
    async (bench) => {
      const { time, faults, masters } = bench;
      const options = { through: losing(bench, [1]) };
      await counted(masters, 4e15);
      // Two of three store it.
      assert.equal(await tokenOf(await fencing(bench, 0, options)), 4e15 + 1);
      await counted(masters.slice(2), 5e15);
      const redlock = await fencing(bench, 0, options);
      await faults.slow(redlock, masters.slice(2), 20, "replies");
      failed(await time.took(redlock.acquire("r", 2000)), "NO_QUORUM");
    },
    { masters: 3, notOn: scripts },
  ),

  behaviour(
    "8.4",
    "A number that one master alone vouches for changes no token",
    async (bench) => {
      const { faults, masters } = bench;
      await counted(masters.slice(0, 1), 8e15);
      const redlock = await fencing(bench);
      assert.ok((await tokenOf(redlock)) < 8e15, "it changes that of its resource");
      // Its answer is among the first two: the third one is awaited.
      await counted(masters.slice(0, 1), 8e15);
      await faults.slow(redlock, masters.slice(2), 50, "replies");
      assert.ok((await tokenOf(redlock)) < 8e15, "it changes that of its resource, where it is early");
      await faults.kill(masters.slice(2));
      await bench.time.pass(20);
      // No other master can tell better now.
      assert.equal(await tokenOf(redlock), 8e15 + 1);
      assert.ok((await tokenOf(redlock, "other")) < 8e15, "it changes that of another resource");
    },
    { masters: 3, notOn: scripts },
  ),

  behaviour(
    "8.5",
    "A waiter that is granted the lock has a larger token than the holder before",
    async (bench) => {
      const { time } = bench;
      const holder = await fencing(bench, hour);
      const waiters = [await fencing(bench, -hour), await fencing(bench, 2 * hour), await fencing(bench)];
      const lock = await holder.acquire("r", 20_000);
      const tokens = [lock.fencingToken!];
      const waiting = waiters.map((redlock) =>
        redlock.using("r", 20_000, { waitTimeout: 10_000 }, async (_, { fencingToken }) => {
          tokens.push(fencingToken!);
        }),
      );
      await time.pass(200);
      await lock.release();
      await Promise.all(waiting);
      tokens.push(await tokenOf(holder));
      assert.deepEqual(
        tokens,
        [...new Set(tokens)].sort((a, b) => a - b),
      );
    },
    { notOn: machineClock },
  ),

  behaviour(
    "8.5",
    "Readers and writers of one lock have tokens of one sequence",
    async (bench) => {
      const redlocks = [await fencing(bench), await fencing(bench)];
      const locks = redlocks.map((redlock) => new bench.client.ReadWriteLock(redlock, "r"));
      const tokens: number[] = [];
      for (const lock of [...locks, ...locks]) {
        const readings = [await lock.read(5000), await lock.read(5000)];
        const waiting = lock.write(5000, { waitTimeout: 5000 });
        for (const reading of readings) await reading.release();
        const writing = await waiting;
        tokens.push(...[...readings, writing].map(({ fencingToken }) => fencingToken!));
        const reading = await writing.downgrade();
        assert.equal(reading.fencingToken, writing.fencingToken);
        await reading.release();
      }
      const grown = [...new Set(tokens)].sort((a, b) => a - b);
      assert.deepEqual(tokens, grown);
    },
    { masters: 3, notOn: scripts },
  ),

  behaviour(
    "8.6",
    "Tokens are exact up to the largest, and none is given beyond",
    async (bench) => {
      const { time, masters } = bench;
      const most = 2 ** 53 - 2 ** 20;
      const redlock = await fencing(bench);
      await counted(masters, most - 3);
      assert.equal(await tokenOf(redlock), most - 2);
      assert.equal(await tokenOf(await fencing(bench)), most - 1);
      const outcome = await time.took(redlock.acquire("r", 2000));
      failed(outcome, "NO_QUORUM");
      assert.match(outcome.error.message, /^No quorum: .*: ERR the fencing token is too large/);
      await untilGone(bench, masters, "r");
    },
    { masters: 3, notOn: scripts },
  ),

  behaviour(
    "8.7",
    "Tokens grow over days in which nobody asks for the resource, though clocks differ",
    async (bench) => {
      const { faults, masters } = bench;
      const first = await tokenOf(await fencing(bench, 3 * 24 * hour));
      for (const days of [1, 1, 2]) {
        await faults.step(masters, days * 25 * hour);
        await tokenOf(await fencing(bench), "other");
      }
      assert.deepEqual(new Set(await valuesOf(masters, "quorlock:fence:r")), new Set([null]));
      const second = await tokenOf(await fencing(bench));
      assert.ok(second > first, `${second} came after ${first}`);
    },
    { notOn: machineClock },
  ),

  behaviour(
    "8.8",
    "A master that lost its counters votes for no fenced lock until those of others are restored",
    async (bench) => {
      const { time, faults, masters } = bench;
      const [lost, knows, other] = masters as [Master, Master, Master];
      const guard = { restartGuard: { maxTtl } };
      const ahead = await fencing(bench, hour / 10, guard);
      await ahead.initialize();
      const redlock = await fencing(bench, 0, guard);
      await faults.hang([other]);
      const lock = await ahead.acquire("r", maxTtl);
      await faults.resume([other]);
      await lock.release();
      await faults.restart([lost]);
      await time.pass(100);
      // Its quarantine begins, and ends.
      await time.took(redlock.tryAcquire("s", maxTtl));
      await faults.hang([knows]);
      await time.pass(maxTtl + 10);
      assert.equal(await redlock.tryAcquire("r", maxTtl).catch(() => null), null);
      await faults.resume([knows]);
      await untilVotes(bench, redlock, 3);
      await faults.hang([knows]);
      assert.ok((await tokenOf(redlock)) > lock.fencingToken!, "the token goes back");
      await faults.resume([knows]);
    },
    { masters: 3, notOn: machineClock },
  ),

  behaviour(
    "8.8",
    "Counters are restored after the quarantine, on that very master, though several have one name",
    async (bench) => {
      const { masters } = bench;
      const redlock = await fencing(bench, 0, {
        restartGuard: { maxTtl },
        through: (nodes) => nodes.map((node) => changed(node, { name: "tunnel" })),
      });
      await redlock.initialize();
      assert.equal(await votesFor(redlock), 3);
      await masters[2]!.call("FLUSHALL");
      lasted(bench, await untilVotes(bench, redlock, 3), maxTtl, maxTtl + 50, "ms without a vote");
    },
    { masters: 3, notOn: scripts },
  ),

  behaviour(
    "8.8",
    "If too few masters have kept theirs, tokens go on by the clock, and an error event says so",
    async (bench) => {
      const { masters } = bench;
      const redlock = await fencing(bench, 0, { restartGuard: { maxTtl } });
      const reasons: string[] = [];
      redlock.on("error", ({ reason }) => reasons.push(reason));
      await redlock.initialize();
      const first = await tokenOf(redlock);
      for (const master of masters.slice(1)) await master.call("FLUSHALL");
      lasted(bench, await untilVotes(bench, redlock, 3), 2 * maxTtl, 2 * maxTtl + 200, "ms without them");
      assert.ok(reasons.includes("UNCERTAIN_FLOOR"), `reported: ${reasons.join(", ")}`);
      assert.ok((await tokenOf(redlock)) > first, "the token goes back");
    },
    { masters: 3, notOn: scripts },
  ),
];
