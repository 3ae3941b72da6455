import assert from "node:assert/strict";
import type { Lock, Redlock } from "@quorlock/redlock";
import type { WriteLock } from "@quorlock/redlock/read-write-lock";
import { type Behaviour, type Bench, behaviour, type Master } from "./bench.ts";
import {
  failed,
  held,
  isConnected,
  occupy,
  untilVoted,
  untilWaiting,
  valuesOf,
  votesFor,
} from "./looking.ts";

const three = { masters: 3 };
const restartGuard = { maxTtl: 20_000 };
const waits = { "without scripts": "no lock is handed on there" };
const guarded = { "without scripts": "the guard needs scripts" };
const lost = (lock: Lock): unknown => (lock.signal.aborted ? lock.signal.reason.reason : lock.state);

async function lose(
  { faults }: Bench,
  masters: readonly Master[],
  ...keys: readonly string[]
): Promise<void> {
  for (const key of keys) await faults.lose(masters, key);
}

/** Another client has the lock, and gives it back. */
async function holdsMeanwhile(rival: Redlock, resource = "r"): Promise<void> {
  const lock = await rival.acquire(resource, 2000);
  await Promise.all((await lock.release()).attempts);
}

/** A call holds what two of three masters have forgotten, and a rival has held meanwhile; another call of its process waits. */
async function forgottenBeforeHandOver(
  bench: Bench,
): Promise<{ readonly own: Redlock; readonly lock: Lock; readonly next: Promise<Lock> }> {
  const rival = await bench.redlock();
  const { redlock, lock: before } = await held(bench, 60_000);
  const own = await bench.redlock({ waitTimeout: 60_000 });
  const [first, next] = [own.acquire("r", 20_000), own.acquire("r", 20_000)];
  await untilWaiting(bench, redlock, 1);
  await before.release();
  const lock = await first;
  await lose(bench, bench.masters.slice(0, 2), "r");
  await holdsMeanwhile(rival);
  return { own, lock, next };
}

