import assert from "node:assert/strict";
import { type Behaviour, behaviour } from "./bench.ts";
import { endsBeforeItsKeys, failed, held, lasted, within } from "./looking.ts";

const suspended = { notOn: { real: "no test puts its machine to sleep" } };

/** Section 3 of docs/protocol.md. */
export const deadlines: readonly Behaviour[] = [
  behaviour(
    "3.1",
    "A lock ends before its keys do, though a master's clock is fast by driftFactor",
    async (bench) => {
      const { time } = bench;
      const redlock = await bench.redlock({ driftFactor: 0.1 });
      const { took, value } = await time.took(redlock.acquire("r", 2000));
      // (ttl - 1) * (1 - driftFactor) - 1 from the send.
      within(bench, value!.remaining(), 1798.1 - took, 1798.1 - took + 0.001, "what remains");
    },
    { masters: 1 },
  ),

  behaviour(
    "3.1",
    "A lock that was asked for with a larger driftFactor keeps to it when it is verified and extended",
    async (bench) => {
      const { redlock } = await held(bench);
      const lock = await redlock.acquire("s", 2000, { driftFactor: 0.1 });
      await lock.verify();
      within(bench, lock.remaining(), 1700, 1798.1, "what remains");
      await lock.extend(2000);
      within(bench, lock.remaining(), 1700, 1798.1, "what remains");
    },
    { masters: 1 },
  ),

  behaviour("3.2", "An extension that a minority misses costs nothing", async (bench) => {
    const { time, faults, masters } = bench;
    const { lock } = await held(bench);
    await time.pass(500);
    await faults.hang(masters.slice(0, 2));
    await lock.extend(2000);
    within(bench, lock.remaining(), 1970, 1978, "what remains");
    await faults.resume(masters);
  }),

  behaviour("3.2", "An extension that only a minority confirms prolongs nothing", async (bench) => {
    const { time, faults, masters } = bench;
    const { lock } = await held(bench);
    const [before, begun] = [lock.remaining(), time.now()];
    await faults.hang(masters.slice(2));
    failed(await time.took(lock.extend(60_000)), "NO_QUORUM");
    const passed = time.now() - begun;
    within(bench, lock.remaining(), 0, Math.max(0, before - passed), "what remains");
    await faults.resume(masters);
  }),

  behaviour(
    "3.2",
    "The lock that a minority alone has extended ends when a majority of keys has",
    async (bench) => {
      const { time, faults, masters } = bench;
      const { lock } = await held(bench, 1000);
      await faults.hang(masters.slice(2));
      const [left, begun] = [lock.remaining(), time.now()];
      await time.took(lock.extend(60_000));
      await time.until("it is lost", () => lock.state === "lost");
      lasted(bench, time.now() - begun, left - 12, left, "ms until it was lost");
      assert.equal(lock.remaining(), 0);
    },
  ),

  behaviour(
    "3.3",
    "An extension counts from its send",
    async (bench) => {
      const { time, faults, masters } = bench;
      const { redlock, lock } = await held(bench);
      await faults.slow(redlock, masters, 150, "replies");
      const { took } = await time.took(lock.extend(4000));
      within(bench, lock.remaining(), 3950 - took, 3958 - took + 0.01, "what remains");
    },
    { masters: 1, notOn: { "without scripts": "an operation takes several round trips" } },
  ),
  behaviour(
    "3.3",
    "An answer takes nothing from a lock, though what it says has become less on its way",
    async (bench) => {
      const { time, faults, masters } = bench;
      const { redlock, lock } = await held(bench);
      await faults.slow(redlock, masters, 100, "requests");
      const [before, begun] = [lock.remaining(), time.now()];
      assert.equal(await lock.verify(), true);
      within(bench, lock.remaining(), before - (time.now() - begun) - 1, 2000, "what remains");
    },
    { masters: 1, notOn: { "without scripts": "an operation takes several round trips" } },
  ),

  behaviour(
    "3.3",
    "A missing answer takes nothing from a lock",
    async (bench) => {
      const { time, faults, masters } = bench;
      const { lock } = await held(bench);
      const [before, begun] = [lock.remaining(), time.now()];
      await faults.hang(masters);
      await time.took(lock.extend(2000));
      within(bench, lock.remaining(), before - (time.now() - begun) - 1, before, "what remains");
      assert.equal(lock.state, "unknown");
      await faults.resume(masters);
    },
    { masters: 1 },
  ),

  ...[{ fencing: false }, { fencing: true }].map((options) =>
    behaviour(
      "3.3",
      `A vote that comes too late for its round counts for the end of its ${options.fencing ? "fenced " : ""}lock`,
      async (bench) => {
        const { time, faults, masters } = bench;
        const redlock = await bench.redlock(options);
        // With fencing another round stores a larger token.
        for (const master of masters) await master.call("SET", "quorlock:fence:r", 4e15);
        await faults.slow(redlock, masters.slice(2), 250, "replies");
        const lock = await redlock.acquire("r", 5000);
        await faults.cut(redlock, masters.slice(1), "requests");
        failed(await time.took(lock.extend(60_000)), "NO_QUORUM");
        await time.pass(200);
        // It counts for its own ttl, and not for one that was asked for since.
        await endsBeforeItsKeys(bench, lock);
        await faults.lose(masters.slice(0, 1), "r");
        failed(await time.took(lock.verify()), "NO_QUORUM");
        assert.equal(lock.state, "unknown");
        within(bench, lock.remaining(), 4000, 4948, "what remains");
        await faults.heal(redlock, masters);
      },
      { masters: 3, notOn: options.fencing ? { "without scripts": "fencing needs scripts" } : {} },
    ),
  ),

  behaviour(
    "3.3",
    "A master that refuses counts no longer, and the holder is told by what the others keep",
    async (bench) => {
      const { time, faults, masters } = bench;
      const { redlock, lock } = await held(bench, 1000);
      const lost = new Promise((resolve) => redlock.on("lost", resolve));
      const begun = time.now();
      await lock.extend(2000);
      await time.pass(50);
      await faults.hang(masters.slice(2));
      await lock.extend(20_000);
      await time.pass(1200);
      await faults.slow(redlock, masters.slice(0, 1), 20);
      await faults.lose(masters.slice(0, 1), "r");
      failed(await time.took(lock.verify()), "NO_QUORUM");
      within(bench, lock.remaining(), 1, 1978, "what remains");
      await lost;
      lasted(bench, time.now() - begun, 1900, 1978, "ms until it was lost");
      await faults.resume(masters);
    },
    { masters: 3 },
  ),

  behaviour(
    "3.4",
    "A machine that slept finds its lock lost",
    async (bench) => {
      const { faults } = bench;
      const { redlock, lock } = await held(bench);
      await faults.suspend(redlock, 2500);
      assert.equal(lock.remaining(), 0);
      assert.equal(lock.state, "lost");
    },
    suspended,
  ),

  behaviour(
    "3.4",
    "A sleep that is followed by a step back of the clock is not forgotten",
    async (bench) => {
      const { time, faults } = bench;
      const { redlock, lock } = await held(bench);
      await faults.suspend(redlock, 1000);
      lock.remaining();
      await faults.step(redlock, -1000);
      await time.pass(500);
      within(bench, lock.remaining(), 0, 480, "what remains");
    },
    suspended,
  ),

  behaviour(
    "3.4",
    "A step back of the wall clock prolongs no lock, and a step forward ends it",
    async (bench) => {
      const { time, faults } = bench;
      const { redlock, lock } = await held(bench);
      const before = lock.remaining();
      await faults.step(redlock, -60_000);
      await time.pass(100);
      within(bench, lock.remaining(), before - 102, before - 100 + 0.01, "what remains");
      await faults.step(redlock, 60_000);
      assert.equal(lock.state, "lost");
    },
  ),

  behaviour(
    "3.5",
    "A sleep of a few milliseconds is subtracted in full",
    async (bench) => {
      const { time, faults } = bench;
      const { redlock, lock } = await held(bench);
      for (let nap = 0; nap < 20; nap += 1) {
        const [before, begun] = [lock.remaining(), time.now()];
        await faults.suspend(redlock, 7.3);
        within(bench, lock.remaining(), 0, before - (time.now() - begun) + 0.001, "what remains");
        await time.pass(3.1);
      }
    },
    suspended,
  ),

  behaviour(
    "3.6",
    "A process whose event loop was blocked finds its lock lost when it asks",
    async (bench) => {
      const { time, faults } = bench;
      const { redlock, lock } = await held(bench, 1000);
      const [released, detached] = [await redlock.acquire("s", 1000), await redlock.acquire("t", 1000)];
      await faults.block(redlock, 1100);
      // No timer has fired yet.
      const releasing = released.release();
      assert.equal(released.state, "lost");
      failed(await time.took(detached.detach()), "LOCK_LOST");
      assert.equal((await releasing).outcome, "expired");
      assert.equal(lock.signal.aborted, true);
      assert.equal(lock.remaining(), 0);
      assert.equal(lock.state, "lost");
      assert.equal(await lock.verify(), false);
      failed(await time.took(lock.extend(1000)), "LOCK_LOST");
    },
    { masters: 1 },
  ),

  behaviour(
    "3.6",
    "A lock that was lost stays lost",
    async (bench) => {
      const { time, faults, masters } = bench;
      const { redlock, lock } = await held(bench, 1000);
      await faults.cut(redlock, masters);
      await time.pass(1000);
      await faults.heal(redlock, masters);
      await time.pass(300);
      assert.equal(lock.state, "lost");
      failed(await time.took(lock.extend(1000)), "LOCK_LOST");
      assert.equal((await lock.release()).outcome, "expired");
      assert.equal(lock.state, "lost");
    },
    { masters: 1 },
  ),
];
