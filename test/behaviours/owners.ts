import assert from "node:assert/strict";
import type { Redlock } from "@quorlock/redlock";
import { type Behaviour, type Bench, behaviour } from "./bench.ts";
import { failed, occupy, untilVoted } from "./looking.ts";

const noRecord = { "without scripts": "a record is written by a script" } as const;
const noQueue = { "without scripts": "it keeps no queue", "a Cluster": "it keeps no queue" } as const;
const patient = { waitTimeout: 60_000 };

/** Processes, each with the name of its owner. */
function named(bench: Bench, ...owners: readonly string[]): Promise<readonly Redlock[]> {
  return Promise.all(owners.map((owner) => bench.redlock({ owner })));
}

type Shown = readonly { readonly holder: { readonly name: string } | undefined }[];

const namesIn = (shown: Shown): readonly string[] => shown.map(({ holder }) => holder?.name ?? "nobody");

/** Until every master shows these waiters, in their order. */
async function untilWaiting(
  { time }: Bench,
  inspect: () => Promise<readonly { readonly waiters: Shown }[]>,
  ...names: readonly string[]
): Promise<void> {
  await time.until(`${names.join(" and ")} wait`, async () =>
    (await inspect()).every(({ waiters }) => namesIn(waiters).join() === names.join()),
  );
}

