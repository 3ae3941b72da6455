import assert from "node:assert/strict";
import { tracingChannel } from "node:diagnostics_channel";
import type { Redlock } from "@quorlock/redlock";
import type { OnceOptions } from "@quorlock/redlock/once";
import { type Behaviour, type Bench, behaviour } from "./bench.ts";
import { failed, lasted, lifetimesOn, occupy, untilGone, valuesOf, within } from "./looking.ts";

const three = { masters: 3 };
const mine = new TypeError("mine");

const throwing = (): never => {
  throw mine;
};

/** A job, and how often it has run. */
function jobs(bench: Bench, options: OnceOptions) {
  const runs: number[] = [];
  const run = (redlock: Redlock, work: () => Promise<void> = async () => {}) =>
    bench.client.once(redlock, "job", options, async () => {
      runs.push(bench.time.now());
      await work();
    });
  return { runs, run };
}

/** Rule 10.9 of docs/protocol.md. */
export const jobsOnce: readonly Behaviour[] = [
  behaviour(
    "10.9",
    "A job runs once, and again when its time is over, counted from its beginning",
    async (bench) => {
      const { time } = bench;
      // It may call while the keys expire, some masters before the others: it tries again.
      const other = await bench.redlock({ retryCount: 10, retryDelay: 20 });
      const one = await bench.redlock();
      const { run, runs } = jobs(bench, { keepFor: 3000 });
      const first = time.took(run(one, () => time.pass(1000)));
      await time.pass(500);
      const second = await time.took(run(other));
      assert.equal(second.value?.ran, false, String(second.error));
      assert.equal((await first).value?.ran, true);
      assert.equal((await run(other)).ran, false);
      while (!(await run(other)).ran) await time.pass(50);
      lasted(bench, runs[1]! - runs[0]!, 2960, 3200, "between the runs");
    },
    { masters: 3 },
  ),

  behaviour(
    "10.9",
    "A job that has run is kept from others also when its process quits",
    async (bench) => {
      const [one, other] = [await bench.redlock(), await bench.redlock()];
      const { run } = jobs(bench, { keepFor: 3000, ttl: 3000 });
      assert.equal((await run(one)).ran, true);
      await one.quit();
      assert.equal((await run(other)).ran, false);
    },
    { masters: 3 },
  ),

  behaviour(
    "10.9",
    "With the restart guard a job is kept for its maxTtl at most, or is refused",
    async (bench) => {
      const redlock = await bench.redlock({ restartGuard: { maxTtl: 2000 } });
      const { run, runs } = jobs(bench, { keepFor: 2001, ttl: 1500 });
      failed(await bench.time.took(run(redlock)), "INVALID_ARGUMENT");
      assert.deepEqual(runs, []);
    },
    { masters: 3, notOn: { "without scripts": "the guard needs scripts" } },
  ),

  behaviour(
    "10.9",
    "A job that throws may run again at once",
    async (bench) => {
      const [one, other] = [await bench.redlock(), await bench.redlock()];
      const { run } = jobs(bench, { keepFor: 3000 });
      const thrown = await bench.time.took(run(one, () => Promise.reject(new RangeError("no work"))));
      assert.equal(String(thrown.error), "RangeError: no work");
      assert.equal((await run(other)).ran, true);
    },
    { masters: 3 },
  ),

  behaviour(
    "10.9",
    "Votes of a process that has died do not say that a job is done",
    async (bench) => {
      const { masters, time } = bench;
      const [, ...others] = masters;
      await occupy(others, "job", 700);
      await bench.faults.lose(others.slice(1), "job");
      await bench.faults.hang(masters.slice(0, 1));
      const redlock = await bench.redlock({ isCold: true, retryCount: 10, retryDelay: 200 });
      const { run, runs } = jobs(bench, { keepFor: 5000 });
      const { value } = await time.took(run(redlock));
      assert.equal(value?.ran, true);
      assert.equal(runs.length, 1);
      await bench.faults.resume(masters);
    },
    { masters: 3 },
  ),

  behaviour(
    "10.9",
    "A job that takes longer than keepFor is kept meanwhile, and is free when it ends",
    async (bench) => {
      const { masters, time } = bench;
      const [one, other] = [await bench.redlock(), await bench.redlock()];
      const { run } = jobs(bench, { keepFor: 1000, ttl: 500 });
      const running = time.took(run(one, () => time.pass(2500)));
      await time.pass(2000);
      assert.equal((await run(other)).ran, false);
      assert.equal((await running).value?.ran, true);
      await untilGone(bench, masters, "job");
    },
    three,
  ),

  behaviour(
    "10.9",
    "A job is kept to the end of keepFor and no longer, where its last extension went further",
    async (bench) => {
      const { masters, time } = bench;
      const [one, closed] = [await bench.redlock(), await bench.redlock()];
      const options = { keepFor: 2000, ttl: 1500 };
      const work = () => time.pass(1700);
      const ends = [one, closed].map((redlock, index) =>
        bench.client.once(redlock, `${index}`, options, work),
      );
      const begun = time.now();
      await Promise.all(ends);
      await closed.quit();
      assert.ok(
        Math.min(...(await lifetimesOn(masters, "0"))) > 2100 - (time.now() - begun),
        "it went further",
      );
      await time.until("it is given back", async () =>
        (await valuesOf(masters, "0")).every((value) => !value),
      );
      lasted(bench, time.now() - begun, 1990, 2010, "the time it is kept");
      // Nobody is left who gives it back.
      assert.ok((await valuesOf(masters, "1")).every((value) => value !== null));
    },
    three,
  ),

  behaviour(
    "10.9",
    "A job that throws is kept with keepOnError, and its error is reported, also where its lock is lost",
    async (bench) => {
      const { faults, masters, time } = bench;
      const [one, other] = [await bench.redlock(), await bench.redlock()];
      const options = { keepFor: 3000, ttl: 1000, keepOnError: true };
      const run = (name: string, work: () => Promise<void>) =>
        time.took(bench.client.once(one, name, options, () => work().then(throwing)));
      assert.equal((await run("job", () => Promise.resolve())).error, mine);
      assert.equal((await jobs(bench, options).run(other)).ran, false);
      const lost = await run("other", async () => {
        await faults.cut(one, masters);
        await time.pass(2000);
      });
      assert.equal(lost.error, mine);
    },
    three,
  ),

  behaviour(
    "10.9",
    "The job of a process that dies is free within its ttl",
    async (bench) => {
      const { faults, time } = bench;
      const [one, other] = [await bench.redlock(), await bench.redlock({ retryCount: 10, retryDelay: 50 })];
      const { run } = jobs(bench, { keepFor: 60_000, ttl: 1000 });
      void time.took(run(one, () => time.pass(30_000)));
      await time.pass(2000);
      await faults.end(one);
      await time.pass(1000);
      assert.equal((await run(other)).ran, true);
    },
    three,
  ),

  behaviour(
    "10.9",
    "A job has its lock, and a signal that follows its caller's; a limit of the Redlock does not end it",
    async (bench) => {
      const redlock = await bench.redlock({ maxHoldTime: 1000 });
      const controller = new AbortController();
      const seen: unknown[] = [];
      const options = { keepFor: 5000, ttl: 500, signal: controller.signal };
      const result = await bench.client.once(redlock, "job", options, async (signal, lock) => {
        await bench.time.pass(1500);
        seen.push(signal.aborted, lock.state, lock.resources);
        controller.abort("enough");
        seen.push(signal.aborted, signal.reason);
        return "done";
      });
      assert.deepEqual(result, { ran: true, value: "done" });
      assert.deepEqual(seen, [false, "held", ["job"], true, "enough"]);
    },
    three,
  ),

  behaviour(
    "10.9",
    "A job is not nested in a lock of its caller",
    async (bench) => {
      const redlock = await bench.redlock({ reentrant: true });
      const { run } = jobs(bench, { keepFor: 3000 });
      assert.equal((await redlock.using("job", 2000, () => run(redlock))).ran, false);
    },
    three,
  ),

  behaviour(
    "10.9",
    "A job does not begin if its process has stood still since the grant",
    async (bench) => {
      const { faults, time } = bench;
      const redlock = await bench.redlock();
      const holds = tracingChannel("quorlock:hold");
      const blocking = { start: () => void faults.block(redlock, 1200) } as never;
      const { run, runs } = jobs(bench, { keepFor: 60_000, ttl: 1000 });
      holds.subscribe(blocking);
      const outcome = await time.took(run(redlock)).finally(() => holds.unsubscribe(blocking));
      failed(outcome, "LOCK_LOST");
      assert.deepEqual(runs, []);
    },
    {
      masters: 3,
      notOn: { virtual: "a process of the simulator stands still between two turns, not within one" },
    },
  ),

  behaviour(
    "10.9",
    "A job whose lock is lost is run by another process, and rejects when its work has ended",
    async (bench) => {
      const { faults, masters, time } = bench;
      const [one, other] = [await bench.redlock(), await bench.redlock({ retryCount: 10, retryDelay: 50 })];
      const { run } = jobs(bench, { keepFor: 2000, ttl: 1000 });
      let hasEnded = false;
      const running = time.took(
        run(one, async () => {
          await time.pass(3000);
          hasEnded = true;
        }),
      );
      await time.pass(100);
      await faults.cut(one, masters);
      await time.pass(1100);
      assert.equal((await run(other)).ran, true);
      failed(await running, "LOCK_LOST");
      assert.ok(hasEnded, "it rejected while its work went on");
    },
    three,
  ),

  behaviour(
    "10.9",
    "A job asks to be kept for as long as its lease lasts, and late answers count",
    async (bench) => {
      const { faults, masters, time } = bench;
      const redlock = await bench.redlock({ nodeTimeout: 50 });
      for (const fault of ["reset", "slow"] as const) {
        const running = bench.client.once(redlock, fault, { keepFor: 60_000, ttl: 3000 }, () =>
          fault === "slow" ? faults.slow(redlock, masters, 300, "replies") : faults.cut(redlock, masters),
        );
        await time.pass(1000);
        if (fault === "reset") await faults.reset(redlock, masters);
        await faults.heal(redlock, masters);
        assert.equal((await running).ran, true);
        assert.ok(Math.min(...(await lifetimesOn(masters, fault))) > 50_000, "it is kept");
      }
    },
    { masters: 3, notOn: { real: "it takes exact times" } },
  ),

  behaviour(
    "10.9",
    "`quit` with a drain lets a job end and keeps its lock; without, it ends a call that has no answer",
    async (bench) => {
      const { faults, masters, time } = bench;
      const [one, other] = [await bench.redlock(), await bench.redlock()];
      const { run } = jobs(bench, { keepFor: 5000, ttl: 500 });
      const running = time.took(run(one, () => time.pass(1500)));
      await time.pass(100);
      const quitting = one.quit({ drain: 5000 });
      assert.equal((await running).value?.ran, true);
      await quitting;
      assert.equal((await run(other)).ran, false);
      await faults.hang(masters);
      const calling = time.took(run(other));
      await time.pass(10);
      void other.quit();
      failed(await calling, "CLOSED");
      failed(await time.took(run(other)), "CLOSED");
      await faults.resume(masters);
    },
    three,
  ),

  behaviour(
    "10.9",
    "Without a quorum it tries as often as its settings say, for keepFor at most, and never says that another has it",
    async (bench) => {
      const { faults, masters, time } = bench;
      await occupy(masters, "job");
      await faults.hang(masters.slice(1));
      const { run } = jobs(bench, { keepFor: 2000 });
      const first = await time.took(run(await bench.redlock({ isCold: true })));
      failed(first, "NO_QUORUM");
      lasted(bench, first.took, 2000, 2205, "the first call");
      await faults.resume(masters);
      const retries = { retryDelay: 100, retryJitter: 0 };
      for (const [retryCount, from, to] of [
        [2, 800, 805],
        [-1, 2000, 2305],
      ] as const) {
        const redlock = await bench.redlock({ ...retries, retryCount });
        await redlock.ready();
        await bench.client.once(redlock, `before ${retryCount}`, { keepFor: 500 }, () => {});
        await faults.hang(masters.slice(1));
        const outcome = await time.took(run(redlock));
        failed(outcome, "NO_QUORUM");
        lasted(bench, outcome.took, from, to, "the call");
        await faults.resume(masters);
      }
    },
    three,
  ),

  ...[200, 1500, 1700].map((retryDelay) =>
    behaviour(
      "10.9",
      `Of two calls at the same moment one runs the job, also where the other reaches no master until it is over, with retries ${retryDelay} ms apart`,
      async (bench) => {
        const { faults, masters, time } = bench;
        const terms = { retryCount: -1, retryDelay, retryJitter: 0 };
        const [one, other] = [await bench.redlock(), await bench.redlock(terms)];
        await bench.client.once(other, "before", { keepFor: 500 }, () => {});
        for (const late of [2010, 2100, 2900]) {
          const { run } = jobs(bench, { keepFor: 2000 });
          await faults.cut(other, masters);
          const second = time.took(run(other));
          assert.equal((await run(one)).ran, true);
          await time.pass(late);
          await faults.heal(other, masters);
          failed(await second, "NO_QUORUM");
          lasted(bench, (await second).took, 1999, 2001, "the call");
          await untilGone(bench, masters, "job");
        }
      },
      three,
    ),
  ),

  behaviour(
    "10.9",
    "A lock that is read after keepFor, since the process stood still, is given back, and no job runs",
    async (bench) => {
      const { faults, masters, time } = bench;
      const redlock = await bench.redlock({ retryCount: -1, retryDelay: 1700, retryJitter: 0 });
      await bench.client.once(redlock, "before", { keepFor: 500 }, () => {});
      const { run } = jobs(bench, { keepFor: 2000 });
      await faults.cut(redlock, masters);
      const outcome = time.took(run(redlock));
      await time.pass(1850);
      await faults.heal(redlock, masters);
      await faults.slow(redlock, masters, 20, "replies");
      await time.pass(60);
      await faults.block(redlock, 150);
      failed(await outcome, "NO_QUORUM");
      await untilGone(bench, masters, "job");
    },
    { masters: 3, notOn: { real: "the process would have to stand still while the votes are on their way" } },
  ),

  behaviour(
    "10.9",
    "It runs when a quorum is back within its retries, or for its first call within keepFor",
    async (bench) => {
      const { faults, masters, time } = bench;
      await faults.hang(masters.slice(1));
      const redlock = await bench.redlock({ isCold: true, retryCount: 10, retryDelay: 100 });
      const { run } = jobs(bench, { keepFor: 500 });
      for (const pause of [300, 700]) {
        const calling = time.took(run(redlock));
        await time.pass(100);
        await faults.resume(masters);
        assert.equal((await calling).value?.ran, true);
        await time.pass(pause);
        await untilGone(bench, masters, "job");
        await faults.hang(masters.slice(1));
      }
      await faults.resume(masters);
    },
    three,
  ),

  ...(["its connections", "a quorum", "the reading of the masters"] as const).flatMap((what) =>
    (["its signal", "`quit`"] as const).map((by) =>
      behaviour(
        "10.9",
        `A call that waits for ${what} ends at once with ${by}`,
        async (bench) => {
          const { faults, masters, time } = bench;
          const isCold = what === "its connections";
          if (isCold) await faults.hang(masters);
          const redlock = await bench.redlock({
            isCold,
            nodeTimeout: 1000,
            retryCount: -1,
            retryDelay: 5000,
          });
          if (!isCold) await bench.client.once(redlock, "before", { keepFor: 5000 }, () => {});
          await faults.hang(isCold ? [] : masters.slice(2));
          const tap = what === "the reading of the masters" ? await masters[0]!.tap() : undefined;
          if (!isCold) await occupy(masters.slice(0, 2), "job");
          if (what === "a quorum") await faults.hang(masters.slice(1));
          if (tap) await redlock.tryAcquire("job", 10_000);
          const attempt = (await tap?.commands())?.length ?? 0;
          const controller = new AbortController();
          const { run } = jobs(bench, { keepFor: 60_000, signal: controller.signal });
          const calling = time.took(run(redlock));
          // Its attempt is over, which would await its rollback: it waits for answers of masters, or for its next attempt.
          if (tap) await time.until("it reads", async () => (await tap.commands()).length > 2 * attempt);
          else await time.pass(what === "a quorum" ? 2500 : 100);
          const ended = time.now();
          if (by === "its signal") controller.abort("enough");
          else void redlock.quit();
          failed(await calling, by === "its signal" ? "ABORTED" : "CLOSED");
          lasted(bench, time.now() - ended, 0, 5, "its end");
          await faults.resume(masters);
        },
        three,
      ),
    ),
  ),

  behaviour(
    "10.9",
    "A call that is refused while a master hangs settles within its own nodeTimeout, and says how long it is kept",
    async (bench) => {
      const { faults, masters, time } = bench;
      const redlock = await bench.redlock({ nodeTimeout: 5000 });
      for (const [index, master] of masters.entries())
        await master.call("SET", "job", index < 2 ? "one" : "another", "PX", [9000, 5000, 20_000][index]!);
      const { run } = jobs(bench, { keepFor: 3000, nodeTimeout: 200 });
      const all = (await run(redlock)) as { ran: boolean; remaining: number };
      assert.equal(all.ran, false);
      within(bench, all.remaining, 8900, 9000, "of the masters that agree, the last one");
      await faults.hang(masters.slice(2));
      const { took, value } = await time.took(run(redlock));
      assert.equal(value?.ran, false);
      lasted(bench, took, 0, 402, "the call");
      await faults.resume(masters);
    },
    three,
  ),

  behaviour(
    "10.9",
    "Votes of rivals that have split them leave the job to a later try, and are an error if they outlast all",
    async (bench) => {
      const { masters, time } = bench;
      const redlock = await bench.redlock({ retryCount: 5, retryDelay: 100, retryJitter: 0 });
      const { run } = jobs(bench, { keepFor: 3000 });
      for (const ttl of [60_000, 300]) {
        const split = masters
          .slice(0, 2)
          .map((master, index) => master.call("SET", "job", `${index} is a rival`, "PX", ttl));
        const outcome = await time.took(Promise.all(split).then(() => run(redlock)));
        if (ttl === 300) assert.equal(outcome.value?.ran, true);
        else {
          failed(outcome, "RESOURCE_LOCKED");
          within(bench, outcome.error.remaining, 60_000 - outcome.took, 60_000, "what is left");
        }
      }
    },
    three,
  ),

  behaviour(
    "10.9",
    "Of many processes at one moment one runs it",
    async (bench) => {
      const options = { retryCount: 20, retryDelay: 50, retryJitter: 40 };
      const redlocks = await Promise.all(Array.from({ length: 4 }, () => bench.redlock(options)));
      const { run } = jobs(bench, { keepFor: 30_000 });
      const results = await Promise.all(redlocks.map((redlock) => run(redlock)));
      assert.equal(results.filter(({ ran }) => ran).length, 1);
    },
    three,
  ),

  behaviour(
    "10.9",
    "A coordinator lets one of two processes run a task of node-cron, for the time that this asks for",
    async (bench) => {
      const { masters, time } = bench;
      const { once, runCoordinator } = bench.client;
      const [one, other] = [await bench.redlock(), await bench.redlock()];
      const key = "job:2026-11-23T07:52:42.000Z";
      const keeps = async (name: string, keepFor: number, deciding: Promise<boolean>) => {
        const begun = time.now();
        assert.equal(await deciding, true);
        for (const left of await lifetimesOn(masters, name))
          lasted(bench, time.now() - begun + left, keepFor - 100, keepFor + 100, "the job");
      };
      await keeps(key, 3000, runCoordinator(one).shouldRun(key, 3000));
      assert.equal(await runCoordinator(other).shouldRun(key, 3000), false);
      const at = Date.UTC(2026, 10, 23, 7, 52, 42);
      assert.equal((await once(other, "job", { keepFor: 3000, at }, () => {})).ran, false);
      const later = await once(other, "job", { keepFor: 3000, at: new Date(at + 1000) }, () => {});
      assert.equal(later.ran, true);
      await keeps("other", 9000, runCoordinator(one, { keepFor: 9000 }).shouldRun("other", 3000));
      await bench.faults.hang(masters);
      failed(await time.took(runCoordinator(one).shouldRun("third", 3000)), "NO_QUORUM");
      await bench.faults.resume(masters);
    },
    three,
  ),

  behaviour(
    "10.9",
    "A job with a wrong time is refused before anything is sent",
    async (bench) => {
      const redlock = await bench.redlock();
      const tap = await bench.masters[0]!.tap();
      const keepFor = 5000;
      for (const options of [
        { keepFor: 0.5 },
        { keepFor, ttl: 6000 },
        { keepFor, ttl: "1 s" },
        { keepFor, at: new Date("tomorrow") },
        { keepFor, at: "2026-11-23T07:52:42.000Z" },
        { keepFor, at: 9e15 },
        { keepFor, keepOnError: 1 },
      ]) {
        const { run } = jobs(bench, options as OnceOptions);
        const outcome = await bench.time.took(run(redlock));
        failed(outcome, "INVALID_ARGUMENT");
      }
      assert.throws(
        () => bench.client.runCoordinator(redlock, { keepFor: 0 }),
        bench.client.InvalidArgumentError,
      );
      assert.deepEqual(await tap.commands(), []);
    },
    { masters: 1 },
  ),
];
