import assert from "node:assert/strict";
import { type Behaviour, behaviour } from "./bench.ts";
import { failed, held, lasted, lifetimesOn, occupy, untilVoted, valuesOf, within } from "./looking.ts";

/** ms. */
const year = 31_557_600_000;

/** Section 4 of docs/protocol.md. */
export const extend: readonly Behaviour[] = [
  behaviour(
    "4.1",
    "An extension that is answered after the end revives nothing",
    async (bench) => {
      const { time, faults, masters } = bench;
      const { redlock, lock } = await held(bench, 1000, { nodeTimeout: 600 });
      await faults.slow(redlock, masters, 500, "replies");
      await time.pass(700);
      // The masters extend their keys in time; the answers come 200 ms after the deadline.
      const extending = await time.took(lock.extend(5000));
      failed(extending, "LOCK_LOST");
      assert.equal(lock.state, "lost");
      await time.pass(500);
      assert.equal(lock.remaining(), 0);
      assert.equal(lock.signal.aborted, true);
    },
    { masters: 1 },
  ),

  behaviour(
    "4.1",
    "A blocked process that reads the answer after the end is not revived by it",
    async (bench) => {
      const { time, faults } = bench;
      const { redlock, lock } = await held(bench, 1000, { nodeTimeout: 900 });
      await time.pass(700);
      const extending = time.took(lock.extend(5000));
      await faults.block(redlock, 500);
      failed(await extending, "LOCK_LOST");
      assert.equal(lock.state, "lost");
    },
    { notOn: { real: "the block would have to begin while the answers are on their way" } },
  ),

  behaviour(
    "4.1",
    "A machine that slept past the end is not revived by an answer that it reads then",
    async (bench) => {
      const { time, faults, masters } = bench;
      const { redlock, lock } = await held(bench, 1000, { nodeTimeout: 900 });
      await faults.slow(redlock, masters, 50, "replies");
      const extending = time.took(lock.extend(5000));
      await time.pass(10);
      await faults.suspend(redlock, 1100);
      failed(await extending, "LOCK_LOST");
      assert.equal(lock.state, "lost");
      assert.equal(lock.remaining(), 0);
    },
    { notOn: { real: "no test puts its machine to sleep" } },
  ),

  behaviour("4.2", "An extension sets the key again on masters that have lost it", async (bench) => {
    const { masters, faults } = bench;
    const { lock } = await held(bench);
    await faults.lose(masters.slice(0, 2), "r");
    await lock.extend(2000);
    await untilVoted(bench, masters, lock);
  }),

  behaviour(
    "4.2",
    "A lock that has ended sets no key again",
    async (bench) => {
      const { time, faults, masters } = bench;
      const { redlock, lock } = await held(bench, 1000);
      const taps = await Promise.all(masters.map((master) => master.tap()));
      await faults.block(redlock, 1100);
      // Another client could hold it now: its key must be free for that one.
      failed(await time.took(lock.extend(5000)), "LOCK_LOST");
      assert.equal(await lock.verify(), false);
      await time.pass(300);
      for (const tap of taps) assert.deepEqual(await tap.commands(), []);
      for (const value of await valuesOf(masters, "r")) assert.equal(value, null);
    },
    { masters: 1 },
  ),

  behaviour(
    "4.3",
    "A lock is unknown while no majority confirms it, and held again when one does",
    async (bench) => {
      const { time, faults, masters } = bench;
      const { lock } = await held(bench);
      await faults.hang(masters);
      failed(await time.took(lock.verify()), "NO_QUORUM");
      assert.equal(lock.state, "unknown");
      assert.equal(lock.signal.aborted, false);
      await faults.resume(masters);
      await lock.extend(2000);
      assert.equal(lock.state, "held");
    },
    { masters: 1 },
  ),

  behaviour(
    "4.3",
    "Extensions of one lock are asked one after the other, in turn with those that try again",
    async (bench) => {
      const { time, faults, masters } = bench;
      const { redlock, lock } = await held(bench, 20_000);
      await faults.slow(redlock, masters, 50, "replies");
      const all = await time.took(Promise.all([1, 2, 3].map(() => lock.extend(20_000))));
      lasted(bench, all.took, 150, 160, "three extensions");
      await faults.slow(redlock, masters, 0);
      await faults.hang(masters);
      const patient = time.took(redlock.extend(lock, 20_000, { retryCount: 2, retryDelay: 100 }));
      const hasty = await time.took(redlock.extend(lock, 20_000));
      failed(hasty, "NO_QUORUM");
      lasted(bench, hasty.took, 390, 410, "the one that does not try again");
      await faults.resume(masters);
      await patient;
    },
    { masters: 1, notOn: { real: "a busy machine does not tell two rounds from one by their time" } },
  ),

  behaviour("4.3", "A majority that refuses ends the lock at once", async (bench) => {
    const { time, faults, masters } = bench;
    const { lock } = await held(bench, 60_000);
    await faults.lose(masters.slice(0, 3), "r");
    await occupy(masters.slice(0, 3), "r");
    const outcome = await time.took(lock.extend(60_000));
    failed(outcome, "LOCK_LOST");
    lasted(bench, outcome.took, 0, 5, "the call");
    assert.equal(lock.signal.reason.reason, "MAJORITY");
  }),

  behaviour(
    "4.4",
    "`using` extends its lock after about a third of the ttl, for as long as the work takes",
    async (bench) => {
      const { time, masters } = bench;
      const redlock = await bench.redlock();
      const tap = await masters[0]!.tap();
      const renewals: number[] = [];
      await redlock.using("r", 3000, async (signal) => {
        const begun = time.now();
        for (let seen = 0; renewals.length < 6; await time.pass(5)) {
          const commands = (await tap.commands()).slice(seen);
          seen += commands.length;
          if (commands.some(([name]) => name?.startsWith("EVAL"))) renewals.push(time.now() - begun);
        }
        assert.equal(signal.aborted, false);
      });
      for (const [index, at] of renewals.entries())
        lasted(bench, at - (renewals[index - 1] ?? 0), 890, 1010, "between two");
    },
    { masters: 1, notOn: { "without scripts": "it knows an extension by its script" } },
  ),

  ...(
    [
      ["half a second", 500],
      ["a hundred years", 100 * year],
    ] as const
  ).map(([long, ttl]) =>
    behaviour(
      "4.4",
      `A lock of ${long} is extended no more often than ten times in its ttl`,
      async (bench) => {
        const { time, masters } = bench;
        const redlock = await bench.redlock();
        const tap = await masters[0]!.tap();
        await redlock.using("r", ttl, async (signal) => {
          await time.pass(2000);
          assert.equal(signal.aborted, false);
        });
        // Those that take and release it, and what scripts call, are among them.
        const own = (await tap.commands()).filter((words) => words.includes("r"));
        assert.ok(own.length <= 6 + 2 * 10 * (2000 / ttl), `${own.length} commands`);
      },
      { masters: 1 },
    ),
  ),

  behaviour(
    "4.4",
    "A renewal that fails is tried again while the lock lasts",
    async (bench) => {
      const { time, faults, masters } = bench;
      const redlock = await bench.redlock();
      await redlock.using("r", 6000, async (signal, lock) => {
        await faults.hang(masters);
        await time.pass(3400);
        await faults.resume(masters);
        await time.pass(600);
        assert.equal(signal.aborted, false);
        within(bench, lock.remaining(), 4700, 6000, "what remains");
      });
    },
    { masters: 1 },
  ),

  behaviour("4.5", "`verify` says whether a majority holds the lock, and changes nothing", async (bench) => {
    const { time, faults, masters } = bench;
    const { lock } = await held(bench);
    await faults.lose(masters.slice(0, 1), "r");
    await time.pass(500);
    assert.equal(await lock.verify(), true);
    const [lost, ...kept] = await lifetimesOn(masters, "r");
    assert.equal(lost, -2);
    for (const left of kept) within(bench, left, 1400, 1500, "what is left");
    await faults.lose(masters, "r");
    assert.equal(await lock.verify(), false);
    assert.equal(lock.state, "lost");
  }),

  behaviour(
    "4.6",
    "An extension that waits to be tried again settles when its lock is lost",
    async (bench) => {
      const { time, faults, masters } = bench;
      const { redlock, lock } = await held(bench, 20_000, { retryCount: -1, retryDelay: 2000 });
      await faults.hang(masters);
      const extending = time.took(lock.extend(20_000));
      await time.pass(500);
      await faults.step(redlock, 20_000);
      assert.equal(lock.state, "lost");
      failed(await extending, "LOCK_LOST");
      const { took, error } = await extending;
      lasted(bench, took, 500, 501, "the call");
      assert.equal(error.attempts.length, 1);
    },
    { masters: 1, notOn: { real: "no test steps the clock of its machine" } },
  ),

  behaviour(
    "4.6",
    "An extension that retries without limit settles by the end that the lock had",
    async (bench) => {
      const { time, faults, masters } = bench;
      // No round begins before the answers to the one before: masters that work off others have more time. Twice the
      // time is too short for them as well: they have it where the process stood still (12.9).
      const pause = { retryDelay: 200, retryJitter: 0 };
      const { redlock, lock } = await held(bench, 2000, { retryCount: -1, nodeTimeout: 100, ...pause });
      const left = lock.remaining();
      // Each answer comes too late for its round, and in time to prolong the lock.
      await faults.slow(redlock, masters, 600, "replies");
      const outcome = await time.took(lock.extend(2000));
      failed(outcome, "NO_QUORUM");
      lasted(bench, outcome.took, left - 200, left + 105, "the call");
      within(bench, lock.remaining(), 1000, 2000, "what remains");
    },
    { masters: 1, notOn: { "without scripts": "an operation takes several round trips" } },
  ),
];
