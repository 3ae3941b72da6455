import assert from "node:assert/strict";
import type { Lock, Redlock } from "@quorlock/redlock";
import { type Behaviour, type Bench, behaviour, type OpenOptions, type Outcome } from "./bench.ts";
import { aborted, failed, lasted, lifetimesOn, untilGone, untilWaiting, within } from "./looking.ts";

const alone = { masters: 1 };
const noQueue = { "without scripts": "it keeps no queue", "a Cluster": "it keeps no queue" } as const;
const noTurns = { ...alone, notOn: { real: "a process that is blocked would have to be another one" } };

/** A lock that calls are nested in by its handle. */
async function outerLock(bench: Bench, ttl = 60_000, options: OpenOptions = {}) {
  const redlock = await bench.redlock({ reentrant: "handle", ...options });
  const parent = await redlock.acquire("r", ttl);
  await Promise.all(parent.attempts);
  return { redlock, parent };
}

/** Ends a handle, and not its lease. */
function lose(handle: Lock): void {
  handle.expiration = 0;
  assert.equal(handle.state, "lost");
}

async function isFree(bench: Bench, resource = "r"): Promise<boolean> {
  const lock = await (await bench.redlock()).tryAcquire(resource, 1000);
  await lock?.release();
  return lock !== null;
}

const entering: readonly Behaviour[] = [
  behaviour(
    "10.6",
    "A call within `using` enters what is held around it, at any depth, and is asked for by its own names",
    async (bench) => {
      const { masters, time } = bench;
      const redlock = await bench.redlock({ reentrant: true });
      await redlock.using(["a", "b"], 5000, async (_, outer) => {
        await Promise.all(outer.attempts);
        const tap = await masters[0]!.tap();
        await redlock.using(["b", "a"], 5000, () =>
          redlock.using("b", 5000, async (_, inner) => {
            await time.pass(5);
            assert.deepEqual(inner.resources, ["b"]);
            await (await redlock.acquire("b", 5000)).release();
          }),
        );
        failed(await time.took(redlock.acquire(["a", "c"], 5000)), "INVALID_ARGUMENT");
        assert.deepEqual(await tap.commands(), []);
        await redlock.using("c", 5000, async () => {
          const inner = await redlock.acquire("a", 5000);
          assert.equal(inner.value, outer.value);
          await inner.release();
        });
      });
      assert.ok(await isFree(bench, "a"));
    },
    { masters: 1, notOn: { "a Cluster": "the names are in different slots" } },
  ),

  behaviour(
    "10.6",
    "A lock that is not reentrant is entered by no call, and the error says how it could be",
    async (bench) => {
      const { time } = bench;
      const [plain, byHandle] = [await bench.redlock(), await bench.redlock({ reentrant: "handle" })];
      for (const [redlock, words] of [
        [plain, /this same Redlock .*reentrant/],
        [byHandle, /this same Redlock .*as parent/],
      ] as const)
        await redlock.using("r", 5000, async () => {
          assert.equal(await redlock.tryAcquire("r", 5000), null);
          const { error } = await time.took(redlock.acquire("r", 5000, { waitTimeout: 300 }));
          assert.match(error.message, words);
          const deeper = async (): Promise<void> => {
            await Promise.all([time.pass(10), redlock.acquire("r", 5000, { waitTimeout: 300 })]);
          };
          assert.match((await time.took(deeper())).error.message, words);
        });
    },
    alone,
  ),

  behaviour(
    "10.6",
    "A second call of a process that is nested in nothing is told who holds the lock, and of no nesting",
    async (bench) => {
      const { time } = bench;
      const redlock = await bench.redlock();
      const second = async (): Promise<string> =>
        (await time.took(redlock.acquire("r", 5000, { waitTimeout: 300 }))).error.message;
      const first = await redlock.acquire("r", 5000);
      const beside = [await second()];
      // In the routine of a lock on something else.
      beside.push(await redlock.using("s", 5000, second));
      await first.release();
      const ended = new AbortController();
      const routine = redlock.using("r", 5000, () => aborted(ended.signal));
      beside.push(await second());
      ended.abort();
      await routine;
      for (const message of beside) {
        assert.match(message, /^"r" is locked by another call of this same Redlock, for at most \d+ ms more/);
        assert.doesNotMatch(message, /nest|reentrant|waits for/);
      }
    },
    alone,
  ),

  behaviour(
    "10.6",
    "Only a lock of the same Redlock that holds the resources can be the parent",
    async (bench) => {
      const { time } = bench;
      const { redlock, parent } = await outerLock(bench);
      const foreign = await (await bench.redlock({ reentrant: true })).acquire("s", 5000);
      const plain = await bench.redlock();
      for (const [asked, resource, named] of [
        [redlock, "s", foreign],
        [redlock, "s", parent],
        [redlock, "r", {} as Lock],
        [plain, "r", parent],
      ] as const)
        failed(await time.took(asked.acquire(resource, 5000, { parent: named })), "INVALID_ARGUMENT");
    },
    alone,
  ),

  behaviour(
    "10.6",
    "A call that needs more time than the lock around it has extends that lock first",
    async (bench) => {
      const { time } = bench;
      const { redlock, parent } = await outerLock(bench, 3000);
      await time.pass(2200);
      const demanding = await redlock.acquire("r", 2000, { parent, minimumValidity: 1500 });
      within(bench, demanding.remaining(), 1960, 2000, "what remains");
      await demanding.release();
      await (await redlock.acquire("r", 10_000, { parent })).release();
      within(bench, parent.remaining(), 9000, 10_000, "what remains");
    },
    alone,
  ),

  behaviour(
    "10.6",
    "A call that cannot have the time it needs is refused, and keeps no other from the lock",
    async (bench) => {
      const { masters, time } = bench;
      const redlock = await bench.redlock({ reentrant: true });
      await redlock.using("r", 500, { maxHoldTime: 1000 }, async () => {
        await time.pass(700);
        const refused = await time.took(redlock.acquire("r", 600, { minimumValidity: 400 }));
        failed(refused, "NO_QUORUM");
        assert.match(refused.error.message, /minimumValidity is 400 ms/);
        for (const left of await lifetimesOn(masters, "r")) within(bench, left, 0, 305, "what is left");
        await (await redlock.acquire("r", 200, { nodeTimeout: 150 })).release();
      });
      await untilGone(bench, masters, "r");
    },
    alone,
  ),

  behaviour(
    "10.6",
    "A nested call whose lock has to be extended settles within its own time",
    async (bench) => {
      const { faults, masters, time } = bench;
      const { redlock, parent } = await outerLock(bench, 3000, { nodeTimeout: 1000 });
      await time.pass(1600);
      await faults.hang(masters);
      // Another extension is under way.
      const extending = time.took(redlock.extend(parent, 3000, { nodeTimeout: 1200 }));
      for (const [options, longest] of [
        [{ retryCount: 0, nodeTimeout: 50 }, 50],
        [{ waitTimeout: 100, nodeTimeout: 50 }, 150],
      ] as const) {
        const nested = await time.took(redlock.acquire("r", 3000, { ...options, parent }));
        failed(nested, "NO_QUORUM");
        lasted(bench, nested.took, 0, longest, "the call");
      }
      await faults.resume(masters);
      await extending;
      // Behind all that was on its way.
      await parent.release();
    },
    alone,
  ),

  behaviour(
    "10.6",
    "A nested call is granted after a stall of its process in which the masters have extended the lock",
    async (bench) => {
      const { faults, time } = bench;
      const { redlock, parent } = await outerLock(bench, 10_000);
      await time.pass(5500);
      const nested = time.took(redlock.acquire("r", 10_000, { parent }));
      await faults.block(redlock, 900);
      assert.equal((await nested).value?.state, "held");
    },
    noTurns,
  ),
];

