import assert from "node:assert/strict";
import type { Lock } from "@quorlock/redlock";
import type { WriteLock } from "@quorlock/redlock/read-write-lock";
import { type Behaviour, type Bench, behaviour } from "./bench.ts";
import { jobsOnce } from "./jobs.ts";
import { leaders } from "./leaders.ts";
import { claimsIn, failed, lasted, occupy } from "./looking.ts";
import { permits } from "./permits.ts";

const noQueue = { "without scripts": "it keeps no queue", "a Cluster": "it keeps no queue" } as const;
const noScripts = { "without scripts": "readers-writer locks need scripts" } as const;
const queued = { masters: 3, notOn: noQueue };
const patient = { waitTimeout: 60_000 };

/** Processes, and the same readers-writer lock in each. */
async function readWriteLocks(bench: Bench, count: number, options = {}) {
  const redlocks = await Promise.all(Array.from({ length: count }, () => bench.redlock(options)));
  const locks = redlocks.map((redlock) => new bench.client.ReadWriteLock(redlock, "r"));
  return { redlocks, locks };
}

/** Until so many calls wait for the lock on each master. */
function untilQueued({ masters, time }: Bench, count: number): Promise<void> {
  return time.until(`${count} wait`, async () => {
    const lengths = masters.map((master) =>
      master.call("ZCARD", "quorlock:queue:tagged:quorlock:rw:{r}:write"),
    );
    return (await Promise.all(lengths)).every((length) => length === count);
  });
}

