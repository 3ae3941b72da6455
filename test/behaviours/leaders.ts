import assert from "node:assert/strict";
import type { Redlock } from "@quorlock/redlock";
import type { LeadOptions } from "@quorlock/redlock/lead";
import { type Behaviour, type Bench, behaviour } from "./bench.ts";
import { failed, lasted, occupy, untilGone, valuesOf } from "./looking.ts";

const queued = {
  masters: 3,
  notOn: { "without scripts": "it keeps no queue", "a Cluster": "it keeps no queue" },
} as const;
const three = { masters: 3 };
const mine = new TypeError("mine");

const throwing = (): never => {
  throw mine;
};
const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));

/** A promise that is resolved from outside. */
function gate() {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

/** A candidate for "r", and what it tells: "start", "leads", "stop", or the code of an error. */
async function candidate(bench: Bench, work = untilAborted, options: LeadOptions = {}) {
  const { client, time } = bench;
  const redlock = await bench.redlock();
  const told: string[] = [];
  const controller = new AbortController();
  const listeners: LeadOptions = {
    onStart: () => void told.push("start"),
    onStop: () => void told.push("stop"),
    onError: ({ code }) => void told.push(code),
  };
  const routine = (signal: AbortSignal): Promise<void> => {
    told.push("leads");
    return work(signal);
  };
  const settings = { ...listeners, signal: controller.signal, ...options };
  const ended = time.took(client.lead(redlock, "r", 1000, routine, settings));
  const until = (what: string) => time.until(what, () => told.at(-1) === what);
  return { redlock, told, ended, until, abort: () => controller.abort() };
}

/** Leader election, as the page of `lead` promises it. */
export const leaders: readonly Behaviour[] = [
  behaviour(
    "lead",
    "One process at a time leads, and the next one when it has stopped or died",
    async (bench) => {
      const { faults, time } = bench;
      const all = [await candidate(bench), await candidate(bench)];
      const leading = () => all.filter(({ told }) => told.includes("leads"));
      await time.pass(2500);
      const [first] = leading();
      assert.equal(leading().length, 1);
      await faults.end(first!.redlock);
      await time.until("another leads", () => leading().length === 2);
      const second = all.find((one) => one !== first)!;
      await second.redlock.quit();
      await second.ended;
    },
    queued,
  ),

  behaviour(
    "lead",
    "It leads, and is extended, until its caller's signal aborts; then it gives the lock up",
    async (bench) => {
      const { masters, time } = bench;
      const one = await candidate(bench);
      await time.pass(3000);
      assert.ok((await valuesOf(masters, "r")).every((value) => value !== null));
      one.abort();
      const { took, value } = await time.took(one.ended);
      // It pauses between terms only.
      lasted(bench, took, 0, 20, "its end");
      assert.deepEqual([value?.error, one.told], [undefined, ["start", "leads", "stop"]]);
      await untilGone(bench, masters, "r");
      await one.redlock.quit();
    },
    three,
  ),

  behaviour(
    "lead",
    "A routine that returns steps down, and others have their turns",
    async (bench) => {
      const { time } = bench;
      const options = { retryDelay: 5 };
      const all = [
        await candidate(bench, () => Promise.resolve(), options),
        await candidate(bench, () => Promise.resolve(), options),
      ];
      await time.pass(5000);
      for (const { told, abort } of all) {
        const terms = told.filter((what) => what === "leads").length;
        abort();
        // Pauses of 50 to 100 ms: neither a hot loop nor one that leads alone.
        assert.ok(terms > 30 && terms < 100, `${terms} terms`);
      }
      for (const { ended } of all) assert.equal((await ended).error, undefined);
    },
    three,
  ),

  ...(["routine", "onStart", "onStop", "onError"] as const).map((name) =>
    behaviour(
      "lead",
      `What ${name} throws ends it, and leaves no key`,
      async (bench) => {
        const { faults, masters, time } = bench;
        if (name === "onError") await faults.hang(masters);
        const redlock = await bench.redlock({ isCold: name === "onError" });
        const options =
          name === "routine"
            ? { onStop: () => Promise.reject(new Error("a second one")) }
            : { [name]: throwing };
        const routine = name === "routine" ? throwing : () => {};
        const { error } = await time.took(bench.client.lead(redlock, "r", 1000, routine, options));
        assert.equal(error, mine);
        if (name === "onError") await faults.resume(masters);
        await untilGone(bench, masters, "r");
      },
      three,
    ),
  ),

  behaviour(
    "lead",
    "One that has lost its lock is told at once, and leads again when its routine has ended",
    async (bench) => {
      const { faults, masters, time } = bench;
      const stopped = gate();
      const one = await candidate(bench, async (signal) => {
        await untilAborted(signal);
        await stopped.opened;
        signal.throwIfAborted();
      });
      await one.until("leads");
      await faults.cut(one.redlock, masters);
      const lost = time.now();
      await one.until("stop");
      lasted(bench, time.now() - lost, 500, 1000, "ms until it is told");
      await faults.heal(one.redlock, masters);
      await time.pass(1500);
      assert.deepEqual(one.told, ["start", "leads", "stop"]);
      stopped.open();
      await one.until("leads");
      one.abort();
      assert.equal((await one.ended).error, undefined);
      assert.deepEqual(one.told.slice(3), ["start", "leads", "stop"]);
    },
    three,
  ),

  behaviour(
    "lead",
    "What onStop throws when the lock is lost ends it once its routine has ended",
    async (bench) => {
      const { faults, masters, time } = bench;
      const ending = gate();
      let stops = 0;
      const onStop = () => {
        stops += 1;
        return Promise.reject(new bench.client.LockLostError(["r"], "mine"));
      };
      const one = await candidate(bench, () => ending.opened, { onStop });
      await one.until("leads");
      await faults.cut(one.redlock, masters);
      await time.until("it stops", () => stops === 1);
      await time.pass(500);
      await faults.heal(one.redlock, masters);
      const opened = time.now();
      ending.open();
      const { error } = await one.ended;
      assert.ok(String(error).includes("mine"), String(error));
      lasted(bench, time.now() - opened, 0, 250, "the rest");
      assert.equal(stops, 1);
    },
    three,
  ),

  ...(["its signal", "`quit` with a drain", "the loss of its lock"] as const).map((by) =>
    behaviour(
      "lead",
      `One that is told to end by ${by} while it starts does not run its routine`,
      async (bench) => {
        const { faults, masters, time } = bench;
        const starting = gate();
        let starts = 0;
        const onStart = () => {
          starts += 1;
          return starts === 1 ? starting.opened : undefined;
        };
        const one = await candidate(bench, untilAborted, { onStart });
        await time.until("it starts", () => starts === 1);
        let quitting: Promise<void> | undefined;
        if (by === "its signal") one.abort();
        else if (by === "`quit` with a drain") quitting = one.redlock.quit({ drain: 10_000 });
        else {
          await faults.cut(one.redlock, masters);
          await one.until("stop");
          await faults.heal(one.redlock, masters);
        }
        starting.open();
        if (by === "the loss of its lock") {
          await one.until("leads");
          assert.deepEqual([starts, one.told], [2, ["stop", "leads"]]);
          one.abort();
        }
        const { error } = await one.ended;
        assert.equal(error, undefined);
        if (by !== "the loss of its lock") assert.deepEqual(one.told, ["stop"]);
        await quitting;
        await untilGone(bench, masters, "r");
      },
      three,
    ),
  ),

  behaviour(
    "lead",
    "An error that follows from the abort of its signal is no failure, another one is",
    async (bench) => {
      const { time } = bench;
      const thrown: readonly ((signal: AbortSignal) => unknown)[] = [
        ({ reason }) => reason,
        ({ reason }) => new Error("stopped", { cause: reason }),
        () => new DOMException("aborted", "AbortError"),
        () => new bench.client.LockLostError(["r"], "it was released"),
        () => mine,
      ];
      for (const errorOf of thrown) {
        const redlock = await bench.redlock();
        const controller = new AbortController();
        const routine = async (signal: AbortSignal): Promise<never> => {
          controller.abort();
          throw errorOf(signal);
        };
        const { error } = await time.took(
          bench.client.lead(redlock, "r", 1000, routine, { signal: controller.signal }),
        );
        assert.equal(error, errorOf === thrown.at(-1) ? mine : undefined);
      }
    },
    three,
  ),

  behaviour(
    "lead",
    "`quit` takes its lock at once, and `lead` resolves when its routine has ended",
    async (bench) => {
      const { masters, time } = bench;
      const ending = gate();
      const one = await candidate(bench, () => ending.opened);
      await one.until("leads");
      await one.redlock.quit();
      assert.deepEqual(one.told, ["start", "leads", "stop"]);
      await untilGone(bench, masters, "r");
      let hasEnded = false;
      void one.ended.then(() => {
        hasEnded = true;
      });
      await time.pass(50);
      assert.equal(hasEnded, false);
      ending.open();
      assert.equal((await one.ended).error, undefined);
    },
    three,
  ),

  behaviour(
    "lead",
    "`quit` with a drain tells the routine, and the lock stays until it and onStop have ended",
    async (bench) => {
      const { masters, time } = bench;
      const [ending, stopping] = [gate(), gate()];
      let reason: unknown;
      const work = async (signal: AbortSignal) => {
        await untilAborted(signal);
        ({ reason } = signal);
        await ending.opened;
      };
      const one = await candidate(bench, work, { onStop: () => stopping.opened });
      await one.until("leads");
      const quitting = one.redlock.quit({ drain: 10_000 });
      await time.pass(1500);
      failed({ took: 0, error: reason }, "CLOSED");
      ending.open();
      await time.pass(1500);
      assert.ok((await valuesOf(masters, "r")).every((value) => value !== null));
      stopping.open();
      await quitting;
      assert.equal((await one.ended).error, undefined);
      await untilGone(bench, masters, "r");
    },
    three,
  ),

  behaviour(
    "lead",
    "A candidate waits for as long as another leads, reports nothing, and ends with its signal",
    async (bench) => {
      const { faults, masters, time } = bench;
      await occupy(masters, "r");
      const one = await candidate(bench, untilAborted, { retryDelay: 20 });
      await time.pass(4000);
      assert.deepEqual(one.told, []);
      await faults.lose(masters, "r");
      await one.until("leads");
      const other = await candidate(bench);
      await time.pass(2500);
      const aborted = time.now();
      other.abort();
      assert.equal((await other.ended).error, undefined);
      lasted(bench, time.now() - aborted, 0, 5, "its end");
      assert.deepEqual(other.told, []);
      one.abort();
      await one.ended;
    },
    three,
  ),

  behaviour(
    "lead",
    "A time without a quorum is reported about once a ttl; then it leads",
    async (bench) => {
      const { faults, masters, time } = bench;
      await faults.hang(masters.slice(1));
      const redlock = await bench.redlock({ isCold: true });
      const errors: string[] = [];
      const controller = new AbortController();
      let leads = 0;
      const routine = (signal: AbortSignal) => {
        leads += 1;
        return untilAborted(signal);
      };
      const options = {
        onError: ({ code }: { code: string }) => void errors.push(code),
        signal: controller.signal,
      };
      const leading = time.took(bench.client.lead(redlock, "r", 1000, routine, options));
      await time.pass(6500);
      assert.deepEqual(new Set(errors), new Set(["NO_QUORUM"]));
      assert.ok(errors.length >= 4 && errors.length <= 6, `${errors.length} reports`);
      await faults.resume(masters.slice(1));
      await time.until("it leads", () => leads === 1);
      controller.abort();
      assert.equal((await leading).error, undefined);
    },
    three,
  ),

  behaviour(
    "lead",
    "It ends with `quit` in the pause between two terms, and does nothing after it or with an aborted signal",
    async (bench) => {
      const { masters, time } = bench;
      const { lead } = bench.client;
      const redlock = await bench.redlock();
      let terms = 0;
      const routine = () => {
        terms += 1;
      };
      const tap = await masters[0]!.tap();
      await lead(redlock, "r", 100_000, routine, { signal: AbortSignal.abort() });
      for (const [name, ttl] of [
        ["", 1000],
        ["r", -1],
      ] as const)
        failed(await time.took(lead(redlock, name, ttl, routine)), "INVALID_ARGUMENT");
      assert.deepEqual([terms, await tap.commands()], [0, []]);
      const leading = time.took(lead(redlock, "r", 100_000, routine));
      await time.until("it pauses", async () => terms === 1);
      await untilGone(bench, masters, "r");
      const quit = time.now();
      await redlock.quit();
      assert.equal((await leading).error, undefined);
      lasted(bench, time.now() - quit, 0, 10, "its end");
      await lead(redlock, "r", 1000, routine);
      assert.equal(terms, 1);
    },
    three,
  ),

  behaviour(
    "lead",
    "It ends once its parent has, and does not take that for another leader",
    async (bench) => {
      const { masters, time } = bench;
      const redlock: Redlock = await bench.redlock({ reentrant: "handle" });
      const parent = await redlock.acquire("r", 10_000);
      let terms = 0;
      const told: string[] = [];
      const options = { parent, onError: ({ code }: { code: string }) => void told.push(code) };
      const leading = time.took(
        bench.client.lead(
          redlock,
          "r",
          1000,
          () => {
            terms += 1;
          },
          options,
        ),
      );
      await time.until("it has led twice", () => terms > 1);
      await parent.release();
      failed(await leading, "LOCK_LOST");
      assert.deepEqual(told, []);
      await untilGone(bench, masters, "r");
    },
    three,
  ),
];