const ending: readonly Behaviour[] = [
  behaviour(
    "10.6",
    "A lock that is lost is lost for all that hold it, and for none that has released it",
    async (bench) => {
      const { faults, masters } = bench;
      const { redlock, parent } = await outerLock(bench, 1000);
      const left = await redlock.acquire("r", 1000, { parent });
      await left.release();
      const inner = await redlock.acquire("r", 1000, { parent });
      const lost: unknown[] = [];
      redlock.on("lost", (lock) => lost.push(lock));
      await faults.cut(redlock, masters);
      await Promise.all([aborted(inner.signal), aborted(parent.signal)]);
      assert.deepEqual([parent.state, inner.state, left.state], ["lost", "lost", "released"]);
      assert.equal(inner.signal.reason.code, "LOCK_LOST");
      assert.equal(left.signal.aborted, false);
      assert.deepEqual(lost, [parent, inner]);
    },
    alone,
  ),

  behaviour(
    "10.6",
    "A handle that is lost keeps neither the lock nor its turn",
    async (bench) => {
      const { redlock, parent } = await outerLock(bench);
      lose(await redlock.acquire("r", 60_000, { parent }));
      const next = await redlock.tryAcquire("r", 60_000, { parent });
      assert.ok(next, "a lost handle keeps its turn");
      lose(next);
      await parent.release();
      assert.ok(await isFree(bench), "a lost handle keeps it");
    },
    alone,
  ),

  behaviour(
    "10.6",
    "A lock that others share is not detached",
    async (bench) => {
      const { redlock, parent } = await outerLock(bench);
      const nested = await redlock.acquire("r", 60_000, { parent });
      failed(await bench.time.took(parent.detach()), "INVALID_ARGUMENT");
      assert.equal(nested.state, "held");
      lose(nested);
      const { value } = await parent.detach();
      assert.equal((await nested.release()).outcome, "detached");
      const resumed = (await bench.redlock()).resume({ resources: ["r"], value, ttl: 60_000 });
      assert.equal(await resumed.verify(), true);
    },
    alone,
  ),

  behaviour(
    "10.6",
    "A promise that outlives its routine finds the lock ended, also when another handle keeps it",
    async (bench) => {
      const { time } = bench;
      const redlock = await bench.redlock({ reentrant: true });
      let asked: Promise<Lock | null> | undefined;
      let isOver = false;
      const inner = await redlock.using(["a", "b"], 5000, () => {
        asked = time.until("it is over", () => isOver).then(() => redlock.tryAcquire("a", 5000));
        return redlock.acquire("b", 5000);
      });
      isOver = true;
      assert.equal(await asked, null);
      assert.equal(inner.state, "held");
      await inner.release();
      assert.ok(await isFree(bench, "a"));
    },
    { masters: 1, notOn: { "a Cluster": "the names are in different slots" } },
  ),

  behaviour(
    "10.6",
    "A handle that ends while the masters are asked is neither extended nor verified",
    async (bench) => {
      const { faults, masters, time } = bench;
      const { redlock, parent } = await outerLock(bench, 3000);
      const nested = await redlock.acquire("r", 3000, { parent });
      await faults.slow(redlock, masters, 60, "replies");
      const asked = [nested.verify(), nested.extend(4000).catch(({ code }) => code)];
      await time.pass(20);
      lose(nested);
      assert.deepEqual(await Promise.all(asked), [false, "LOCK_LOST"]);
    },
    { masters: 1, notOn: { "without scripts": "an operation takes several round trips" } },
  ),
];

