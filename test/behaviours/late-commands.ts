import assert from "node:assert/strict";
import { type Behaviour, behaviour } from "./bench.ts";
import { failed, lasted, untilGone, untilVoted, valuesOf } from "./looking.ts";

/** Section 6 of docs/protocol.md. */
export const lateCommands: readonly Behaviour[] = [
  behaviour(
    "6.1",
    "A vote that arrives behind its rollback holds nothing, and delays others for one ttl at most",
    async (bench) => {
      const { time, faults, masters } = bench;
      const redlock = await bench.redlock();
      await faults.slow(redlock, masters, 100, "requests");
      const attempt = time.took(redlock.acquire("r", 1000));
      await time.pass(50);
      await faults.reset(redlock, masters, 500);
      failed(await attempt, "NO_QUORUM");
      await time.until("the votes have arrived", async () => (await valuesOf(masters, "r"))[0] !== null);
      const next = await time.took((await bench.redlock()).acquire("r", 1000, { waitTimeout: 10_000 }));
      assert.equal(next.value?.state, "held");
      lasted(bench, next.took, 0, 1400, "the wait");
    },
    { notOn: { real: "no test lets a packet overtake another" } },
  ),

  behaviour(
    "6.2",
    "A delete that arrives late takes no key of the next lock of another client",
    async (bench) => {
      const { faults, masters, time } = bench;
      const [first, second] = [await bench.redlock(), await bench.redlock()];
      const lock = await first.acquire("r", 60_000);
      await untilVoted(bench, masters, lock);
      await faults.cut(first, masters.slice(0, 2));
      await lock.release();
      await faults.lose(masters.slice(0, 2), "r");
      const next = await second.acquire("r", 60_000);
      await untilVoted(bench, masters, next);
      await faults.heal(first, masters);
      await time.pass(1500);
      await untilVoted(bench, masters, next);
    },
  ),

  behaviour(
    "6.2",
    "A delete that is sent again takes no key of the next lock of the same client",
    async (bench) => {
      const { faults, masters, time } = bench;
      const redlock = await bench.redlock();
      const lock = await redlock.acquire("r", 60_000);
      await untilVoted(bench, masters, lock);
      await faults.cut(redlock, masters.slice(0, 2), "replies");
      await lock.release();
      await time.pass(300);
      await faults.heal(redlock, masters);
      const next = await redlock.acquire("r", 60_000);
      await untilVoted(bench, masters, next);
      await time.pass(2500);
      await untilVoted(bench, masters, next);
    },
  ),

  behaviour(
    "6.2",
    "A delete that arrives behind the vote of the next lock of the same client takes nothing",
    async (bench) => {
      const { faults, masters, time } = bench;
      const late = masters.slice(0, 3);
      const redlock = await bench.redlock();
      const lock = await redlock.acquire("r", 60_000);
      await untilVoted(bench, masters, lock);
      await faults.slow(redlock, late, 100, "requests");
      const releasing = lock.release();
      await time.pass(50);
      await faults.reset(redlock, late, 500);
      await faults.slow(redlock, late, 0);
      await releasing;
      // The deletes are sent again when the masters are back.
      await untilGone(bench, masters, "r");
      const next = await redlock.acquire("r", 60_000);
      await untilVoted(bench, masters, next);
      await time.pass(1000);
      await untilVoted(bench, masters, next);
    },
    { notOn: { real: "no test lets a packet overtake another" } },
  ),

  behaviour(
    "6.3",
    "A vote counts its time on the master, and never until a time of the client",
    async (bench) => {
      const { masters } = bench;
      const redlock = await bench.redlock();
      const tap = await masters[0]!.tap();
      const lock = await redlock.acquire("r", 2000);
      await lock.extend(2000);
      await lock.release();
      const words = (await tap.commands()).flat();
      assert.deepEqual(
        words.filter((word) => /^(PX|EX)(AT)?$/i.test(word)),
        ["PX"],
      );
    },
    { masters: 1 },
  ),
];
