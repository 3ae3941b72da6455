import assert from "node:assert/strict";
import type { Lock, Redlock } from "@quorlock/redlock";
import { type Behaviour, type Bench, behaviour } from "./bench.ts";
import {
  endsBeforeItsKeys,
  failed,
  farApart,
  handOver,
  held,
  lasted,
  occupy,
  untilGone,
  valuesOf,
  within,
} from "./looking.ts";

const noQueue = { "without scripts": "it keeps no queue", "a Cluster": "it keeps no queue" } as const;
const queued = { masters: 3, notOn: noQueue };
const patient = { waitTimeout: 60_000 };

/** Two processes, and the same semaphore in both. */
async function semaphores(bench: Bench, limit: number) {
  const redlocks = [await bench.redlock(), await bench.redlock()];
  return redlocks.map((redlock) => new bench.client.Semaphore(redlock, "s", limit));
}

/** Rules 10.1 and 10.2 of docs/protocol.md. */
export const permits: readonly Behaviour[] = [
  behaviour(
    "10.1",
    "A thousand permits are inspected within one time-out while masters hang",
    async (bench) => {
      const { faults, masters, time } = bench;
      const redlock = await bench.redlock({ owner: "worker" });
      const semaphore = new bench.client.Semaphore(redlock, "s", 1000);
      const lock = await semaphore.acquire(20_000);
      await Promise.all(lock.attempts);
      for (const hung of [masters.slice(0, 1), masters]) {
        await faults.hang(hung);
        const { took, value } = await time.took(semaphore.inspect());
        lasted(bench, took, 195, 400, "the inspection");
        assert.equal(value!.permits.length, hung.length === 1 ? 1 : 0);
        assert.notEqual(value!.waiting[0]!.unreachable, undefined);
        await faults.resume(hung);
      }
    },
    { masters: 3 },
  ),

  behaviour(
    "10.1",
    "No more permits are given than the limit says, however many ask at once",
    async (bench) => {
      const [first, ...more] = (await farApart(bench, 3)).map(
        (redlock) => new bench.client.Semaphore(redlock, "s", 2),
      );
      for (const callers of [more, [first, ...more], [first, ...more, first, ...more]]) {
        const asked = await Promise.all(callers.map((one) => one!.tryAcquire(5000)));
        const given = asked.flatMap((lock) => lock ?? []);
        assert.ok(given.length <= 2, `${given.length} permits`);
        await Promise.all(given.map((lock) => lock.release()));
      }
      for (let given = 0; given < 2; given += 1) assert.ok(await first!.tryAcquire(5000));
      assert.equal(await more[0]!.tryAcquire(5000), null);
    },
    { masters: 3 },
  ),

  behaviour(
    "10.1",
    "Several permits count as so many",
    async (bench) => {
      const [one, other] = await semaphores(bench, 3);
      const pair = await one!.tryAcquire(5000, { permits: 2 });
      assert.equal(await other!.tryAcquire(5000, { permits: 2 }), null);
      assert.ok(await other!.tryAcquire(5000));
      assert.equal(await other!.tryAcquire(5000), null);
      await pair!.release();
      assert.ok(await other!.tryAcquire(5000, { permits: 2 }));
    },
    { masters: 3 },
  ),

  behaviour(
    "10.1",
    "Thousands of permits are given at once, and have a fencing token",
    async (bench) => {
      const redlock = await bench.redlock({ fencing: true, nodeTimeout: 20_000 });
      const permits = 9000;
      const semaphore = new bench.client.Semaphore(redlock, "s", permits);
      const first = await semaphore.tryAcquire(120_000, { permits });
      await first!.extend(120_000);
      assert.equal((await first!.release()).outcome, "released");
      const second = await semaphore.tryAcquire(120_000, { permits });
      assert.ok(second!.fencingToken! > first!.fencingToken!, `${second!.fencingToken}`);
    },
    {
      masters: 1,
      notOn: { "without scripts": "fencing needs scripts", "a Cluster": "it grants no fencing tokens" },
    },
  ),

  behaviour(
    "10.2",
    "A call waits for a permit for as long as its retries would take, by its backoff as well",
    async (bench) => {
      const [one, other] = await semaphores(bench, 1);
      // A free one is given though the backoff throws, which is not called.
      await one!.acquire(20_000, { retryCount: 4, backoff: () => assert.fail("it was called") });
      const asked = other!.acquire(20_000, { retryCount: 4, backoff: () => 250 });
      const { took, error } = await bench.time.took(asked);
      assert.match(String(error), /"s" is locked/);
      lasted(bench, took, 1000, 1100, "the wait");
    },
    queued,
  ),

  behaviour(
    "10.2",
    "Permits are given in the order of the calls, also several together",
    async (bench) => {
      const { time } = bench;
      const [one, other] = await semaphores(bench, 2);
      const all = await one!.acquire(20_000, { permits: 2 });
      const served: string[] = [];
      const take = async (name: string, asked: Promise<Lock>) => {
        const lock = await asked;
        served.push(name);
        await lock.release();
      };
      const both = take("both", other!.acquire(20_000, { ...patient, permits: 2 }));
      await time.pass(500);
      const single = take("one", one!.acquire(20_000, patient));
      await time.pass(500);
      await all.release();
      await Promise.all([both, single]);
      assert.deepEqual(served, ["both", "one"]);
      await time.until("all is released", async () => {
        const { permits, waiting } = await one!.inspect();
        return permits.length === 0 && waiting.every(({ owner }) => owner === undefined);
      });
    },
    queued,
  ),

  behaviour(
    "10.2",
    "A call that needs more time than its permits have left lets the others come first",
    async (bench) => {
      const { faults, masters, time } = bench;
      const { redlock } = await held(bench, 1000);
      const slow = await bench.redlock();
      const permit = await new bench.client.Semaphore(redlock, "s", 1).acquire(20_000);
      const demanding = { ...patient, minimumValidity: 3900, retryDelay: 8000, retryJitter: 0 };
      await faults.slow(slow, masters, 70, "replies");
      void time.took(new bench.client.Semaphore(slow, "s", 1).acquire(4000, demanding));
      await time.pass(700);
      const waiting = time.took(new bench.client.Semaphore(redlock, "s", 1).acquire(4000, patient));
      await time.pass(300);
      await permit.release();
      lasted(bench, (await waiting).took, 0, 4000, "the wait");
      await slow.quit();
    },
    queued,
  ),

  behaviour(
    "10.1",
    "Each permit is the lock of another slot, and one that was released is asked for first, by one command",
    async (bench) => {
      const { masters } = bench;
      const [semaphore] = await semaphores(bench, 4);
      const locks = [
        await semaphore!.tryAcquire(20_000),
        await semaphore!.tryAcquire(20_000, { permits: 2 }),
      ];
      const keys = locks.flatMap((lock) => lock!.resources);
      assert.equal(new Set(keys).size, 3);
      for (const key of keys) assert.match(key, /^\{s\}:slot:[0-3]$/);
      await Promise.all((await locks[0]!.release()).attempts);
      const tap = await masters[0]!.tap();
      const again = await semaphore!.tryAcquire(20_000);
      assert.deepEqual(again!.resources, locks[0]!.resources);
      await Promise.all(again!.attempts);
      assert.equal((await tap.commands()).length, 1);
    },
    { masters: 1, notOn: { "without scripts": "a vote is more than one command" } },
  ),

  behaviour(
    "10.1",
    "It finds what is free among slots that others hold, and none that others have split",
    async (bench) => {
      const { masters } = bench;
      const [semaphore] = await semaphores(bench, 5);
      for (const slot of [0, 2, 3]) await occupy(masters, `{s}:slot:${slot}`);
      const both = await semaphore!.tryAcquire(20_000, { permits: 2 });
      assert.deepEqual(both!.resources.toSorted(), ["{s}:slot:1", "{s}:slot:4"]);
      await both!.release();
      for (const slot of [1, 4]) {
        await untilGone(bench, masters, `{s}:slot:${slot}`);
        for (const [index, master] of masters.entries())
          await master.call("SET", `{s}:slot:${slot}`, `${index} is a rival`, "PX", 60_000);
      }
      assert.equal(await semaphore!.tryAcquire(20_000), null);
    },
    { masters: 3 },
  ),

  behaviour(
    "10.1",
    "Without a quorum it fails after one slot, and waits on where it may",
    async (bench) => {
      const { faults, masters, time } = bench;
      const [semaphore] = await semaphores(bench, 5);
      await faults.hang(masters.slice(1));
      const refused = await time.took(semaphore!.tryAcquire(2000));
      failed(refused, "NO_QUORUM");
      lasted(bench, refused.took, 200, 205, "the call");
      failed(await time.took(semaphore!.acquire(2000, { waitTimeout: 300 })), "NO_QUORUM");
      const waiting = time.took(semaphore!.acquire(2000, patient));
      await time.pass(600);
      await faults.resume(masters);
      assert.equal((await waiting).value?.state, "held");
    },
    queued,
  ),

  behaviour(
    "10.2",
    "A waiter has whichever permit is freed first, and leaves no key but its own",
    async (bench) => {
      const { masters, time } = bench;
      const [one, other] = await semaphores(bench, 3);
      const held = [];
      for (let count = 0; count < 3; count += 1) held.push(await one!.acquire(20_000));
      const waiting = time.took(other!.acquire(20_000, patient));
      await time.pass(300);
      // Of two that are freed at once it keeps one.
      for (const lock of held.slice(1)) void lock.release();
      const { value } = await waiting;
      const left = [...held[0]!.resources, ...value!.resources].toSorted();
      for (const master of masters)
        await time.until("no other key is left", async () => {
          const keys = await Promise.all(
            ["{s}:slot:0", "{s}:slot:1", "{s}:slot:2", "{s}:admission"].map(async (key) =>
              (await master.call("EXISTS", key)) === 1 ? key : undefined,
            ),
          );
          return keys.filter((key) => key !== undefined).join() === left.join();
        });
    },
    queued,
  ),

  behaviour(
    "10.2",
    "Several permits are gathered as they are freed, kept extended, and become one lock",
    async (bench) => {
      const { masters, time } = bench;
      const [one, other] = await semaphores(bench, 3);
      const held = [];
      for (let count = 0; count < 3; count += 1) held.push(await one!.acquire(20_000));
      const waiting = time.took(other!.acquire(1000, { ...patient, permits: 2 }));
      await time.pass(300);
      await held[0]!.release();
      // Longer than the ttl: what has been gathered is kept from newcomers.
      await time.pass(2500);
      assert.equal(await one!.tryAcquire(1000), null);
      for (const value of await valuesOf(masters, held[0]!.resources[0]!)) assert.notEqual(value, null);
      await held[1]!.release();
      const { value } = await waiting;
      const freed = held.slice(0, 2).flatMap(({ resources }) => resources);
      assert.deepEqual(value!.resources.toSorted(), freed.toSorted());
      for (const key of freed)
        await time.until("it has the slot", async () =>
          (await valuesOf(masters, key)).every((token) => token === value!.value),
        );
    },
    queued,
  ),

  behaviour(
    "10.2",
    "A call gives up in time, with an error about the permits, and leaves nothing; also behind another waiter",
    async (bench) => {
      const { masters, time } = bench;
      const [one, other] = await semaphores(bench, 2);
      const single = await one!.acquire(20_000);
      const behind = { permits: 2, waitTimeout: 1000, retryDelay: 20 };
      const first = time.took(other!.acquire(2000, behind));
      const second = time.took(other!.acquire(2000, behind));
      await time.pass(500);
      const third = time.took(other!.acquire(2000, { permits: 2, waitTimeout: 0 }));
      const errors = [];
      for (const call of [first, second, third]) {
        const outcome = await call;
        failed(outcome, "RESOURCE_LOCKED");
        assert.equal(outcome.error.resource, "s");
        within(bench, outcome.error.remaining, 18_000, 20_000, "what is left");
        lasted(bench, outcome.took, call === third ? 0 : 1000, call === third ? 10 : 1250, "the call");
        errors.push(outcome.error);
      }
      assert.equal(new Set(errors).size, 3);
      const free = `{s}:slot:${single.resources[0] === "{s}:slot:0" ? 1 : 0}`;
      await untilGone(bench, masters, free);
      await untilGone(bench, masters, "{s}:admission");
    },
    queued,
  ),

  behaviour(
    "10.2",
    "A call that comes behind waiters of its own process asks no master, and is told what is left now",
    async (bench) => {
      const { masters, time } = bench;
      const [holding, semaphore] = await semaphores(bench, 1);
      const holder = await holding!.acquire(3000);
      const refused = async () => {
        const outcome = await time.took(semaphore!.acquire(1000, { waitTimeout: 0 }));
        failed(outcome, "RESOURCE_LOCKED");
        return outcome.error.remaining;
      };
      const [first, second] = [semaphore!.acquire(10_000, patient), semaphore!.acquire(1000, patient)].map(
        (call) => time.took(call),
      );
      await time.pass(500);
      const tap = await masters[0]!.tap();
      within(bench, await refused(), holder.remaining() - 100, holder.remaining() + 100, "what is left");
      assert.deepEqual(await tap.commands(), []);
      // A permit that was extended is asked for again when its known time is over.
      await holder.extend(20_000);
      await time.pass(3500);
      assert.ok((await refused()) > 0, "nothing is left");
      await holder.release();
      // A permit granted meanwhile counts.
      await (await first)!.value!.extend(10_000);
      assert.ok((await refused()) > 8000, "it tells of the time before");
      await (await first)!.value!.release();
      assert.equal((await second)!.value?.state, "held");
    },
    { masters: 3, notOn: { ...noQueue, real: "those who wait ask the masters meanwhile" } },
  ),

  behaviour(
    "10.2",
    "A call that waits for itself gets an error that says so, and not where others have the permits",
    async (bench) => {
      const { time } = bench;
      const [own, theirs] = await semaphores(bench, 2);
      for (const waitTimeout of [0, 300]) {
        const options = { permits: 2, waitTimeout };
        const nested = await time.took(own!.using(5000, () => own!.acquire(5000, options)));
        failed(nested, "RESOURCE_LOCKED");
        assert.match(
          nested.error.message,
          /^"s" is locked by this same Redlock, which has 1 of 2 permits \(.*waits for itself/,
        );
        const first = await own!.acquire(5000);
        const beside = (await time.took(own!.acquire(5000, options))).error;
        assert.match(beside.message, /^"s" is locked by this same Redlock, which has 1 of 2 permits, for/);
        await first.release();
        const other = await theirs!.acquire(5000, { permits: 2, waitTimeout: 1000 });
        const { error } = await time.took(own!.acquire(5000, options));
        assert.match(error.message, /^"s" is locked by someone else, for at most/);
        await other.release();
      }
    },
    { masters: 1, notOn: noQueue },
  ),

  behaviour(
    "10.2",
    "retryCount and retryDelay bound the wait where no waitTimeout does",
    async (bench) => {
      const { time } = bench;
      const [one, other] = await semaphores(bench, 1);
      await one!.acquire(20_000);
      for (const [options, least, most] of [
        [{}, 0, 20],
        [{ retryCount: 5, retryDelay: 100 }, 500, 1000],
      ] as const) {
        const outcome = await time.took(other!.acquire(2000, options));
        failed(outcome, "RESOURCE_LOCKED");
        lasted(bench, outcome.took, least, most, "the call");
      }
    },
    queued,
  ),

  ...[1, 2].map((permits) =>
    behaviour(
      "10.2",
      `A call for ${permits} that is aborted, or whose Redlock quits, while it waits ends at once and leaves nothing`,
      async (bench) => {
        const { masters, time } = bench;
        const [staying] = await semaphores(bench, 2);
        for (const by of ["abort", "quit"]) {
          const redlock = await bench.redlock();
          const semaphore = new bench.client.Semaphore(redlock, "s", 2);
          const [first, second] = [await staying!.acquire(20_000), await staying!.acquire(20_000)];
          const controller = new AbortController();
          const waiting = time.took(
            semaphore.acquire(20_000, { ...patient, permits, signal: controller.signal }),
          );
          await time.pass(200);
          if (permits === 2) await second.release();
          await time.pass(200);
          const ended = time.now();
          if (by === "abort") controller.abort(new Error("enough"));
          else await redlock.quit();
          failed(await waiting, by === "abort" ? "ABORTED" : "CLOSED");
          lasted(bench, time.now() - ended, 0, 10, "its end");
          if (permits === 2) await untilGone(bench, masters, second.resources[0]!);
          await untilGone(bench, masters, "{s}:admission");
          if (permits === 1) await second.release();
          await first.release();
          for (const key of ["{s}:slot:0", "{s}:slot:1"]) await untilGone(bench, masters, key);
        }
      },
      queued,
    ),
  ),

  behaviour(
    "10.2",
    "A waiter that stood still, and lost its place, waits again; one that has died delays the others by 3 s at most",
    async (bench) => {
      const { faults, time } = bench;
      const [holding] = await semaphores(bench, 1);
      const [dying, standing] = [await bench.redlock(), await bench.redlock()];
      const holder = await holding!.acquire(60_000);
      const waits = (redlock: Redlock) =>
        time.took(
          new bench.client.Semaphore(redlock, "s", 1).acquire(20_000, { ...patient, retryDelay: 50 }),
        );
      void waits(dying);
      await time.pass(200);
      const waiting = waits(standing);
      await time.pass(200);
      await faults.end(dying);
      await time.pass(3500);
      await faults.block(standing, 5000);
      await time.pass(100);
      assert.equal((await handOver(bench, holder, waiting, 500)).value?.state, "held");
    },
    queued,
  ),

  behaviour(
    "10.2",
    "Masters that are far away have as long to answer for the order of the waiters as for the permits",
    async (bench) => {
      const { faults, masters, time } = bench;
      const [holding] = await semaphores(bench, 1);
      const redlock = await bench.redlock({ nodeTimeout: 1000 });
      // A round trip that is beyond the default of a ttl of 3 s.
      await faults.slow(redlock, masters, 400, "replies");
      const holder = await holding!.acquire(60_000);
      const semaphore = new bench.client.Semaphore(redlock, "s", 1);
      const waiting = time.took(semaphore.acquire(60_000, patient));
      await time.pass(3000);
      await holder.release();
      const { took, value } = await waiting;
      assert.equal(value?.state, "held");
      lasted(bench, took, 3000, 6000, "the wait");
    },
    queued,
  ),

  behaviour(
    "10.2",
    "`using` keeps its permits extended while its routine runs, then gives them back",
    async (bench) => {
      const { masters, time } = bench;
      const [semaphore, other] = await semaphores(bench, 3);
      const count = await semaphore!.using(500, { permits: 2 }, async (signal, lock) => {
        await time.pass(1500);
        signal.throwIfAborted();
        assert.equal(await other!.tryAcquire(500, { permits: 2 }), null);
        return lock.resources.length;
      });
      assert.equal(count, 2);
      for (const slot of [0, 1, 2]) await untilGone(bench, masters, `{s}:slot:${slot}`);
    },
    { masters: 3 },
  ),

  behaviour(
    "10.2",
    "A newcomer takes no free permit from those who wait on a majority of the masters, and leaves it free",
    async (bench) => {
      const { faults, masters } = bench;
      const [semaphore] = await semaphores(bench, 1);
      await occupy(masters.slice(0, 3), "{s}:admission");
      assert.equal(await semaphore!.tryAcquire(2000), null);
      await untilGone(bench, masters, "{s}:slot:0");
      await faults.lose(masters.slice(2), "{s}:admission");
      assert.notEqual(await semaphore!.tryAcquire(2000), null);
    },
    { notOn: noQueue },
  ),

  behaviour(
    "10.2",
    "A permit that is lost while others are gathered is asked for again, and counts once",
    async (bench) => {
      const { masters, time } = bench;
      const [one, other] = await semaphores(bench, 2);
      const held = [await one!.acquire(20_000), await one!.acquire(20_000)];
      const waiting = time.took(other!.acquire(1500, { ...patient, permits: 2 }));
      await time.pass(300);
      await held[0]!.release();
      await time.pass(300);
      const [key] = held[0]!.resources;
      await occupy(masters, key!, 1000);
      await time.pass(1000);
      await time.until("it is asked for again", async () =>
        (await valuesOf(masters, key!)).every((token) => token !== null),
      );
      await time.pass(2000);
      assert.equal(await one!.tryAcquire(1500), null, "it is not kept");
      await held[1]!.release();
      const { value } = await waiting;
      assert.deepEqual(value?.resources.toSorted(), ["{s}:slot:0", "{s}:slot:1"]);
      await endsBeforeItsKeys(bench, value);
    },
    queued,
  ),

  behaviour(
    "10.2",
    "A call that is aborted while permits are freed has what it asked for, or leaves no key",
    async (bench) => {
      const { masters, time } = bench;
      const [one, other] = await semaphores(bench, 40);
      const slots = Array.from({ length: 40 }, (_, slot) => `{s}:slot:${slot}`);
      for (const permits of [1, 40])
        for (let freed = 2; freed < 5; freed += 1)
          for (let aborted = 0; aborted < 6; aborted += 1) {
            const all = await one!.acquire(20_000, { permits: 40 });
            const controller = new AbortController();
            const options = { ...patient, permits, signal: controller.signal };
            const waiting = time.took(other!.acquire(5000, options));
            await time.pass(freed);
            void all.release();
            await time.pass(aborted);
            controller.abort();
            const outcome = await waiting;
            if (outcome.value) await outcome.value.release();
            else failed(outcome, "ABORTED");
            await time.pass(20);
            const left = await Promise.all(masters.map((master) => master.call("EXISTS", ...slots)));
            assert.deepEqual(
              left,
              masters.map(() => 0),
              `${permits}, ${freed}, ${aborted}`,
            );
          }
    },
    { masters: 1, notOn: { ...noQueue, real: "it takes exact times" } },
  ),

  behaviour(
    "10.2",
    "A wait for many permits ends with its time or its signal, and asks for 32 slots in a turn at most",
    async (bench) => {
      const { masters, time } = bench;
      const [holding, semaphore] = await semaphores(bench, 600);
      await holding!.acquire(120_000, { permits: 600, nodeTimeout: 20_000 });
      const controller = new AbortController();
      for (const end of ["its time", "its signal"]) {
        const tap = await masters[0]!.tap();
        const options = { waitTimeout: end === "its time" ? 1000 : 60_000, signal: controller.signal };
        const waiting = time.took(semaphore!.acquire(10_000, options));
        await time.pass(60);
        const asked = (await tap.commands()).flat().filter((word) => /^\{s\}:slot:\d+$/.test(word));
        // The first three before it waits, and a batch each 6 ms.
        const count = new Set(asked).size;
        assert.ok(count > 250 && count < 32 * 11, `it has asked for ${count}`);
        if (end === "its signal") controller.abort();
        const outcome = await waiting;
        failed(outcome, end === "its time" ? "RESOURCE_LOCKED" : "ABORTED");
        lasted(
          bench,
          outcome.took,
          end === "its time" ? 1000 : 60,
          end === "its time" ? 1250 : 160,
          "the call",
        );
        // Until the last slot is left.
        await time.pass(1000);
      }
    },
    {
      masters: 1,
      notOn: { ...noQueue, real: "it takes exact times: test/integration/primitives measures turns" },
    },
  ),
];