/** What README.md says of the option `owner`, and of `inspect`. */
export const owners: readonly Behaviour[] = [
  behaviour(
    "README",
    "The name of an owner is on each server from its first lock until `quit`, without a token",
    async (bench) => {
      const { masters, time } = bench;
      for (const master of masters) await master.call("ZADD", "quorlock:owners", 1, "deadbeef");
      const [redlock] = (await named(bench, "billing-7")) as [Redlock];
      await time.pass(100);
      assert.equal(
        await masters[0]!.call("ZCARD", "quorlock:owners"),
        1,
        "it is there before its first lock",
      );
      const { value } = await redlock.acquire("r", 20_000);
      for (const master of masters) {
        const key = `quorlock:owner:${value.slice(0, 8)}`;
        const record = () => master.call("GET", key) as Promise<string | null>;
        await time.until("it is there", async () => (await record()) !== null);
        assert.match((await record())!, /billing-7/);
        assert.ok(!(await record())!.includes(value), "it has the token");
        assert.ok(((await master.call("PTTL", key)) as number) <= 30_000, "it lasts");
        // One whose process has died is nobody's to delete.
        assert.deepEqual(await master.call("ZRANGE", "quorlock:owners", 0, -1), [value.slice(0, 8)]);
      }
      const tap = await masters[0]!.tap();
      const lock = await redlock.acquire("s", 20_000);
      await Promise.all([...lock.attempts, ...(await lock.release()).attempts]);
      assert.equal((await tap.commands()).length, 2, "it costs locks a command");
      await redlock.quit();
      for (const master of masters)
        await time.until("it is deleted", async () => (await master.call("EXISTS", "quorlock:owners")) === 0);
    },
    { masters: 3, notOn: noRecord },
  ),

  behaviour(
    "README",
    "A record that full masters have refused is written again, and the owner of a lock keeps its name",
    async (bench) => {
      const { faults, masters, time } = bench;
      const [holder] = (await named(bench, "holder")) as [Redlock];
      const lock = await holder.acquire("r", 120_000);
      const key = `quorlock:owner:${lock.value.slice(0, 8)}`;
      const writes = async (): Promise<number> =>
        JSON.parse(((await masters[0]!.call("GET", key)) as string | null) ?? '{"writes":0}').writes;
      await time.until("it is written", async () => (await writes()) > 0);
      await faults.refuseWrites(masters, "OOM");
      await time.pass(11_000);
      await faults.refuseWrites(masters, undefined);
      const before = await writes();
      await time.pass(21_000);
      assert.ok((await writes()) > before, "it is not written any more");
    },
    { masters: 3, notOn: { real: "it takes half a minute" } },
  ),

  behaviour(
    "README",
    "A refused call says who has the lock, and `inspect` shows it to all that have a name",
    async (bench) => {
      const { masters, time } = bench;
      const [holder, other] = (await named(bench, "billing\u001b[31m-7", "rival")) as [Redlock, Redlock];
      const anonymous = await bench.redlock();
      const { value } = await holder.acquire("r", 20_000);
      const shown = async () => (await other.inspect("r"))[0]!;
      await time.until("it is named", async () => (await shown()).holder?.name === "billing\u001b[31m-7");
      const { tag, since } = await shown();
      assert.deepEqual([tag, since], [value.slice(0, 8), undefined]);
      const [unnamed] = await anonymous.inspect("r");
      assert.deepEqual([unnamed!.tag, unnamed!.holder], [tag, undefined]);
      const tap = await masters[0]!.tap();
      assert.equal(await other.tryAcquire("r", 2000), null);
      const asked = await tap.commands();
      assert.ok(
        !asked.flat().some((word) => word.includes("owner")),
        "a call that does not wait reads no name",
      );
      const refused = await time.took(other.acquire("r", 2000, { waitTimeout: 300 }));
      failed(refused, "RESOURCE_LOCKED");
      assert.equal(refused.error.owner.name, "billing\u001b[31m-7");
      assert.match(
        refused.error.message,
        /is locked by billing\\u\{1b\}\[31m-7 \(pid \d+, host .+\), for at most/,
      );
    },
    { masters: 1, notOn: noRecord },
  ),

  behaviour(
    "README",
    "`inspect` says since when an owner has a lock, once that is ten seconds",
    async (bench) => {
      const { time } = bench;
      const [holder, other] = (await named(bench, "holder", "other")) as [Redlock, Redlock];
      const lock = await holder.acquire("r", 60_000);
      await time.pass(21_000);
      const ago = (await other.inspect("r")).map(({ since }) =>
        Math.round((lock.expiration - since!) / 1000),
      );
      assert.deepEqual(ago, [59, 59, 59]);
    },
    { masters: 3, notOn: { real: "it takes 20 s" } },
  ),

  behaviour(
    "README",
    "A process that dies is named for as long as its lock keeps others out",
    async (bench) => {
      const { faults, masters, time } = bench;
      const [holder, other] = (await named(bench, "holder", "other")) as [Redlock, Redlock];
      await holder.acquire("r", 300_000);
      await time.pass(5000);
      await other.acquire("s", 1000);
      await time.pass(16_000);
      await faults.end(holder);
      await time.pass(5000);
      for (const master of masters)
        assert.ok(
          ((await master.call("PTTL", "quorlock:owners")) as number) > 250_000,
          "the index goes before",
        );
      await time.pass(270_000);
      const names = async () => namesIn(await other.inspect("r"));
      assert.deepEqual(await names(), ["holder", "holder", "holder"]);
      await time.pass(20_000);
      assert.deepEqual(await names(), ["nobody", "nobody", "nobody"]);
    },
    { masters: 3, notOn: { real: "it takes five minutes" } },
  ),

  behaviour(
    "README",
    "A job that `once` keeps from running again is named after its process has quit",
    async (bench) => {
      const { client, masters } = bench;
      const [cron, other] = (await named(bench, "cron", "other")) as [Redlock, Redlock];
      await client.once(cron, "job", { keepFor: 60_000 }, async () => {});
      const tag = (await other.inspect("job"))[0]!.tag!;
      await cron.quit();
      assert.deepEqual(namesIn(await other.inspect("job")), ["cron", "cron", "cron"]);
      for (const master of masters) {
        const record = JSON.parse((await master.call("GET", `quorlock:owner:${tag}`)) as string);
        assert.deepEqual([record.hasQuit, record.locks[0].resources], [true, ["job"]]);
        const left = (await master.call("PTTL", `quorlock:owner:${tag}`)) as number;
        assert.ok(left > 45_000 && left <= record.ttl && record.ttl <= 60_000, `${left} of ${record.ttl}`);
      }
    },
    { masters: 3, notOn: noRecord },
  ),

  behaviour(
    "README",
    "`inspect` shows the server that disagrees with the others, and who waits in which place",
    async (bench) => {
      const { faults, masters, time } = bench;
      const [holder, first, second] = (await named(bench, "holder", "first", "second")) as [
        Redlock,
        Redlock,
        Redlock,
      ];
      const lock = await holder.acquire("r", 20_000);
      await untilVoted(bench, masters, lock);
      const inspect = () => second.inspect("r");
      const calls = [time.took(first.acquire("r", 20_000, patient))];
      await untilWaiting(bench, inspect, "first");
      await time.pass(500);
      calls.push(time.took(second.acquire("r", 20_000, patient)));
      await untilWaiting(bench, inspect, "first", "second");
      for (const { waiters, disagrees } of await inspect()) {
        assert.deepEqual(
          waiters.map(({ place, tag }) => [place, tag?.length]),
          [
            [1, 8],
            [2, 8],
          ],
        );
        assert.equal(disagrees, false);
      }
      await faults.lose(masters.slice(2), "r");
      await occupy(masters.slice(2), "r");
      const disagree = (await inspect()).map(({ disagrees }) => disagrees);
      assert.deepEqual(disagree, [false, false, true]);
      await faults.lose(masters.slice(2), "r");
      await lock.release();
      for (const call of calls) await (await call).value!.release();
    },
    { masters: 3, notOn: noQueue },
  ),

  behaviour(
    "README",
    "`inspect` of a semaphore shows who has its permits, and who waits",
    async (bench) => {
      const { time } = bench;
      const redlocks = await named(bench, "one", "two", "three");
      const semaphores = redlocks.map((redlock) => new bench.client.Semaphore(redlock, "s", 2));
      for (const semaphore of semaphores.slice(0, 2)) await (await semaphore.acquire(20_000)).verify();
      void time.took(semaphores[2]!.acquire(20_000, patient));
      await time.until("it waits", async () =>
        namesIn((await semaphores[0]!.inspect()).waiting).every((name) => name === "three"),
      );
      const { permits } = await semaphores[0]!.inspect();
      const holders = permits.map(({ masters }) => namesIn(masters).join());
      assert.deepEqual(holders.toSorted(), ["one", "two"]);
    },
    { masters: 1, notOn: noQueue },
  ),

  behaviour(
    "README",
    "`inspect` of a readers-writer lock shows who reads or writes, and who waits",
    async (bench) => {
      const { time } = bench;
      const redlocks = await named(bench, "one", "two", "three");
      const locks = redlocks.map((redlock) => new bench.client.ReadWriteLock(redlock, "r"));
      const reading = [await locks[0]!.read(20_000), await locks[1]!.read(20_000)];
      const writing = time.took(locks[2]!.write(20_000, patient));
      await untilWaiting(bench, () => locks[0]!.inspect(), "three");
      for (const { holder, readers } of await locks[0]!.inspect())
        assert.deepEqual([holder, ...namesIn(readers).toSorted()], [undefined, "one", "two"]);
      for (const lock of reading) await lock.release();
      assert.equal((await writing).value?.state, "held");
      for (const { holder, readers } of await locks[0]!.inspect())
        assert.deepEqual([holder?.name, readers], ["three", []]);
    },
    { masters: 1, notOn: { ...noQueue, virtual: "these masters know no script that tells the readers" } },
  ),
];
