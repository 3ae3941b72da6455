import assert from "node:assert/strict";
import { type Behaviour, type Bench, behaviour } from "./bench.ts";
import {
  failed,
  held,
  lasted,
  lifetimesOn,
  occupy,
  untilGone,
  untilWaiting,
  valuesOf,
  within,
} from "./looking.ts";

const noQueue = { "without scripts": "it has no queue" };

/** A lock that its caller waited for, and the next calls of the same process: it is handed over as it is. */
async function inLine(bench: Bench) {
  const { redlock: before, lock } = await held(bench, 60_000);
  const redlock = await bench.redlock({ waitTimeout: 10_000 });
  const waiting = redlock.acquire("r", 60_000);
  await untilWaiting(bench, before, 1);
  const [second, third] = [redlock.acquire("r", 60_000), redlock.acquire("r", 60_000)];
  await lock.release();
  const first = await waiting;
  await bench.time.until(
    "all have voted",
    async () => new Set(await valuesOf(bench.masters, "r")).size === 1,
  );
  return { redlock, first, second, third };
}

/** Section 5 of docs/protocol.md. */
export const release: readonly Behaviour[] = [
  behaviour(
    "5.1",
    "A release deletes the key of its own lock, and of no other",
    async (bench) => {
      const { masters } = bench;
      const { lock } = await held(bench);
      await bench.faults.lose(masters, "r");
      await occupy(masters, "r");
      assert.equal((await lock.release()).outcome, "expired");
      for (const value of await valuesOf(masters, "r")) assert.equal(value, "another client");
    },
    { masters: 1 },
  ),

  behaviour(
    "5.1",
    "A release compares and deletes in one step",
    async (bench) => {
      const { time, faults, masters } = bench;
      const { redlock, lock } = await held(bench, 1000);
      await faults.slow(redlock, masters, 20);
      await time.pass(963);
      // It arrives some milliseconds before the key ends; a second step would arrive 40 ms after the first.
      void lock.release();
      await time.until("the key has ended", async () => (await valuesOf(masters, "r"))[0] === null);
      await occupy(masters, "r");
      await time.pass(200);
      for (const value of await valuesOf(masters, "r")) assert.equal(value, "another client");
    },
    { masters: 1, notOn: { real: "a busy machine does not release to the millisecond" } },
  ),

  behaviour(
    "5.2",
    "The release of a lock that has ended is no error",
    async (bench) => {
      const { time } = bench;
      const { lock } = await held(bench, 1000);
      await time.pass(1100);
      const { took, error } = await time.took(lock.release());
      assert.equal(error, undefined, String(error));
      lasted(bench, took, 0, 5, "the call");
    },
    { masters: 1 },
  ),

  behaviour(
    "5.2",
    "A release is sent once",
    async (bench) => {
      const { masters, time } = bench;
      const { lock } = await held(bench);
      const tap = await masters[0]!.tap();
      const released = await Promise.all([lock.release(), lock.release()]);
      assert.deepEqual(
        released.map(({ outcome }) => outcome),
        ["released", "released"],
      );
      await untilGone(bench, masters, "r");
      await time.pass(50);
      assert.equal((await lock.release()).outcome, "released");
      assert.equal((await tap.commands()).filter((words) => words.includes("r")).length, 1);
    },
    { masters: 1, notOn: { "without scripts": "a transaction is several commands" } },
  ),

  behaviour(
    "5.2",
    "A release that too few masters answer is partial, and they are cleaned when they are back",
    async (bench) => {
      const { faults, masters } = bench;
      const { lock } = await held(bench, 60_000);
      await faults.hang(masters.slice(0, 3));
      assert.equal((await lock.release()).outcome, "partial");
      await faults.resume(masters);
      await untilGone(bench, masters, "r");
    },
  ),

  behaviour(
    "5.2",
    "A release says whether a majority has deleted the key, cannot have had it, or did not answer",
    async (bench) => {
      const { faults, masters } = bench;
      const redlock = await bench.redlock();
      const outcomes = {
        "yes yes yes no": "released",
        "yes yes yes -": "released",
        "yes yes no no": "expired",
        "yes yes no -": "partial",
        "yes - - -": "partial",
      };
      for (const [answers, outcome] of Object.entries(outcomes)) {
        const lock = await redlock.acquire(answers, 5000);
        await Promise.all(lock.attempts);
        const which = (answer: string) => masters.filter((_, index) => answers.split(" ")[index] === answer);
        await faults.lose(which("no"), answers);
        await faults.hang(which("-"));
        const released = await lock.release();
        assert.equal(released.outcome, outcome, answers);
        const [stats] = await Promise.all(released.attempts);
        assert.equal(stats!.votesFor.size, which("yes").length, answers);
        await faults.resume(masters);
      }
    },
    { masters: 4 },
  ),

  behaviour(
    "5.3",
    "A lock has ended before its release is sent",
    async (bench) => {
      const { masters } = bench;
      const { lock } = await held(bench);
      const tap = await masters[0]!.tap();
      const releasing = lock.release();
      assert.equal(lock.state, "released");
      assert.equal(lock.remaining(), 0);
      assert.deepEqual(await tap.commands(), []);
      assert.equal((await releasing).outcome, "released");
      assert.equal(lock.signal.aborted, false);
    },
    { masters: 1 },
  ),

  behaviour(
    "5.3",
    "A lock that is released while it is extended leaves no key",
    async (bench) => {
      const { time, faults, masters } = bench;
      const { redlock, lock } = await held(bench);
      await faults.slow(redlock, masters, 10);
      const extending = [time.took(lock.extend(30_000)), time.took(lock.extend(30_000))];
      await time.pass(5);
      assert.equal((await lock.release()).outcome, "released");
      for (const outcome of await Promise.all(extending)) failed(outcome, "LOCK_LOST");
      await untilGone(bench, masters, "r");
      await time.pass(200);
      for (const value of await valuesOf(masters, "r")) assert.equal(value, null);
    },
    { masters: 1 },
  ),

  behaviour(
    "5.3",
    "A lock that was released is not lost, whatever is answered afterwards",
    async (bench) => {
      const { time, faults, masters } = bench;
      const { redlock, lock } = await held(bench);
      const lost: unknown[] = [];
      redlock.on("lost", (one) => lost.push(one));
      await faults.lose(masters, "r");
      await faults.slow(redlock, masters, 30);
      const verifying = lock.verify();
      await time.pass(5);
      await lock.release();
      assert.equal(await verifying, false);
      await time.pass(2000);
      assert.deepEqual([lock.state, lock.signal.aborted, lost], ["released", false, []]);
    },
    { masters: 1 },
  ),

  behaviour(
    "5.4",
    "A master that missed what came between is cleaned of every key of a lock",
    async (bench) => {
      const { faults, masters } = bench;
      const { redlock, first, second, third } = await inLine(bench);
      await faults.cut(redlock, masters.slice(0, 1));
      await first.release();
      await (await second).release();
      assert.equal((await (await third).release()).outcome, "released");
      await faults.heal(redlock, masters.slice(0, 1));
      await untilGone(bench, masters, "r");
    },
    { notOn: noQueue },
  ),

  behaviour(
    "5.5",
    "Detaching ends the lock here, and leaves its keys",
    async (bench) => {
      const { masters } = bench;
      const { redlock, lock } = await held(bench, 60_000);
      const detached = await lock.detach();
      assert.equal(lock.state, "detached");
      assert.equal(lock.remaining(), 0);
      assert.equal((await lock.release()).outcome, "detached");
      failed(await bench.time.took(lock.extend(2000)), "LOCK_LOST");
      await redlock.quit();
      for (const value of await valuesOf(masters, "r")) assert.equal(value, detached.value);
    },
    { masters: 1 },
  ),

  behaviour(
    "5.6",
    "A process that has detached a lock never deletes its keys, nor those of its receiver",
    async (bench) => {
      const { time, faults, masters } = bench;
      const [late] = masters;
      const waiter = await bench.redlock({ waitTimeout: 20_000 });
      const { lock: first } = await held(bench, 2000);
      const second = waiter.acquire("r", 8000);
      await time.pass(100);
      // The last grant is heard only after the lock was detached.
      await faults.cut(waiter, [late!], "replies");
      await first.release();
      const receiver = await bench.redlock();
      const resumed = receiver.resume(await (await second).detach());
      await resumed.extend(8000);
      await faults.heal(waiter, [late!]);
      await time.pass(2500);
      for (const value of await valuesOf(masters, "r")) assert.equal(value, resumed.value);
    },
  ),

  behaviour(
    "5.7",
    "Detaching waits for all that is on its way, for one nodeTimeout at most",
    async (bench) => {
      const { time, faults, masters } = bench;
      const { redlock, lock } = await held(bench);
      await faults.slow(redlock, masters.slice(0, 1), 50);
      const slow = await time.took(lock.detach());
      lasted(bench, slow.took, 100, 105, "beside a slow master");
      const other = await redlock.acquire("s", 2000);
      await faults.hang(masters.slice(1, 2));
      lasted(bench, (await time.took(other.detach())).took, 195, 205, "beside one that hangs");
      await faults.resume(masters);
    },
    { notOn: { "without scripts": "an operation takes several round trips" } },
  ),
  behaviour(
    "5.9",
    "A lock that was handed on within its process, and then detached, leaves one key, and leaves the process",
    async (bench) => {
      const { faults, masters } = bench;
      const { first, second, third } = await inLine(bench);
      await faults.hang(masters.slice(0, 1));
      await first.release();
      const detached = await (await second).detach();
      await faults.resume(masters);
      const resumed = (await bench.redlock()).resume(detached);
      await resumed.verify();
      await resumed.release();
      // The next caller in its first process is served as any other.
      await (await third).release();
      await untilGone(bench, masters, "r");
    },
    { notOn: noQueue },
  ),

  behaviour(
    "5.10",
    "A resumed lock holds nothing until a majority has confirmed it",
    async (bench) => {
      const { masters } = bench;
      const { lock } = await held(bench);
      const resumed = (await bench.redlock()).resume(await lock.detach());
      assert.equal(resumed.state, "unknown");
      assert.equal(resumed.remaining(), 0);
      assert.equal(await resumed.verify(), true);
      assert.equal(resumed.state, "held");
      within(bench, resumed.remaining(), 1, 2000, "what remains");
      assert.equal((await resumed.release()).outcome, "released");
      await untilGone(bench, masters, "r");
    },
    { masters: 1 },
  ),

  behaviour(
    "5.10",
    "A resumed lock ends before its keys, and lasts for its own ttl at most",
    async (bench) => {
      const { time, masters } = bench;
      const { lock } = await held(bench, 1000);
      await time.pass(300);
      const receiver = await bench.redlock({ minimumValidity: 3000 });
      const lost: unknown[] = [];
      receiver.on("lost", (one) => lost.push(one));
      const resumed = receiver.resume(JSON.parse(JSON.stringify(await lock.detach())));
      assert.equal(await resumed.verify(), true);
      within(bench, resumed.remaining(), 500, 692, "what remains");
      for (const master of masters) await master.call("PEXPIRE", "r", 60_000);
      await resumed.verify();
      within(bench, resumed.remaining(), 900, 1000, "what remains");
      await time.until("it has ended", () => lost.length > 0);
      assert.deepEqual(lost, [resumed]);
      assert.equal(resumed.state, "lost");
    },
    { masters: 1 },
  ),

  behaviour("5.10", "A resumed lock sets no key again", async (bench) => {
    const { time, faults, masters } = bench;
    const { lock } = await held(bench);
    const resumed = (await bench.redlock()).resume(await lock.detach());
    await faults.lose(masters.slice(0, 2), "r");
    await resumed.extend(2000);
    await time.pass(20);
    assert.deepEqual((await valuesOf(masters, "r")).slice(0, 2), [null, null]);
    await faults.lose(masters, "r");
    failed(await time.took(resumed.extend(2000)), "LOCK_LOST");
    for (const value of await valuesOf(masters, "r")) assert.equal(value, null);
  }),

  behaviour(
    "5.11",
    "`quit` ends each lock before it releases the first",
    async (bench) => {
      const { masters } = bench;
      const { redlock, lock } = await held(bench);
      const other = await redlock.acquire("s", 2000);
      const tap = await masters[0]!.tap();
      const quitting = redlock.quit();
      await new Promise<void>((resolve) => {
        if (lock.signal.aborted) resolve();
        lock.signal.addEventListener("abort", () => resolve(), { once: true });
      });
      assert.deepEqual(await tap.commands(), []);
      assert.equal(other.signal.aborted, true);
      assert.equal(lock.signal.reason.reason, "QUIT");
      await quitting;
      await untilGone(bench, masters, "r");
      await untilGone(bench, masters, "s");
    },
    { masters: 1 },
  ),

  behaviour(
    "5.11",
    "`quit` rejects what waits, and takes its votes back",
    async (bench) => {
      const { time, masters } = bench;
      await held(bench, 5000);
      const redlock = await bench.redlock({ waitTimeout: 60_000 });
      const waiting = time.took(redlock.acquire("r", 5000));
      await time.pass(300);
      const quit = await time.took(redlock.quit());
      failed(await waiting, "CLOSED");
      lasted(bench, quit.took, 0, 50, "quit");
      failed(await time.took(redlock.acquire("r", 5000)), "CLOSED");
      await bench.faults.lose(masters, "r");
      await time.pass(1200);
      await untilGone(bench, masters, "r");
    },
    { masters: 1 },
  ),

  behaviour(
    "5.11",
    "With a drain, locks are held and extended until they are released",
    async (bench) => {
      const { time, masters } = bench;
      const redlock = await bench.redlock();
      const begunAt = time.now();
      let isHeld = false;
      let ended = 0;
      const using = redlock.using("r", 1000, async (signal) => {
        isHeld = true;
        await time.pass(1500);
        assert.equal(signal.aborted, false);
        ended = time.now();
      });
      await time.until("it is held", () => isHeld);
      const quit = await time.took(redlock.quit({ drain: 5000 }));
      await using;
      lasted(bench, quit.took, 1000, 1600, "quit");
      within(bench, ended, begunAt + 1500, time.now(), "its work ended");
      await untilGone(bench, masters, "r");
    },
    { masters: 1 },
  ),

  behaviour(
    "5.11",
    "A second `quit` ends the drain, and after it no lock is resumed or extended",
    async (bench) => {
      const { time } = bench;
      const { redlock, lock } = await held(bench, 20_000);
      const given = await (await (await bench.redlock()).acquire("s", 20_000)).detach();
      const resumed = redlock.resume(given);
      const draining = time.took(redlock.quit({ drain: 5000 }));
      await lock.extend(20_000);
      await redlock.quit();
      lasted(bench, (await draining).took, 0, 100, "the drain");
      assert.equal(lock.state, "lost");
      failed(await time.took(resumed.extend(5000)), "CLOSED");
      assert.throws(() => redlock.resume(given), { code: "CLOSED" });
    },
    { masters: 1 },
  ),

  behaviour("5.11", "`quit` settles though masters hang", async (bench) => {
    const { time, faults, masters } = bench;
    const { redlock } = await held(bench, 60_000);
    await faults.hang(masters.slice(0, 3));
    lasted(bench, (await time.took(redlock.quit())).took, 195, 600, "quit");
    await faults.resume(masters);
    const left = await lifetimesOn(masters.slice(3), "r");
    assert.deepEqual(left, [-2, -2]);
  }),
];
