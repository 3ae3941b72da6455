import assert from "node:assert/strict";
import { type Behaviour, behaviour } from "./bench.ts";
import { failed, held, lasted, untilGone, within } from "./looking.ts";

const alone = { masters: 1 };

/** Rule 5.11 of docs/protocol.md: what `quit` waits for, and what becomes of locks that were resumed. */
export const closing: readonly Behaviour[] = [
  behaviour(
    "5.11",
    "A drain lasts no longer than it may, and not at all without a lock",
    async (bench) => {
      const { time } = bench;
      const { redlock, lock } = await held(bench, 20_000);
      lasted(bench, (await time.took(redlock.quit({ drain: 500 }))).took, 500, 510, "the drain");
      assert.equal(lock.state, "lost");
      const empty = await bench.redlock();
      lasted(bench, (await time.took(empty.quit({ drain: 5000 }))).took, 0, 10, "quit");
    },
    alone,
  ),

  behaviour(
    "5.11",
    "`quit` waits for its own nodeTimeout, whatever a call was given, and happens once",
    async (bench) => {
      const { faults, masters, time } = bench;
      const { redlock, lock } = await held(bench, 60_000, { nodeTimeout: 100 });
      await faults.hang(masters);
      const calls = [
        time.took(redlock.acquire("s", 60_000, { nodeTimeout: 3000 })),
        time.took(redlock.release(lock, { nodeTimeout: 3000 })),
      ];
      const quitting = redlock.quit();
      assert.equal(redlock.quit(), quitting);
      lasted(bench, (await time.took(quitting)).took, 0, 210, "quit");
      await faults.resume(masters);
      await Promise.all(calls);
    },
    alone,
  ),

  behaviour(
    "5.11",
    "A resumed lock that is being confirmed when its process quits is released, and is none",
    async (bench) => {
      const { faults, masters, time } = bench;
      for (const confirms of ["verify", "extend"] as const) {
        const { lock } = await held(bench, 20_000);
        const redlock = await bench.redlock();
        const resumed = redlock.resume(await lock.detach());
        await faults.slow(redlock, masters, 20);
        const asked = time.took<unknown>(confirms === "verify" ? resumed.verify() : resumed.extend(20_000));
        await time.pass(5);
        await redlock.quit({ keepClients: true });
        const { value, error } = await asked;
        assert.ok(value === false || error?.code === "LOCK_LOST", `${String(value)}, ${String(error)}`);
        assert.deepEqual([resumed.state, resumed.remaining(), resumed.signal.aborted], ["lost", 0, true]);
        await untilGone(bench, masters, "r");
      }
    },
    alone,
  ),

  behaviour(
    "5.11",
    "During a drain a resumed lock goes on if it was confirmed, and is refused otherwise",
    async (bench) => {
      const { time } = bench;
      const { lock } = await held(bench, 20_000);
      const redlock = await bench.redlock();
      const other = await (await bench.redlock()).acquire("s", 20_000);
      const [confirmed, unconfirmed] = [await lock.detach(), await other.detach()].map((one) =>
        redlock.resume(one),
      );
      assert.equal(await confirmed!.verify(), true);
      const quitting = redlock.quit({ drain: 5000 });
      failed(await time.took(unconfirmed!.extend(20_000)), "CLOSED");
      failed(await time.took(unconfirmed!.verify()), "CLOSED");
      await confirmed!.extend(20_000);
      assert.equal(await confirmed!.verify(), true);
      await confirmed!.release();
      await quitting;
    },
    alone,
  ),

  behaviour(
    "README",
    "A lock that is passed to another Redlock is extended, verified and released by its own",
    async (bench) => {
      const { masters } = bench;
      const { lock } = await held(bench);
      const other = await bench.redlock({ on: masters.slice(3) });
      await other.extend(lock, 4000);
      within(bench, lock.remaining(), 3900, 3958, "what remains");
      assert.equal(await other.verify(lock), true);
      assert.equal((await other.release(lock)).outcome, "released");
      await untilGone(bench, masters, "r");
    },
  ),
];