/** A call that is nested in `parent`, in its turn, until it is told to end. */
function turnOf(bench: Bench, redlock: Redlock, names: string[], parent: Lock) {
  const turn = { begins: false, ends: false };
  const use = redlock.using(names, 5000, { parent, waitTimeout: 5000 }, async () => {
    turn.begins = true;
    await bench.time.until("it ends", () => turn.ends);
  });
  return Object.assign(turn, { use });
}

const turns: readonly Behaviour[] = [
  behaviour(
    "10.6",
    "Nested calls for different resources do not wait for each other, and none is overtaken by one that wants less",
    async (bench) => {
      const { time } = bench;
      const redlock = await bench.redlock({ reentrant: "handle" });
      const parent = await redlock.acquire(["a", "b", "c"], 60_000);
      const wanted = [["a"], ["c"], ["a", "b"], ["b"]];
      const [first, other, both, last] = wanted.map((names) => turnOf(bench, redlock, names, parent));
      await time.pass(20);
      assert.deepEqual(
        [first, other, both, last].map((one) => one!.begins),
        [true, true, false, false],
      );
      first!.ends = true;
      await first!.use;
      await time.until("the next turn", () => both!.begins);
      assert.equal(last!.begins, false);
      for (const one of [other, both, last]) one!.ends = true;
      await Promise.all([other, both, last].map((one) => one!.use));
    },
    { masters: 1, notOn: { "a Cluster": "the names are in different slots" } },
  ),

  behaviour(
    "10.6",
    "A turn lasts until all that is nested in it has ended",
    async (bench) => {
      const { redlock, parent } = await outerLock(bench);
      const first = await redlock.acquire("r", 60_000, { parent });
      const inner = await redlock.acquire("r", 60_000, { parent: first });
      await first.release();
      assert.equal(await redlock.tryAcquire("r", 60_000, { parent }), null);
      await inner.release();
      assert.equal((await redlock.tryAcquire("r", 60_000, { parent }))?.state, "held");
    },
    alone,
  ),

  behaviour(
    "10.6",
    "A nested call waits for its turn, and then for the masters, no longer than its own time",
    async (bench) => {
      const { time } = bench;
      const { redlock, parent } = await outerLock(bench);
      await redlock.acquire("r", 60_000, { parent });
      for (const [options, longest] of [
        [{ retryCount: 3, retryDelay: 100, retryJitter: 0 }, 300],
        [{ waitTimeout: 200 }, 200],
      ] as const) {
        const refused = await time.took(redlock.acquire("r", 5000, { ...options, parent }));
        failed(refused, "RESOURCE_LOCKED");
        lasted(bench, refused.took, longest, longest, "the call");
      }
    },
    alone,
  ),

  behaviour(
    "10.6",
    "A call whose lock ends while it waits for its turn asks the masters, in what is left of its time",
    async (bench) => {
      const { time } = bench;
      const redlock = await bench.redlock({ reentrant: true });
      let waiting: Promise<Outcome<Lock>> | undefined;
      const first = await redlock.using("r", 60_000, async () => {
        const one = await redlock.acquire("r", 60_000);
        waiting = time.took(redlock.acquire("r", 5000, { waitTimeout: 500 }));
        return one;
      });
      const rival = await bench.redlock();
      const next = rival.acquire("r", 60_000, { waitTimeout: 60_000 });
      await untilWaiting(bench, rival, 1);
      await time.pass(300);
      await first.release();
      assert.equal((await next).state, "held");
      const refused = await waiting!;
      failed(refused, "RESOURCE_LOCKED");
      lasted(bench, refused.took, 500, 505, "the call");
    },
    { masters: 1, notOn: noQueue },
  ),

  behaviour(
    "10.6",
    "A nested call that gives up, or whose process quits, leaves its turn and nothing else",
    async (bench) => {
      const { time } = bench;
      const { redlock, parent } = await outerLock(bench);
      const first = await redlock.acquire("r", 60_000, { parent });
      const controller = new AbortController();
      const waits = { parent, waitTimeout: 60_000 };
      const given = time.took(redlock.acquire("r", 5000, { ...waits, signal: controller.signal }));
      const waiting = time.took(redlock.acquire("r", 5000, waits));
      controller.abort();
      failed(await given, "ABORTED");
      await first.release();
      assert.equal((await waiting).value?.state, "held");
      await (await waiting).value!.release();
      const asked = time.took(redlock.acquire("r", 5000, { parent }));
      const quitting = redlock.quit({ drain: 5000 });
      failed(await asked, "CLOSED");
      assert.equal(parent.state, "held");
      assert.equal(await isFree(bench), false);
      await parent.release();
      await quitting;
    },
    alone,
  ),
];

