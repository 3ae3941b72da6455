import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import type { Lock } from "@quorlock/redlock";
import { type Behaviour, behaviour } from "./bench.ts";
import {
  aborted,
  failed,
  held,
  lasted,
  lifetimesOn,
  occupy,
  throwing,
  untilGone,
  within,
} from "./looking.ts";

const alone = { masters: 1 };

const routines: readonly Behaviour[] = [
  behaviour(
    "README",
    "The outcome of `using` is that of its function, whatever has become of the lock",
    async (bench) => {
      const { faults, masters, time } = bench;
      const redlock = await bench.redlock();
      const stolen = redlock.using("r", 1000, async (_, lock) => {
        await Promise.all(lock.attempts);
        await faults.lose(masters, "r");
        await occupy(masters, "r");
        return "result";
      });
      assert.equal(await stolen, "result");
      await faults.lose(masters, "r");
      const { error } = await time.took(
        redlock.using("r", 1000, async (signal) => {
          await faults.cut(redlock, masters);
          await aborted(signal);
          throw new TypeError("of its own");
        }),
      );
      assert.equal(String(error), "TypeError: of its own");
    },
    alone,
  ),

  behaviour(
    "README",
    "`using` runs nothing if it is not given a lock, and refuses what is no function before it asks for one",
    async (bench) => {
      const { masters, time } = bench;
      const redlock = await bench.redlock();
      await occupy(masters, "r");
      let ran = false;
      const refused = redlock.using("r", 2000, () => {
        ran = true;
      });
      failed(await time.took(refused), "RESOURCE_LOCKED");
      const given = { signal: AbortSignal.abort() };
      const never = redlock.using("s", 2000, given, () => {
        ran = true;
      });
      failed(await time.took(never), "ABORTED");
      assert.equal(ran, false);
      for (const routine of [undefined, "routine", {}])
        failed(await time.took(redlock.using("s", 2000, {}, routine as never)), "INVALID_ARGUMENT");
      for (const options of [{ automaticExtensionThreshold: 2000 }, { maxHoldTime: 500 }])
        failed(await time.took(redlock.using("s", 2000, options, () => {})), "INVALID_ARGUMENT");
    },
    alone,
  ),

  behaviour(
    "README",
    "A lock that its function releases or detaches is neither extended nor released any more",
    async (bench) => {
      const { masters, time } = bench;
      const redlock = await bench.redlock();
      const lost: unknown[] = [];
      redlock.on("lost", (lock) => lost.push(lock));
      const tap = await masters[0]!.tap();
      for (const end of [(lock: Lock) => lock.release(), (lock: Lock) => lock.detach()]) {
        let seen = 0;
        await redlock.using("r", 600, async (signal, lock) => {
          await end(lock);
          seen = (await tap.commands()).length;
          await time.pass(500);
          assert.equal(signal.aborted, false);
        });
        assert.equal((await tap.commands()).length, seen);
      }
      assert.deepEqual(lost, []);
    },
    alone,
  ),

  behaviour(
    "4.4",
    "A lock that its function has extended for longer is not extended before less than its own time is left",
    async (bench) => {
      const { masters, time } = bench;
      const redlock = await bench.redlock();
      const tap = await masters[0]!.tap();
      const asked = async () => (await tap.commands()).length;
      await redlock.using("r", 1000, async (_, lock) => {
        await lock.extend(5000);
        const own = await asked();
        await time.pass(3900);
        assert.equal(await asked(), own);
        await time.pass(700);
        assert.ok((await asked()) > own, "its own time is over");
      });
    },
    alone,
  ),

  behaviour(
    "4.4",
    "An extension of its own waits for no more than one round of those that `using` makes",
    async (bench) => {
      const { faults, masters, time } = bench;
      const redlock = await bench.redlock({ nodeTimeout: 250, retryCount: -1, retryJitter: 0 });
      await redlock.using("r", 3000, async (_, lock) => {
        await faults.hang(masters);
        await time.pass(1100);
        const own = { retryCount: 0, nodeTimeout: 100 };
        for (let count = 0; count < 3; count += 1) {
          const { took, error } = await time.took(redlock.extend(lock, 3000, own));
          assert.equal(error?.code, "NO_QUORUM");
          lasted(bench, took, 0, 350, "the extension");
        }
        await faults.resume(masters);
      });
    },
    alone,
  ),

  behaviour(
    "4.4",
    "A `backoff` that throws does not end the extensions of a lock",
    async (bench) => {
      const { faults, masters, time } = bench;
      const redlock = await bench.redlock({ backoff: throwing, nodeTimeout: 100 });
      await redlock.using("r", 2000, async (signal) => {
        await faults.hang(masters);
        await time.pass(1000);
        await faults.resume(masters);
        await time.pass(2200);
        assert.equal(signal.aborted, false);
      });
    },
    alone,
  ),

  behaviour(
    "4.4",
    "A lock is held for maxHoldTime at most, whoever extends it, and its keys end with it",
    async (bench) => {
      const { masters, time } = bench;
      const redlock = await bench.redlock();
      const outcome = redlock.using("r", 1000, { maxHoldTime: 2500 }, async (signal, lock) => {
        const begun = time.now();
        const left = () => begun + 2500 - time.now();
        for (let extended = false; !signal.aborted; await time.pass(20)) {
          if (time.now() - begun > 1200 && !extended) {
            extended = true;
            await lock.extend(60_000);
            within(bench, lock.remaining(), left() - 40, left(), "what remains");
          }
          for (const kept of await lifetimesOn(masters, "r")) within(bench, kept, -2, left() + 5, "a key");
        }
        lasted(bench, time.now() - begun, 2400, 2520, "it was held");
        assert.match(signal.reason.message, /maxHoldTime, 2500 ms/);
        await time.pass(100);
        await untilGone(bench, masters, "r");
        return "done";
      });
      assert.equal(await outcome, "done");
    },
    { masters: 1, notOn: { "without scripts": "an operation takes several round trips" } },
  ),

  behaviour(
    "README",
    "`lost` says why a lock ended, and the log has a line where that was against its holder's will",
    async (bench) => {
      const { faults, masters, time } = bench;
      const lines: unknown[] = [];
      const logger = { info() {}, warn() {}, error: (fields: object) => void lines.push(fields) };
      const redlock = await bench.redlock({ logger });
      const told: unknown[] = [];
      redlock.on("lost", ({ resources }, { reason, isFault }) => told.push([...resources, reason, isFault]));
      const left = await redlock.acquire("left", 500);
      await time.until("it has expired", () => left.state === "lost");
      await redlock.using("limited", 500, { maxHoldTime: 700 }, aborted);
      const name = "taken\u001B[31m\u202E";
      const taken = await redlock.acquire(name, 20_000);
      await faults.lose(masters, name);
      await occupy(masters, name);
      failed(await time.took(taken.extend(20_000)), "LOCK_LOST");
      await redlock.using("cut off", 1000, async (signal) => {
        await faults.hang(masters);
        await aborted(signal);
      });
      await faults.resume(masters);
      await redlock.acquire("kept", 20_000);
      await redlock.quit();
      assert.deepEqual(told, [
        ["left", "EXPIRED", false],
        ["limited", "HOLD_LIMIT", false],
        [name, "MAJORITY", true],
        ["cut off", "NOT_CONFIRMED", true],
        ["kept", "QUIT", false],
      ]);
      assert.deepEqual(lines, [
        { event: "lock_lost", resources: ["taken\\u{1b}[31m\\u{202e}"], reason: "MAJORITY" },
        { event: "lock_lost", resources: ["cut off"], reason: "NOT_CONFIRMED" },
      ]);
    },
    alone,
  ),
];

