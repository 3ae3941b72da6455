import assert from "node:assert/strict";
import type { Redlock } from "@quorlock/redlock";
import { type Behaviour, type Bench, behaviour } from "./bench.ts";
import { failed, farApart, held, keptFor, lasted, occupy, untilGone, untilVoted, within } from "./looking.ts";

/** A fault for a lock that is kept extended. */
const losses: ReadonlyArray<readonly [what: string, (bench: Bench, redlock: Redlock) => Promise<unknown>]> = [
  ["a majority is out of reach", ({ faults, masters }, redlock) => faults.cut(redlock, masters.slice(2))],
  [
    "another client has taken a majority of its keys",
    async ({ faults, masters }) => {
      await faults.lose(masters.slice(2), "r");
      await occupy(masters.slice(2), "r");
    },
  ],
  [
    "a majority answers by errors",
    async ({ faults, masters }) => {
      await faults.lose(masters.slice(2), "r");
      await Promise.all(masters.slice(2).map((master) => master.call("RPUSH", "r", "no lock")));
    },
  ],
];

/** Section 1 of docs/protocol.md. */
export const assumptionsAndPromises: readonly Behaviour[] = [
  behaviour("1.9", "Of several clients that ask at once, one holds", async (bench) => {
    const clients = await Promise.all(Array.from({ length: 4 }, () => bench.redlock()));
    const asked = await Promise.all(clients.map((redlock) => redlock.tryAcquire("r", 2000)));
    assert.ok(asked.filter((lock) => lock !== null).length < 2, "two clients hold");
    const waiting = clients.map((redlock) => redlock.acquire("r", 2000, { waitTimeout: 60_000 }));
    let holders = 0;
    const uses = waiting.map(async (lock) => {
      const held = await lock;
      holders += 1;
      assert.equal(holders, 1);
      await bench.time.pass(20);
      holders -= 1;
      await held.release();
    });
    await asked.find((lock) => lock !== null)?.release();
    await Promise.all(uses);
  }),

  behaviour(
    "1.9",
    "Of three clients that split the votes one has the lock soon",
    async (bench) => {
      const { time, masters } = bench;
      // (A busy machine may keep real rivals in step for some rounds.)
      const retryCount = time.slack === 0 ? 2 : 6;
      const rivals = await farApart(bench, 3, { retryCount, nodeTimeout: 2000 });
      for (let round = 0; round < 5; round += 1) {
        const asked = await Promise.all(rivals.map((rival) => time.took(rival.acquire(`r${round}`, 20_000))));
        const locks = asked.flatMap(({ value }) => value ?? []);
        assert.ok(locks.length > 0, "nobody has the lock");
        assert.equal(locks.length, 1, "two clients hold");
        await locks[0]!.release();
        await untilGone(bench, masters, `r${round}`);
      }
    },
    { masters: 3 },
  ),

  behaviour(
    "1.9",
    "A crashed holder keeps others out until its lock has expired, and no longer",
    async (bench) => {
      const { time, faults, masters } = bench;
      const [first, second] = [await bench.redlock(), await bench.redlock()];
      const begun = time.now();
      await first.acquire("r", 1000);
      await faults.cut(first, masters);
      const waiting = await time.took(second.acquire("r", 1000, { waitTimeout: 10_000 }));
      assert.ok(time.now() - begun >= 1000, `two hold, ${time.now() - begun} ms after the first asked`);
      lasted(bench, waiting.took, 0, 1350, "the wait");
      assert.equal(waiting.value?.state, "held");
    },
  ),

  behaviour("1.10", "Acquire and release settle within a time-out while no master answers", async (bench) => {
    const { time, faults, masters } = bench;
    const { redlock, lock } = await held(bench, 5000);
    await faults.hang(masters);
    const ended = await Promise.all([time.took(redlock.acquire("other", 5000)), time.took(lock.release())]);
    for (const { took } of ended) lasted(bench, took, 0, 205, "the call");
    failed(ended[0], "NO_QUORUM");
    await faults.resume(masters);
  }),

  behaviour("1.10", "Each call settles within its time-outs while no master answers", async (bench) => {
    const { time, faults, masters } = bench;
    const redlock = await bench.redlock();
    const lock = await redlock.acquire("r", 5000);
    await untilVoted(bench, masters, lock);
    await faults.hang(masters);
    const calls: Record<string, Promise<unknown>> = {
      tryAcquire: redlock.tryAcquire("another", 5000),
      extend: lock.extend(5000),
      verify: lock.verify(),
      inspect: redlock.inspect("r"),
      ready: redlock.ready({ timeout: 200 }),
    };
    const ended = Object.entries(calls).map(async ([name, call]) => [name, await time.took(call)] as const);
    for (const [name, { took }] of await Promise.all(ended)) lasted(bench, took, 150, 205, name);
    const waiting = await time.took(redlock.acquire("r", 5000, { waitTimeout: 1000 }));
    lasted(bench, waiting.took, 900, 1205, "an acquire that waits");
    failed(waiting, "NO_QUORUM");
    for (const master of masters)
      assert.ok(
        waiting.error.message.includes(`${bench.addressOf(redlock, master)}: TIMEOUT`),
        waiting.error.message,
      );
    lasted(bench, (await time.took(redlock.quit())).took, 0, 1000, "quit");
    await faults.resume(masters);
  }),

  behaviour("1.10", "A call that is aborted settles at once, and leaves no key", async (bench) => {
    const { time, faults, masters } = bench;
    const [holder, redlock] = [await bench.redlock(), await bench.redlock()];
    await untilVoted(bench, masters, await holder.acquire("r", 5000));
    const controller = new AbortController();
    const waiting = time.took(redlock.acquire("r", 5000, { waitTimeout: 10_000, signal: controller.signal }));
    await time.pass(100);
    controller.abort();
    const outcome = await waiting;
    failed(outcome, "ABORTED");
    lasted(bench, outcome.took, 95, 110, "the call");
    await faults.lose(masters, "r");
    await time.pass(50);
    await untilGone(bench, masters, "r");
  }),

  behaviour(
    "1.10",
    "A release settles within its nodeTimeout behind a backlog, and deletes its key later",
    async (bench) => {
      const { time, faults, masters } = bench;
      const redlock = await bench.redlock({ nodeTimeout: 100 });
      const locks = [];
      for (let index = 0; index < 3000; index += 1) locks.push(await redlock.acquire(`r${index}`, 60_000));
      await faults.slow(redlock, masters, 60, "replies");
      const ended = await Promise.all(locks.map((lock) => time.took(lock.release())));
      for (const { took } of ended) lasted(bench, took, 0, 105, "the release");
      assert.equal(ended.at(-1)!.value!.outcome, "partial");
      await untilGone(bench, masters, "r2999");
    },
    { masters: 1, notOn: { real: "thousands of locks take a busy machine longer than that" } },
  ),

  behaviour("1.10", "`using` releases within the nodeTimeout of its own call", async (bench) => {
    const { time, faults, masters } = bench;
    const redlock = await bench.redlock({ nodeTimeout: 2000 });
    let ended = 0;
    await redlock.using("r", 5000, { nodeTimeout: 100 }, async () => {
      await faults.hang(masters);
      ended = time.now();
    });
    lasted(bench, time.now() - ended, 95, 105, "the release");
    await faults.resume(masters);
  }),

  behaviour(
    "1.10",
    "A call whose time ends with its first attempt does not wait any longer",
    async (bench) => {
      const { time, faults, masters } = bench;
      await held(bench, 20_000);
      const redlock = await bench.redlock({ nodeTimeout: 400 });
      await faults.slow(redlock, masters, 150, "replies");
      const outcome = await time.took(redlock.acquire("r", 5000, { waitTimeout: 100 }));
      failed(outcome, "RESOURCE_LOCKED");
      lasted(bench, outcome.took, 100, 505, "the call");
    },
  ),

  behaviour(
    "1.11",
    "A holder is told 10 ms before its lock ends, though no master answers",
    async (bench) => {
      const { time, faults, masters } = bench;
      const redlock = await bench.redlock();
      const lock = await redlock.acquire("r", 1000);
      const { value, signal } = lock;
      await untilVoted(bench, masters, lock);
      await faults.cut(redlock, masters);
      const told = new Promise<void>((resolve) => {
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
      const asked = time.now();
      const remaining = lock.remaining();
      await told;
      const took = time.now() - asked;
      const left = await keptFor(bench, "r", value);
      // 10 ms before the deadline, and not 12.
      lasted(bench, took, remaining - 12, remaining - 10, "ms until the holder was told");
      within(bench, left, 10, 40, "ms until another can hold");
      assert.equal(lock.state, "lost");
      assert.equal(signal.reason.code, "LOCK_LOST");
    },
  ),

  behaviour("1.11", "The holder of a short lock is told a twentieth of its ttl before", async (bench) => {
    const { time } = bench;
    const redlock = await bench.redlock({ nodeTimeout: 90, retryCount: 50, retryDelay: 10 });
    const lock = await redlock.acquire("r", 100);
    const begun = time.now();
    const remaining = lock.remaining();
    await new Promise((resolve) => {
      lock.signal.addEventListener("abort", resolve, { once: true });
    });
    // 5 ms before the deadline, and not 7.
    lasted(bench, time.now() - begun, remaining - 7, remaining - 5, "ms until the holder was told");
  }),

  ...losses.map(([what, lose]) =>
    behaviour("1.11", `The signal of \`using\` aborts before its ttl is over if ${what}`, async (bench) => {
      const { time } = bench;
      const redlock = await bench.redlock({ retryCount: 10 });
      const begun = time.now();
      let told = Number.POSITIVE_INFINITY;
      const using = redlock.using("r", 2000, async (signal) => {
        signal.addEventListener("abort", () => {
          told = time.now() - begun;
        });
        await lose(bench, redlock);
        await time.pass(3000);
      });
      void time.took(using);
      await time.pass(3000);
      lasted(bench, told, 0, 2000, "ms until the holder was told");
    }),
  ),

  behaviour(
    "1.11",
    "The signal of `using` aborts while its routine runs, and `lost` is emitted",
    async (bench) => {
      const { faults, masters } = bench;
      const redlock = await bench.redlock();
      const lost: unknown[] = [];
      redlock.on("lost", (lock) => lost.push(...lock.resources));
      const using = redlock.using("r", 1000, async (signal) => {
        await faults.cut(redlock, masters);
        await new Promise((resolve) => {
          signal.addEventListener("abort", resolve, { once: true });
        });
        throw signal.reason;
      });
      failed(await bench.time.took(using), "LOCK_LOST");
      assert.deepEqual(lost, ["r"]);
    },
  ),

  behaviour(
    "1.13",
    "A client reports that another one has a list whose quorum may miss its own",
    async (bench) => {
      const { masters, time } = bench;
      const three = await bench.redlock({ on: masters.slice(0, 3), owner: "three", retryCount: 10 });
      const five = await bench.redlock({ owner: "five", retryCount: 10 });
      const reasons: string[] = [];
      for (const redlock of [three, five]) redlock.on("error", ({ reason }) => reasons.push(reason));
      const held = [await three.acquire("r", 60_000), await five.acquire("s", 60_000)];
      await time.pass(21_000);
      assert.ok(reasons.includes("MEMBERSHIP"), `reported: ${reasons.join(", ")}`);
      await Promise.all(held.map((lock) => lock.release()));
    },
    { notOn: { real: "it takes 20 s" } },
  ),
];