const readWriteCases: readonly Behaviour[] = [
  behaviour(
    "10.3",
    "Readers share a lock, and a writer has it alone",
    async (bench) => {
      const { locks } = await readWriteLocks(bench, 3);
      const reading = [await locks[0]!.read(20_000), await locks[1]!.read(20_000)];
      assert.equal(await locks[2]!.tryWrite(20_000), null);
      for (const one of reading) await one.release();
      const writing = await locks[2]!.write(20_000);
      assert.equal(await locks[0]!.tryRead(20_000), null);
      assert.equal(await locks[1]!.tryWrite(20_000), null);
      await writing.release();
    },
    { masters: 1, notOn: noScripts },
  ),

  behaviour(
    "10.3",
    "A reader that has died keeps nobody out, though others go on",
    async (bench) => {
      const { faults, time } = bench;
      const { redlocks, locks } = await readWriteLocks(bench, 3);
      await locks[0]!.read(1000);
      const staying = await locks[1]!.read(20_000);
      await faults.end(redlocks[0]!);
      await time.pass(1100);
      await staying.release();
      const writing = await time.took(locks[2]!.write(20_000, { waitTimeout: 3000 }));
      lasted(bench, writing.took, 0, 10, "the wait of a writer");
    },
    { masters: 1, notOn: noScripts },
  ),

  behaviour(
    "10.3",
    "A reader that comes for less time takes nothing from one that stays",
    async (bench) => {
      const { time } = bench;
      const { locks } = await readWriteLocks(bench, 3);
      const reading = await locks[0]!.read(5000);
      await locks[1]!.read(300);
      await time.pass(600);
      assert.equal(reading.state, "held");
      assert.equal(await locks[2]!.tryWrite(5000), null);
    },
    { masters: 1, notOn: noScripts },
  ),

  behaviour(
    "10.3",
    "Locks of both kinds are asked for in one turn, with and without readings of the clocks",
    async (bench) => {
      for (const clockWatch of [undefined, { exclude: true }]) {
        const redlock = await bench.redlock(clockWatch ? { clockWatch } : {});
        const shared = new bench.client.ReadWriteLock(redlock, "r");
        const asked = [redlock.acquire("a", 2000), shared.read(2000), redlock.acquire("b", 2000)];
        for (const lock of await Promise.all(asked)) {
          assert.equal(lock.state, "held");
          assert.equal((await lock.release()).outcome, "released");
        }
      }
    },
    { masters: 3, notOn: noScripts },
  ),

  behaviour(
    "10.4",
    "A writer that waits comes before the readers that call after it, and these come in together",
    async (bench) => {
      const { time } = bench;
      const { locks } = await readWriteLocks(bench, 4);
      const [first, writer, ...later] = locks;
      const reading = await first!.read(20_000);
      const writing = time.took(writer!.write(20_000, patient));
      await time.pass(250);
      assert.equal(await later[0]!.tryRead(20_000), null);
      const readers = later.map((one) => time.took(one.read(20_000, patient)));
      await time.pass(250);
      await reading.release();
      const { value } = await writing;
      await time.pass(100);
      const released = time.now();
      await value!.release();
      for (const one of readers) assert.equal((await one).value?.state, "held");
      lasted(bench, time.now() - released, 0, 5, "both readers");
    },
    queued,
  ),

  behaviour(
    "10.4",
    "A writer that waits is let in when the last reader has left, not before",
    async (bench) => {
      const { time } = bench;
      const { locks } = await readWriteLocks(bench, 3);
      const reading = [await locks[0]!.read(20_000), await locks[1]!.read(20_000)];
      let isWriting = false;
      const writing = locks[2]!.write(20_000, patient).then((lock) => {
        isWriting = true;
        return lock;
      });
      await time.pass(300);
      await reading[0]!.release();
      await time.pass(300);
      assert.ok(!isWriting, "a writer beside a reader");
      await reading[1]!.release();
      await writing;
    },
    queued,
  ),

  behaviour(
    "10.4",
    "The readers of a process that wait share one place in the queues, and those before the next writer come in together",
    async (bench) => {
      const { time } = bench;
      const { locks } = await readWriteLocks(bench, 3);
      const [own, first, second] = locks;
      const before = await first!.write(20_000);
      const readers = Array.from({ length: 100 }, () => time.took(own!.read(20_000, patient)));
      await time.pass(500);
      await untilQueued(bench, 1);
      const writing = time.took(second!.write(20_000, patient));
      await time.pass(300);
      const late = time.took(own!.read(20_000, patient));
      await time.pass(300);
      await before.release();
      const reading = (await Promise.all(readers)).map(({ value }) => value!);
      assert.ok(reading.every(({ state }) => state === "held"));
      await Promise.all(reading.map((lock) => lock.release()));
      await (await writing).value!.release();
      assert.equal((await late).value?.state, "held");
    },
    queued,
  ),

  behaviour(
    "10.4",
    "A reader that is done hands its lock to the next that has waited in its process",
    async (bench) => {
      const { masters, time } = bench;
      const { locks } = await readWriteLocks(bench, 2);
      const [own, other] = locks;
      const before = await other!.write(20_000);
      const readers = Array.from({ length: 300 }, () => own!.usingRead(20_000, patient, async () => {}));
      await time.pass(500);
      await untilQueued(bench, 1);
      const tap = await masters[0]!.tap();
      await before.release();
      await Promise.all(readers);
      const claims = claimsIn(await tap.commands());
      assert.ok(claims.size < 200, `${claims.size} claims of 300 readers`);
    },
    queued,
  ),

  behaviour(
    "10.4",
    "The error of a call that waits for a lock of its own process says so, and names the lock as its user does",
    async (bench) => {
      const { time } = bench;
      const { locks } = await readWriteLocks(bench, 2);
      const [own, theirs] = locks;
      const short = { waitTimeout: 200 };
      const [read, write] = [() => own!.read(20_000, short), () => own!.write(20_000, short)];
      for (const nested of [
        () => own!.usingWrite(20_000, write),
        () => own!.usingWrite(20_000, read),
        () => own!.usingRead(20_000, write),
      ])
        assert.match(
          (await time.took(nested())).error.message,
          /^"r" is locked by this same Redlock \(a call nested in that lock waits for itself/,
        );
      const first = await own!.write(20_000);
      const { message } = (await time.took(write())).error;
      assert.match(message, /^"r" is locked by another call of this same Redlock, for/);
      await first.release();
      const writing = await theirs!.write(20_000);
      assert.match((await time.took(read())).error.message, /by someone else/);
      await writing.release();
      const reading = await own!.read(20_000);
      const waiting = time.took(theirs!.write(20_000, patient));
      await time.pass(300);
      const { error } = await time.took(read());
      assert.match(error.message, /by a writer that waits for the readers of this same Redlock/);
      await reading.release();
      await (await waiting).value!.release();
      assert.deepEqual((await time.took(reading.extend(20_000))).error.resources, ["r"]);
    },
    { masters: 1, notOn: noQueue },
  ),

  behaviour(
    "10.5",
    "A writer goes on as a reader, and no other writer comes between",
    async (bench) => {
      const { time } = bench;
      const { locks } = await readWriteLocks(bench, 3);
      const writing = await locks[0]!.write(5000);
      const waiting = time.took(locks[1]!.write(5000, { waitTimeout: 1000 }));
      await time.pass(100);
      const downgraded = writing.downgrade(5000);
      assert.equal(writing.state, "released");
      assert.equal(writing.remaining(), 0);
      const reading = await downgraded;
      assert.equal(reading.state, "held");
      await reading.extend(5000);
      assert.equal(await locks[2]!.tryWrite(5000), null);
      failed(await waiting, "RESOURCE_LOCKED");
      assert.equal((await locks[2]!.tryRead(5000))?.state, "held");
    },
    { masters: 3, notOn: noScripts },
  ),

  behaviour(
    "10.5",
    "A writer whose downgrade no majority confirms writes no more, and reads on",
    async (bench) => {
      const { faults, masters } = bench;
      const { locks } = await readWriteLocks(bench, 2);
      const writing = await locks[0]!.write(5000);
      await Promise.all(writing.attempts);
      await faults.hang(masters.slice(0, 2));
      const reading = await writing.downgrade();
      assert.deepEqual([writing.remaining(), reading.state], [0, "unknown"]);
      assert.ok(reading.remaining() > 2500, `${reading.remaining()} ms remain`);
      await faults.resume(masters.slice(0, 2));
      await reading.extend(5000);
      assert.equal(reading.state, "held");
      assert.equal(await locks[1]!.tryWrite(5000), null);
      assert.ok(await locks[1]!.tryRead(5000));
    },
    { masters: 3, notOn: noScripts },
  ),

  behaviour(
    "10.5",
    "`usingWrite` extends the lock for the reader that its writer becomes, for maxHoldTime together",
    async (bench) => {
      const { time } = bench;
      const { locks } = await readWriteLocks(bench, 2);
      await locks[0]!.usingWrite(1000, { maxHoldTime: 3000 }, async (_, writing) => {
        const reading = await writing.downgrade();
        await time.pass(2000);
        assert.equal(reading.state, "held");
        assert.equal(await locks[1]!.tryWrite(1000), null);
        await time.until("its time is over", () => reading.signal.aborted);
        assert.ok(reading.signal.reason.message.includes("maxHoldTime"), reading.signal.reason.message);
      });
      assert.ok(await locks[1]!.tryWrite(1000));
    },
    { masters: 1, notOn: noScripts },
  ),

  behaviour(
    "10.5",
    "A writer that was detached becomes a reader in the process that goes on with it",
    async (bench) => {
      const { locks } = await readWriteLocks(bench, 2);
      const writing = locks[1]!.resume(await (await locks[0]!.write(5000)).detach());
      assert.equal(await writing.verify(), true);
      const reading = await (writing as WriteLock).downgrade();
      assert.equal(await locks[0]!.tryWrite(5000), null);
      await reading.release();
      assert.ok(await locks[0]!.tryWrite(5000));
    },
    { masters: 1, notOn: noScripts },
  ),

  behaviour(
    "10.5",
    "A reader cannot become a writer",
    async (bench) => {
      const { locks } = await readWriteLocks(bench, 1);
      const from = await locks[0]!.read(5000);
      failed(await bench.time.took(locks[0]!.write(5000, { from })), "INVALID_ARGUMENT");
      assert.equal(from.state, "held");
    },
    { masters: 1, notOn: noScripts },
  ),

  behaviour(
    "10.8",
    "Without a queue, a writer that retries keeps further readers out, and present ones in",
    async (bench) => {
      const { time } = bench;
      const { locks } = await readWriteLocks(bench, 3, { queue: false });
      const reading = await locks[0]!.read(20_000);
      const writing = time.took(locks[1]!.write(20_000, { ...patient, retryDelay: 100 }));
      await time.pass(300);
      assert.equal(await locks[2]!.tryRead(20_000), null);
      await reading.extend(20_000);
      await reading.release();
      assert.equal((await writing).value?.state, "held");
      await (await writing).value!.release();
      assert.equal((await locks[2]!.tryRead(20_000))?.state, "held");
    },
    { masters: 3, notOn: noScripts },
  ),

  behaviour(
    "10.8",
    "On a Cluster, a writer has its turn among readers of whom one always reads",
    async (bench) => {
      const { time } = bench;
      const { locks } = await readWriteLocks(bench, 2);
      let reading: Lock | null = await locks[0]!.read(20_000);
      const writing = time.took(locks[1]!.write(20_000, { ...patient, retryDelay: 20 }));
      while (reading) {
        await time.pass(20);
        const next: Lock | null = await locks[0]!.tryRead(20_000);
        await reading.release();
        reading = next;
      }
      assert.equal((await writing).value?.state, "held");
    },
    { isCluster: true, notOn: noScripts },
  ),

  behaviour(
    "10.8",
    "A mark outlasts any pause of its writer, and not the writer by more than a few seconds",
    async (bench) => {
      const { faults, time } = bench;
      const { redlocks, locks } = await readWriteLocks(bench, 3, { queue: false });
      await locks[0]!.read(60_000);
      void time.took(locks[1]!.write(60_000, { ...patient, retryDelay: 30_000 }));
      // Its masters answer, if not at once: the machine may be busy.
      const asked = () => locks[2]!.tryRead(20_000, { nodeTimeout: 900 });
      for (let passed = 0; passed < 6000; passed += 1000) {
        await time.pass(1000);
        assert.equal(await asked(), null);
      }
      await faults.end(redlocks[1]!);
      const died = time.now();
      await time.until("readers are let in", async () => (await asked()) !== null);
      lasted(bench, time.now() - died, 1500, 2250, "ms until then");
    },
    { masters: 3, notOn: noScripts },
  ),

  behaviour(
    "10.8",
    "A writer that gives up takes its own mark with it, and not that of another",
    async (bench) => {
      const { time } = bench;
      const { locks } = await readWriteLocks(bench, 4, { queue: false });
      await locks[0]!.read(20_000);
      const retries = { retryDelay: 100, retryJitter: 0 };
      const leaving = new AbortController();
      const stays = { ...retries, waitTimeout: 60_000, signal: leaving.signal };
      const staying = time.took(locks[1]!.write(20_000, stays));
      failed(await time.took(locks[2]!.write(20_000, { ...retries, waitTimeout: 250 })), "RESOURCE_LOCKED");
      await time.pass(50);
      assert.equal(await locks[3]!.tryRead(20_000), null);
      leaving.abort();
      failed(await staying, "ABORTED");
      await time.pass(50);
      assert.equal((await locks[3]!.tryRead(20_000))?.state, "held");
    },
    { masters: 3, notOn: noScripts },
  ),
];

const reentrancyCases: readonly Behaviour[] = [
  behaviour(
    "10.6",
    "A call that is nested in a lock enters it, without asking any master",
    async (bench) => {
      const { masters } = bench;
      const redlock = await bench.redlock({ reentrant: "handle" });
      const parent = await redlock.acquire("r", 5000);
      await Promise.all(parent.attempts);
      const tap = await masters[0]!.tap();
      const nested = await redlock.acquire("r", 2000, { parent });
      assert.deepEqual(await tap.commands(), []);
      assert.equal(await redlock.tryAcquire("r", 2000), null);
      await nested.release();
      assert.equal(parent.state, "held");
    },
    { masters: 1 },
  ),

  behaviour(
    "10.6",
    "Nested calls of one lock take turns",
    async (bench) => {
      const redlock = await bench.redlock({ reentrant: "handle" });
      const parent = await redlock.acquire("r", 5000);
      const first = await redlock.acquire("r", 2000, { parent });
      failed(await bench.time.took(redlock.acquire("r", 2000, { parent })), "RESOURCE_LOCKED");
      const waiting = redlock.acquire("r", 2000, { parent, waitTimeout: 5000 });
      await bench.time.pass(50);
      const inner = await redlock.acquire("r", 2000, { parent: first });
      await inner.release();
      await first.release();
      assert.equal((await waiting).state, "held");
    },
    { masters: 1 },
  ),

  behaviour(
    "10.6",
    "A lock that has ended admits no nested call, and goes with its last handle",
    async (bench) => {
      const redlock = await bench.redlock({ reentrant: "handle" });
      const parent = await redlock.acquire("r", 5000);
      const nested = await redlock.acquire("r", 2000, { parent });
      await parent.release();
      failed(await bench.time.took(redlock.acquire("r", 2000, { parent })), "LOCK_LOST");
      const other = await bench.redlock();
      assert.equal(await other.tryAcquire("r", 2000), null);
      await nested.release();
      assert.ok(await other.tryAcquire("r", 2000));
    },
    { masters: 1 },
  ),

  behaviour(
    "10.7",
    "What a listener does is nested in no lock",
    async (bench) => {
      const redlock = await bench.redlock({ reentrant: true });
      let asked: Promise<Lock | null> | undefined;
      await redlock.using("r", 5000, async () => {
        assert.ok(await redlock.tryAcquire("r", 1000), "a call of the routine is nested");
        redlock.on("lost", () => {
          asked ??= redlock.tryAcquire("r", 1000);
        });
        const short = await redlock.acquire("short", 200, { nodeTimeout: 100 });
        await bench.time.until("it is lost", () => short.state === "lost" && asked !== undefined);
        assert.equal(await asked, null);
      });
    },
    { masters: 1 },
  ),

  behaviour(
    "10.7",
    "Nor is what a backoff, a listener of `error` or the end of another lock calls",
    async (bench) => {
      const { faults, masters, time } = bench;
      const redlock = await bench.redlock({ reentrant: true, queue: false });
      const asked: Promise<Lock | null>[] = [];
      const ask = (): number => {
        asked.push(redlock.tryAcquire("r", 1000));
        return 30;
      };
      await redlock.using("r", 60_000, async () => {
        const short = await redlock.acquire("short", 200, { nodeTimeout: 100 });
        short.signal.addEventListener("abort", ask);
        await time.until("it is lost", () => asked.length === 1);
        await occupy(masters, "other");
        await time.took(redlock.acquire("other", 1000, { backoff: ask, retryCount: 1 }));
        redlock.once("error", ask);
        await faults.hang(masters.slice(0, 1));
        await redlock.acquire("another", 1000);
        await time.until("all have asked", () => asked.length === 3);
        assert.deepEqual(await Promise.all(asked), [null, null, null]);
        await faults.resume(masters.slice(0, 1));
      });
    },
    { masters: 3 },
  ),
];

/** Section 10 of docs/protocol.md. */
export const primitives: readonly Behaviour[] = [
  ...permits,
  ...readWriteCases,
  ...reentrancyCases,
  ...jobsOnce,
  ...leaders,
];