const signals: readonly Behaviour[] = [
  behaviour(
    "README",
    "The signal of `using` aborts with that of its caller, and the lock is held until the function has ended",
    async (bench) => {
      const { time } = bench;
      const redlock = await bench.redlock();
      const controller = new AbortController();
      const { signal } = controller;
      await redlock.using("r", 2000, { signal }, () => {});
      assert.deepEqual(getEventListeners(signal, "abort"), []);
      const using = redlock.using("r", 2000, { signal }, async (own, lock) => {
        controller.abort("enough");
        await aborted(own);
        await time.pass(5);
        assert.equal(lock.state, "held");
        return own.reason;
      });
      assert.equal(await using, "enough");
    },
    alone,
  ),

  behaviour(
    "3.6",
    "The signal of `using` tells, when it is read, that its lock or that of its caller has ended meanwhile",
    async (bench) => {
      const { faults } = bench;
      const redlock = await bench.redlock();
      await redlock.using("outer", 1000, (outer) =>
        redlock.using("inner", 10_000, { signal: outer }, (inner, lock) =>
          redlock.using("innermost", 1000, { signal: new AbortController().signal }, async (own) => {
            await faults.block(redlock, 1100);
            // No timer has fired yet.
            assert.equal(own.aborted, true);
            assert.equal(own.error, own.reason);
            assert.equal(inner.aborted, true);
            assert.equal(inner.reason, outer.reason);
            assert.equal(lock.state, "held");
          }),
        ),
      );
    },
    { masters: 1, notOn: { "a Cluster": "the names are in different slots" } },
  ),

  behaviour(
    "README",
    "A lock ends at an earlier `expiration` that is written, and is prolonged by none",
    async (bench) => {
      const { time } = bench;
      const { lock, redlock } = await held(bench, 10_000);
      const other = await redlock.acquire("other", 1000);
      const { expiration } = lock;
      lock.resources.push("no resource of it");
      assert.deepEqual(lock.resources, ["r"]);
      lock.expiration = expiration + 5000;
      within(bench, lock.expiration, expiration - 1, expiration + 1, "its end");
      lock.expiration = expiration - 5000;
      lock.expiration = expiration - 1000;
      within(bench, lock.expiration, expiration - 5001, expiration - 4999, "its end");
      lock.expiration = Number.NaN;
      assert.deepEqual([lock.expiration, lock.state, lock.signal.aborted], [0, "lost", true]);
      failed(await time.took(lock.extend(5000)), "LOCK_LOST");
      assert.equal(lock.loss?.why, "its expiration was set");
      assert.equal((await lock.release()).outcome, "released");
      // No timer of another lock is lost with it.
      await aborted(other.signal);
    },
    alone,
  ),

  behaviour(
    "README",
    "A lock that is built by hand is extended, released, and named by `lost`",
    async (bench) => {
      for (const reentrant of [false, true]) {
        const { lock, redlock } = await held(bench, 10_000, { reentrant });
        const lost: unknown[] = [];
        redlock.on("lost", (one) => lost.push(one));
        const again = new bench.client.Lock(redlock, lock.resources, lock.value, [], lock.expiration);
        assert.equal(await again.extend(10_000), again);
        assert.equal(again.state, "held");
        again.expiration = 0;
        assert.equal(again.state, "lost");
        assert.equal(lost.length, 1);
        assert.equal(lost[0], again);
        assert.equal((await again.release()).outcome, "released");
        assert.equal(await lock.verify(), false);
      }
    },
    alone,
  ),
];

/** What README.md promises of a lock that is held, and rules 3.6 and 4.4 of docs/protocol.md for `using`. */
export const holding: readonly Behaviour[] = [...routines, ...signals];