/** Rule 4.7 of docs/protocol.md. */
export const forgottenKeys: readonly Behaviour[] = [
  behaviour(
    "4.7",
    "A holder whose key a majority has forgotten is told, although another client has held and released it since",
    async (bench) => {
      const { masters } = bench;
      const [redlock, rival] = [await bench.redlock(), await bench.redlock()];
      const using = redlock.using("r", 3000, async (signal, lock) => {
        await lose(bench, masters, "r");
        await holdsMeanwhile(rival);
        await bench.time.until("it is told", () => signal.aborted);
        return lost(lock);
      });
      assert.equal(await using, "MAJORITY");
    },
    { masters: 1 },
  ),

  behaviour(
    "4.7",
    "Majorities that forgot are added up over extensions that reach other masters each",
    async (bench) => {
      const { faults, masters } = bench;
      const rival = await bench.redlock();
      const { redlock, lock } = await held(bench, 20_000);
      await lose(bench, masters.slice(0, 2), "r");
      await holdsMeanwhile(rival);
      await faults.cut(redlock, masters.slice(0, 1));
      await lock.extend(20_000);
      assert.equal(lock.state, "held");
      await faults.heal(redlock, masters.slice(0, 1));
      await faults.cut(redlock, masters.slice(1, 2));
      failed(await bench.time.took(lock.extend(20_000)), "LOCK_LOST");
      assert.equal(lost(lock), "MAJORITY");
    },
    three,
  ),

  behaviour(
    "4.7",
    "A key that another client still has on one master counts with those that are gone",
    async (bench) => {
      const { faults, masters } = bench;
      const rival = await bench.redlock();
      const { lock } = await held(bench, 20_000);
      await lose(bench, masters.slice(0, 2), "r");
      const second = await rival.acquire("r", 20_000);
      await faults.cut(rival, masters.slice(0, 1), "requests");
      await second.release();
      failed(await bench.time.took(lock.extend(20_000)), "LOCK_LOST");
      assert.equal(lost(lock), "MAJORITY");
    },
    three,
  ),

  behaviour(
    "4.7",
    "A master that has its key back may have voted for another client until then",
    async (bench) => {
      const { faults, masters, time } = bench;
      const rival = await bench.redlock();
      const { redlock, lock } = await held(bench, 20_000);
      await lose(bench, masters.slice(0, 1), "r");
      // The repair is on its way for long.
      await faults.slow(redlock, masters.slice(0, 1), 400, "requests");
      await lock.extend(20_000);
      await faults.cut(redlock, masters.slice(1, 2));
      await lose(bench, masters.slice(1, 2), "r");
      await holdsMeanwhile(rival);
      await untilVoted(bench, masters.slice(0, 1), lock);
      await time.pass(50);
      await faults.heal(redlock, masters.slice(1, 2));
      // The others may confirm it first.
      void time.took(lock.extend(20_000));
      await time.until("it is told", () => lock.signal.aborted);
      assert.equal(lost(lock), "MAJORITY");
    },
    three,
  ),

  behaviour(
    "4.7",
    "A lock goes on where fewer than a majority have forgotten it, and has its keys back",
    async (bench) => {
      const { masters } = bench;
      for (const count of [2, 4, 5]) {
        const on = masters.slice(0, count);
        const redlock = await bench.redlock({ on });
        const lock = await redlock.acquire("r", 20_000);
        await Promise.all(lock.attempts);
        await lose(bench, on.slice(0, Math.floor(count / 2)), "r");
        await lock.extend(20_000);
        await untilVoted(bench, on, lock);
        await Promise.all((await lock.release()).attempts);
      }
    },
  ),

  behaviour(
    "4.7",
    "An extension is one command to each master while none has forgotten the lock, and two more to one that has",
    async (bench) => {
      const { masters, time } = bench;
      const { lock } = await held(bench, 20_000);
      const taps = await Promise.all(masters.map((master) => master.tap()));
      const count = async (): Promise<readonly number[]> => {
        const all = await Promise.all(taps.map((tap) => tap.commands()));
        return all.map((commands) => commands.filter(([name]) => name?.startsWith("EVAL")).length);
      };
      for (const _ of [1, 2, 3]) await lock.extend(20_000);
      await time.until("all have executed them", async () => Math.min(...(await count())) >= 3);
      await time.pass(300);
      assert.deepEqual(await count(), [3, 3, 3]);
      await lose(bench, masters.slice(0, 1), "r");
      await lock.extend(20_000);
      await time.pass(300);
      assert.deepEqual(await count(), [6, 5, 5]);
    },
    { masters: 3, notOn: { "without scripts": "it counts scripts" } },
  ),

  behaviour(
    "4.7",
    "All masters may forget a lock, one after the other, with one extension in between",
    async (bench) => {
      const { masters, time } = bench;
      const { lock } = await held(bench, 20_000);
      for (const master of [...masters, ...masters]) {
        await lose(bench, [master], "r");
        await lock.extend(20_000);
        await untilVoted(bench, masters, lock);
        // The rounds behind the extension have come to their end.
        await time.pass(300);
      }
      assert.equal(lock.state, "held");
    },
    three,
  ),

  behaviour(
    "4.7",
    "A master whose answers come too late for their round has its key back with the next extension",
    async (bench) => {
      const { faults, masters } = bench;
      const { redlock, lock } = await held(bench, 20_000);
      await faults.slow(redlock, masters.slice(0, 1), 250, "replies");
      await lose(bench, masters.slice(0, 1), "r");
      await lock.extend(20_000);
      await bench.time.pass(500);
      await lock.extend(20_000);
      await untilVoted(bench, masters, lock);
    },
    three,
  ),

  behaviour(
    "4.7",
    "A lock that few masters had at the grant is lost where one of them forgets it",
    async (bench) => {
      const { masters, time } = bench;
      const [redlock, rival] = [await bench.redlock(), await bench.redlock()];
      await occupy(masters.slice(2), "r");
      const lock = await redlock.acquire("r", 20_000);
      await Promise.all(lock.attempts);
      await lose(bench, masters.slice(1), "r");
      await holdsMeanwhile(rival);
      failed(await time.took(lock.extend(20_000)), "LOCK_LOST");
      assert.equal(lost(lock), "MAJORITY");
    },
    three,
  ),

  behaviour(
    "4.7",
    "A key that was set again confirms no extension before it is heard whether a majority has forgotten the lock",
    async (bench) => {
      const { faults, masters, time } = bench;
      const { redlock, lock } = await held(bench, 20_000);
      await lose(bench, masters.slice(1), "r");
      await faults.slow(redlock, masters.slice(2), 40);
      failed(await time.took(lock.extend(20_000)), "LOCK_LOST");
      assert.equal(lost(lock), "MAJORITY");
    },
    three,
  ),

  behaviour(
    "4.7",
    "A lock of several resources is lost with one of them",
    async (bench) => {
      const { masters } = bench;
      const [redlock, rival] = [await bench.redlock(), await bench.redlock()];
      const lock = await redlock.acquire(["{r}1", "{r}2"], 20_000);
      await Promise.all(lock.attempts);
      await lose(bench, masters, "{r}2");
      await holdsMeanwhile(rival, "{r}2");
      failed(await bench.time.took(lock.extend(20_000)), "LOCK_LOST");
      assert.equal(lost(lock), "MAJORITY");
      for (const value of await valuesOf(masters, "{r}2")) assert.equal(value, null);
    },
    { masters: 1 },
  ),

  behaviour(
    "4.7",
    "What masters have forgotten is known to a call of the same process that the lock is handed on to",
    async (bench) => {
      const { faults, masters, time } = bench;
      const { own, lock, next } = await forgottenBeforeHandOver(bench);
      await faults.cut(own, masters.slice(1, 2));
      await lock.extend(20_000);
      await time.pass(1000);
      await lock.release();
      const second = await next;
      await faults.heal(own, masters.slice(1, 2));
      // The others may confirm it first.
      void time.took(second.extend(20_000));
      await time.until("it is told", () => second.signal.aborted);
      assert.equal(lost(second), "MAJORITY");
    },
    { masters: 3, notOn: waits },
  ),

  behaviour(
    "4.7",
    "An answer that comes after the lock was handed on tells the call that has it",
    async (bench) => {
      const { faults, masters, time } = bench;
      const { own, lock, next } = await forgottenBeforeHandOver(bench);
      await faults.slow(own, masters.slice(1, 2), 1500);
      await lock.extend(20_000);
      await time.pass(1000);
      await lock.release();
      const second = await next;
      await time.until("it is told", () => second.signal.aborted);
      assert.equal(lost(second), "MAJORITY");
    },
    { masters: 3, notOn: { ...waits, real: "the release has to come between two answers" } },
  ),

  behaviour(
    "4.7",
    "A writer that a majority has forgotten does not become a reader, and a reader does not stay one",
    async (bench) => {
      const { masters, time } = bench;
      const [one, other] = [await bench.redlock(), await bench.redlock()].map(
        (redlock) => new bench.client.ReadWriteLock(redlock, "d"),
      );
      for (const isReader of [false, true]) {
        const lock = await (isReader ? one!.read(20_000) : one!.write(20_000));
        await Promise.all(lock.attempts);
        await lose(bench, masters, "quorlock:rw:{d}:write", "quorlock:rw:{d}:readers");
        const second = await other!.write(20_000);
        await Promise.all((await second.release()).attempts);
        const goesOn: Promise<unknown> = isReader ? lock.extend(20_000) : (lock as WriteLock).downgrade();
        failed(await time.took(goesOn), "LOCK_LOST");
        await Promise.all((await lock.release()).attempts);
      }
    },
    { masters: 3, notOn: { "without scripts": "readers and writers need scripts" } },
  ),

  behaviour(
    "4.7",
    "With the restart guard a lock outlives that all masters restart empty: nobody else has had their votes since",
    async (bench) => {
      const { faults, masters, time } = bench;
      const [redlock, rival] = [await bench.redlock({ restartGuard }), await bench.redlock({ restartGuard })];
      await redlock.initialize();
      const lock = await redlock.acquire("r", 20_000);
      await Promise.all(lock.attempts);
      await faults.restart(masters);
      for (const one of [redlock, rival]) await time.until("it is connected", () => isConnected(one));
      assert.equal(await rival.tryAcquire("other", 2000).catch(() => null), null);
      await lock.extend(20_000);
      await untilVoted(bench, masters, lock);
      assert.equal(lock.state, "held");
      await lock.extend(20_000);
      await lose(bench, masters, "r");
      // They vote for nobody now, so the lock has lost nothing.
      await lock.extend(20_000);
      assert.equal(lock.state, "held");
    },
    { masters: 3, notOn: guarded },
  ),

  behaviour(
    "4.7",
    "A master that came back empty in quarantine counts for none of those that have forgotten the lock, whoever asks first",
    async (bench) => {
      const { faults, masters, time } = bench;
      const redlock = await bench.redlock({ restartGuard });
      await redlock.initialize();
      const lock = await redlock.acquire("r", 20_000);
      await Promise.all(lock.attempts);
      await faults.restart(masters.slice(0, 1));
      await time.until("it is connected", () => isConnected(redlock));
      assert.equal(await lock.verify(), true);
      await lose(bench, masters.slice(1, 2), "r");
      await lock.extend(20_000);
      assert.equal(lock.state, "held");
      await untilVoted(bench, masters, lock);
    },
    { masters: 3, notOn: guarded },
  ),

  behaviour(
    "4.7",
    "A master in quarantine for its clock may have voted for another client before, and its free key counts",
    async (bench) => {
      const { faults, masters, time } = bench;
      const redlock = await bench.redlock({ restartGuard });
      await redlock.initialize();
      const rival = await bench.redlock({ restartGuard });
      const watching = await bench.redlock({ restartGuard, clockWatch: { exclude: true } });
      for (const one of [rival, watching]) assert.equal(await votesFor(one), 3);
      const lock = await redlock.acquire("r", 20_000);
      await Promise.all(lock.attempts);
      await faults.step(masters.slice(0, 2), 30_000);
      await holdsMeanwhile(rival);
      await votesFor(watching);
      await time.until("both are in quarantine", async () => (await votesFor(rival)) === 0);
      failed(await time.took(lock.extend(20_000)), "LOCK_LOST");
      assert.equal(lost(lock), "MAJORITY");
    },
    { masters: 3, notOn: { ...guarded, real: "no clock of these masters is set" } },
  ),
];