const limits: readonly Behaviour[] = [
  behaviour(
    "10.6",
    "`maxHoldTime` of a nested `using` ends it and what is nested in it, gives way to the next, and ends no more",
    async (bench) => {
      const { time } = bench;
      const redlock = await bench.redlock({ reentrant: true, nodeTimeout: 150 });
      let isOver = false;
      await redlock.using("r", 400, async (signal, outer) => {
        const begun = time.now();
        const first = redlock.using("r", 400, { maxHoldTime: 600 }, (_, middle) =>
          redlock.using("r", 400, async (innerSignal, inner) => {
            await aborted(innerSignal);
            lasted(bench, time.now() - begun, 570, 600, "it was held");
            for (const one of [middle, inner]) {
              assert.deepEqual([one.state, one.remaining(), one.expiration], ["lost", 0, 0]);
              assert.match(one.signal.reason.message, /maxHoldTime, 600 ms/);
            }
            await time.until("it is over", () => isOver);
          }),
        );
        await redlock.using("r", 400, { waitTimeout: 3000 }, () => time.pass(700));
        assert.deepEqual([signal.aborted, outer.state], [false, "held"]);
        isOver = true;
        await first;
      });
      assert.ok(await isFree(bench));
    },
    alone,
  ),

  behaviour(
    "10.6",
    "`maxHoldTime` of an outer `using` holds for what is nested in it, and for its extensions",
    async (bench) => {
      const { masters, time } = bench;
      const redlock = await bench.redlock({ reentrant: true, nodeTimeout: 150 });
      await redlock.using("r", 500, { maxHoldTime: 900 }, async () => {
        const begun = time.now();
        await redlock.using("r", 500, { maxHoldTime: 5000 }, async (signal, inner) => {
          await inner.extend(60_000);
          within(bench, inner.remaining(), 850, 900, "what remains");
          for (const left of await lifetimesOn(masters, "r")) within(bench, left, 0, 905, "what is left");
          await aborted(signal);
          lasted(bench, time.now() - begun, 860, 900, "it was held");
          assert.match(signal.reason.message, /maxHoldTime, 900 ms/);
        });
      });
    },
    alone,
  ),

  behaviour(
    "10.6",
    "`maxHoldTime` of a nested `using` bounds its own extensions, and not those of the outer one",
    async (bench) => {
      const redlock = await bench.redlock({ reentrant: true });
      await redlock.using("r", 1000, async (_, outer) => {
        await redlock.using("r", 500, { maxHoldTime: 700 }, async (_, inner) => {
          await inner.extend(60_000);
          assert.ok(outer.remaining() <= 1000, `${outer.remaining()} ms remain`);
          await outer.extend(60_000);
          assert.ok(inner.remaining() <= 700, `${inner.remaining()} ms remain`);
        });
        within(bench, outer.remaining(), 58_000, 60_000, "what remains");
      });
    },
    alone,
  ),
];

/** Rule 10.6 of docs/protocol.md. */
export const reentrancy: readonly Behaviour[] = [...entering, ...ending, ...turns, ...limits];
