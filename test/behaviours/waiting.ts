import assert from "node:assert/strict";
import type { AcquireOptions, Lock, Redlock } from "@quorlock/redlock";
import { type Behaviour, type Bench, behaviour } from "./bench.ts";
import {
  claimsIn,
  endsBeforeItsKeys,
  failed,
  type Held,
  handOver,
  held,
  lasted,
  lifetimesOn,
  occupy,
  throwing,
  untilWaiting,
  valuesOf,
  waitingCall,
  within,
} from "./looking.ts";

const noQueue = {
  "without scripts": "it keeps no queue",
  "one Redis": "it is about an order of several masters",
  "a Cluster": "it keeps no queue",
} as const;
const terms = { masters: 3, notOn: noQueue };
const noPushes = { ...terms, notOn: { real: "a proxy does not tell pushes from replies" } };
const noClocks = { ...terms, notOn: { real: "no real clock is stepped" } };

/** Callers that wait for one resource, and in which order they are served. */
class Line {
  readonly served: string[] = [];
  readonly #resource: string;
  readonly #ends: Promise<unknown>[] = [];

  constructor(resource = "r") {
    this.#resource = resource;
  }

  /** Takes the lock as soon as it can, and gives it back. */
  wait(redlock: Redlock, name: string, options: AcquireOptions = {}): void {
    const lock = redlock.acquire(this.#resource, 20_000, { waitTimeout: 60_000, ...options });
    const end = lock.then((one) => {
      this.served.push(name);
      return one.release();
    });
    end.catch(() => {});
    this.#ends.push(end);
  }

  async isServed(...names: readonly string[]): Promise<void> {
    await Promise.all(this.#ends);
    assert.deepEqual(this.served, names, `served: ${this.served.join(", ")}`);
  }

  /** They are served in this order, if the lock is released when all of them stand in the queues. */
  async isServedBehind(bench: Bench, { redlock, lock }: Held, ...names: readonly string[]): Promise<void> {
    await untilWaiting(bench, redlock, names.length);
    await lock.release();
    await this.isServed(...names);
  }
}

/** The first that calls is served first. */
async function inOrder(bench: Bench, before: Held, first: Redlock, second: Redlock): Promise<void> {
  const line = new Line();
  line.wait(first, "the first", { nodeTimeout: 2000 });
  await bench.time.pass(20);
  line.wait(second, "the second", { nodeTimeout: 2000 });
  await line.isServedBehind(bench, before, "the first", "the second");
}

/** Redlocks that have read the clocks of the masters, since they have waited before. */
async function warm(bench: Bench, count: number): Promise<readonly Redlock[]> {
  const redlocks = await Promise.all(Array.from({ length: count }, () => bench.redlock()));
  await occupy(bench.masters, "warm");
  const waits = redlocks.map((one) => bench.time.took(one.acquire("warm", 1000, { waitTimeout: 50 })));
  await Promise.all(waits);
  return redlocks;
}

/** The lock of a call that had to wait for it, and the next call of its process: only there a lock is handed on. */
async function nextOfProcess(
  bench: Bench,
  ttl = 20_000,
  others: (line: Line) => void = () => {},
): Promise<{ lock: Lock; next: Promise<Lock>; line: Line }> {
  const [own] = await warm(bench, 1);
  const { redlock, lock: before } = await held(bench, 60_000);
  const waiting = own!.acquire("r", ttl, { waitTimeout: 60_000 });
  await untilWaiting(bench, redlock, 1);
  const next = own!.acquire("r", ttl, { waitTimeout: 60_000 });
  await bench.time.pass(300);
  const line = new Line();
  others(line);
  await bench.time.pass(20);
  await before.release();
  const lock = await waiting;
  await bench.time.pass(10);
  return { lock, next, line };
}

/** Section 7 of docs/protocol.md. */
export const waiting: readonly Behaviour[] = [
  behaviour(
    "7.1",
    "A call that is refused and waits stands in the queue of each master, one that does not wait in none",
    async (bench) => {
      const { redlock, lock, waiting } = await waitingCall(bench);
      const other = await bench.redlock();
      assert.equal(await other.tryAcquire("r", 2000), null);
      await untilWaiting(bench, redlock, 1);
      await lock.release();
      assert.equal((await waiting).value?.state, "held");
      await untilWaiting(bench, redlock, 0);
    },
    { notOn: noQueue },
  ),

  behaviour(
    "7.2",
    "Calls of one process and of others are served in the order in which they were made",
    async (bench) => {
      const [one, other] = await warm(bench, 2);
      const { redlock, lock } = await held(bench, 20_000);
      const line = new Line();
      for (const [place, caller] of [one!, other!, other!, one!].entries()) {
        line.wait(caller, String(place));
        await bench.time.pass(250);
      }
      await untilWaiting(bench, redlock, 2);
      await lock.release();
      await line.isServed("0", "1", "2", "3");
    },
    terms,
  ),

  behaviour(
    "7.2",
    "A call has its place from the moment it is made, however long its first attempt takes",
    async (bench) => {
      const { faults, masters, time } = bench;
      const [far, near] = await warm(bench, 2);
      const { lock } = await held(bench, 20_000);
      await faults.slow(far!, masters, 250);
      const line = new Line();
      line.wait(far!, "the first", { nodeTimeout: 2000 });
      await time.pass(350);
      line.wait(near!, "the second");
      await time.pass(1500);
      await lock.release();
      await line.isServed("the first", "the second");
    },
    terms,
  ),

  behaviour(
    "7.2",
    "A process that hears answers late when its calls begin does not pass those before it",
    async (bench) => {
      const { faults, masters } = bench;
      const [early] = await warm(bench, 1);
      // Used once, so its connections were made while it had nothing else to do.
      const busy = await bench.redlock();
      await (await busy.acquire("another", 20_000)).release();
      const before = await held(bench, 20_000);
      await faults.slow(busy, masters, 100, "replies");
      await inOrder(bench, before, early!, busy);
    },
    terms,
  ),

  behaviour(
    "7.2",
    "The wall clocks of clients do not matter",
    async (bench) => {
      const [right, slow] = [await bench.redlock(), await bench.redlock()];
      await bench.faults.step(slow, -3_600_000);
      await inOrder(bench, await held(bench, 20_000), right, slow);
    },
    noClocks,
  ),

  behaviour(
    "7.2",
    "A client that has read other clocks than those before it goes behind the calls that it finds",
    async (bench) => {
      const { faults, masters } = bench;
      const [early] = await warm(bench, 1);
      const before = await held(bench, 60_000);
      await faults.step(masters, 5000);
      await inOrder(bench, before, await bench.redlock(), early!);
    },
    noClocks,
  ),

  behaviour(
    "7.2",
    "A call that goes behind others takes the later calls of its process with it",
    async (bench) => {
      const { faults, masters, time } = bench;
      const [early] = await warm(bench, 1);
      const { redlock, lock } = await held(bench, 60_000);
      await faults.step(masters, 5000);
      const line = new Line();
      line.wait(await bench.redlock(), "the first");
      await untilWaiting(bench, redlock, 1);
      await time.pass(50);
      const controller = new AbortController();
      void time.took(early!.acquire("r", 20_000, { waitTimeout: 60_000, signal: controller.signal }));
      line.wait(early!, "the second");
      await time.pass(100);
      controller.abort();
      await time.pass(100);
      await lock.release();
      await line.isServed("the first", "the second");
    },
    noClocks,
  ),

  behaviour(
    "7.2",
    "A client does not stay ahead of the others because a call of a fast clock was once before it",
    async (bench) => {
      const { faults, masters, time } = bench;
      const [one, other] = await warm(bench, 2);
      const before = await held(bench, 60_000);
      await faults.step(masters, 500);
      const line = new Line();
      line.wait(await bench.redlock(), "a fast clock");
      await time.pass(20);
      await faults.step(masters, -500);
      line.wait(one!, "one that finds it");
      await line.isServedBehind(bench, before, "a fast clock", "one that finds it");
      await time.pass(70_000);
      await occupy(masters, "again");
      await time.took(one!.acquire("again", 1000, { waitTimeout: 50 }));
      const { redlock } = before;
      const lock = await redlock.acquire("r", 20_000);
      await faults.slow(one!, masters, 100);
      const later = new Line();
      later.wait(one!, "the first", { nodeTimeout: 2000 });
      await time.pass(150);
      later.wait(other!, "the second");
      await later.isServedBehind(bench, { redlock, lock }, "the first", "the second");
    },
    noClocks,
  ),

  behaviour(
    "7.2",
    "A call whose votes come when nothing is left of them keeps its place",
    async (bench) => {
      const { faults, masters, time } = bench;
      const [first, second] = await warm(bench, 2);
      await occupy(masters, "r");
      const line = new Line();
      await faults.slow(first!, masters, 100, "requests");
      const asked = { waitTimeout: 60_000, nodeTimeout: 900, retryDelay: 300, retryJitter: 0 };
      const waiting = first!.acquire("r", 1000, asked).then((lock) => {
        line.served.push("the first");
        return lock.release();
      });
      await time.pass(150);
      await faults.lose(masters, "r");
      await time.until("it has votes", async () => (await valuesOf(masters, "r")).every(Boolean));
      await faults.block(first!, 1100);
      await occupy(masters, "r");
      line.wait(second!, "the second");
      await time.pass(1500);
      await faults.lose(masters, "r");
      await waiting;
      await line.isServed("the first", "the second");
    },
    { ...terms, notOn: { real: "it is about milliseconds" } },
  ),

  behaviour(
    "7.3",
    "A free key goes to the first that waits, also when a later one asks for it earlier",
    async (bench) => {
      const { faults, masters, time } = bench;
      const [first, second] = await warm(bench, 2);
      await occupy(masters, "r");
      const line = new Line();
      line.wait(first!, "the first", { retryDelay: 400, retryJitter: 0 });
      await time.pass(150);
      line.wait(second!, "the second", { retryDelay: 20, retryJitter: 0 });
      await untilWaiting(bench, first!, 2);
      await faults.lose(masters, "r");
      await line.isServed("the first", "the second");
    },
    terms,
  ),

  behaviour(
    "7.3",
    "A writer and a reader that wait do not pass those before them",
    async (bench) => {
      const { time } = bench;
      const [holder, ...others] = await warm(bench, 3);
      const [first, second] = others.map((one) => new bench.client.ReadWriteLock(one, "r"));
      for (const [early, late] of [
        ["write", "write"],
        ["write", "read"],
      ] as const) {
        const lock = await new bench.client.ReadWriteLock(holder!, "r").write(20_000);
        const served: string[] = [];
        const take = async (name: string, asked: Promise<{ release(): Promise<unknown> }>) => {
          const one = await asked;
          served.push(name);
          await one.release();
        };
        const waiting = { waitTimeout: 60_000 };
        // It is cut off for less: without a majority it would leave the queues (7.12).
        const patient = { ...waiting, nodeTimeout: 5000 };
        const takes = [take("the first", first![early](20_000, patient))];
        await time.pass(250);
        // Its heartbeats find the key free, whenever the first one gives it back.
        takes.push(take("the second", second![late](1000, waiting)));
        await time.pass(100);
        await bench.faults.cut(others[0]!, bench.masters);
        await lock.release();
        await time.pass(600);
        assert.deepEqual(served, []);
        await bench.faults.heal(others[0]!, bench.masters);
        await Promise.all(takes);
        assert.deepEqual(served, ["the first", "the second"]);
      }
    },
    terms,
  ),

  behaviour(
    "7.4",
    "A release hands the lock to the first that waits, which leaves the queue",
    async (bench) => {
      const { time } = bench;
      const { redlock, lock, waiting } = await waitingCall(bench);
      await time.pass(300);
      await handOver(bench, lock, waiting, 2);
      await untilWaiting(bench, redlock, 0);
    },
    terms,
  ),

  behaviour(
    "7.4",
    "A waiter whose process has ended is passed over",
    async (bench) => {
      const { faults, time } = bench;
      const [dead, living] = await warm(bench, 2);
      const { redlock, lock } = await held(bench, 60_000);
      void time.took(dead!.acquire("r", 20_000, { waitTimeout: 60_000 }));
      await untilWaiting(bench, redlock, 1);
      await time.pass(100);
      const waiting = time.took(living!.acquire("r", 20_000, { waitTimeout: 60_000 }));
      await untilWaiting(bench, redlock, 2);
      await faults.end(dead!);
      await time.pass(50);
      await handOver(bench, lock, waiting, 2);
    },
    terms,
  ),

  behaviour(
    "7.6",
    "A release sets no key but the one that it was asked for",
    async (bench) => {
      const { faults, masters } = bench;
      const { lock, waiter: other, waiting } = await waitingCall(bench, 20_000, {}, ["r", "s"]);
      await faults.cut(other, masters);
      // (It was reserved for the one that waits for both.)
      await faults.lose(masters, "s");
      await lock.release();
      for (const value of await valuesOf(masters, "r")) assert.notEqual(value, null);
      for (const value of await valuesOf(masters, "s")) assert.equal(value, null);
      await faults.heal(other, masters);
      assert.equal((await waiting).value?.state, "held");
    },
    terms,
  ),

  behaviour(
    "7.7",
    "A lock that was granted while its caller waited counts from the caller's last question",
    async (bench) => {
      const { time } = bench;
      const { lock, waiting } = await waitingCall(bench, 4000);
      await time.pass(900);
      await lock.release();
      // Heartbeats follow each other by a second.
      within(bench, (await waiting).value!.remaining(), 3958 - 1000, 3958 - 890, "what remains");
    },
    terms,
  ),

  behaviour(
    "7.7",
    "A lock that is granted takes no further question",
    async (bench) => {
      const { masters, time } = bench;
      const { lock, waiting } = await waitingCall(bench);
      await time.pass(200);
      const taps = await Promise.all(masters.map((master) => master.tap()));
      await lock.release();
      await waiting;
      const commands = await Promise.all(taps.map((tap) => tap.commands()));
      const sent = commands.flat().filter(([name]) => name === "EVALSHA");
      assert.equal(sent.length, masters.length, "one command of the holder for each master");
    },
    { ...terms, notOn: { ...noQueue, real: "taps also show what scripts call" } },
  ),

  behaviour(
    "7.8",
    "Waiters that have some votes each give them up, and one of them has the lock soon",
    async (bench) => {
      const { faults, masters, time } = bench;
      const [one, other] = await warm(bench, 2);
      const [middle] = masters.slice(2);
      await occupy(masters, "r");
      await faults.cut(one!, masters.slice(3));
      await faults.cut(other!, masters.slice(0, 2));
      const line = new Line();
      line.wait(one!, "the first");
      await time.pass(20);
      line.wait(other!, "the second");
      await time.pass(400);
      for (const master of masters) if (master !== middle) await faults.lose([master], "r");
      await time.until("each has two votes", async () =>
        (await valuesOf(masters, "r")).every((value) => value !== null),
      );
      await faults.heal(one!, masters);
      await faults.heal(other!, masters);
      const begun = time.now();
      await line.isServed("the first", "the second");
      lasted(bench, time.now() - begun, 0, 4000, "both");
    },
    { notOn: noQueue },
  ),

  behaviour(
    "7.9",
    "A vote that was given up does not count again",
    async (bench) => {
      const { faults, masters, time } = bench;
      const [free, ...others] = masters;
      await occupy(others, "r");
      const waiter = await bench.redlock();
      const waiting = time.took(waiter.acquire("r", 8000, { waitTimeout: 2500 }));
      await time.until("it has a vote", async () => (await valuesOf([free!], "r"))[0] !== null);
      await time.pass(100);
      await faults.cut(waiter, [free!]);
      await faults.lose([free!], "r");
      await occupy([free!], "r");
      await faults.lose(others.slice(0, 1), "r");
      const { value } = await waiting;
      assert.equal(value, undefined, "one vote of three is a lock");
    },
    terms,
  ),

  behaviour(
    "7.10",
    "A call that gives up leaves the queues, and passes on what was granted to it",
    async (bench) => {
      const { faults, masters, time } = bench;
      const [first, second] = await warm(bench, 2);
      const { redlock, lock } = await held(bench, 20_000);
      const controller = new AbortController();
      const signal = controller.signal;
      const leaving = time.took(first!.acquire("r", 20_000, { waitTimeout: 60_000, signal }));
      await untilWaiting(bench, redlock, 1);
      await time.pass(100);
      const waiting = time.took(second!.acquire("r", 20_000, { waitTimeout: 60_000 }));
      await untilWaiting(bench, redlock, 2);
      await faults.cut(first!, masters, "replies");
      await lock.release();
      const left = time.now();
      controller.abort();
      assert.equal((await waiting).value?.state, "held");
      lasted(bench, time.now() - left, 0, 5, "the second");
      failed(await leaving, "ABORTED");
      await untilWaiting(bench, redlock, 0);
    },
    terms,
  ),

  behaviour(
    "7.10",
    "A first waiter that stands still with its connections open keeps what it is granted for its ttl, and then the next has it",
    async (bench) => {
      const { faults, masters, time } = bench;
      const { redlock, lock, waiter: frozen } = await waitingCall(bench, 2000);
      const waiting = time.took((await bench.redlock()).acquire("r", 2000, { waitTimeout: 60_000 }));
      await untilWaiting(bench, redlock, 2);
      await faults.cut(frozen, masters);
      const released = time.now();
      await lock.release();
      assert.equal((await waiting).value?.state, "held");
      // The ttl of the first, and a heartbeat of the second.
      lasted(bench, time.now() - released, 2000, 2500, "the wait");
    },
    terms,
  ),

  behaviour(
    "7.11",
    "A grant whose message is lost is found by the next heartbeat, also while a master hangs",
    async (bench) => {
      const { faults, masters, time } = bench;
      const { lock, waiter: other, waiting } = await waitingCall(bench, 4000, { nodeTimeout: 3900 });
      await time.pass(300);
      await faults.cut(other, masters, "pushes");
      await faults.hang(masters.slice(2));
      await lock.release();
      const { took, value } = await waiting;
      assert.equal(value?.state, "held");
      lasted(bench, took, 300, 1100, "the wait");
      await faults.resume(masters);
    },
    noPushes,
  ),

  behaviour(
    "7.12",
    "Waiters that reach few masters each do not keep the lock from one that reaches all",
    async (bench) => {
      const { faults, masters, time } = bench;
      const [one, another, other] = await warm(bench, 3);
      const { redlock, lock } = await held(bench, 60_000);
      const waits = { waitTimeout: 60_000, retryDelay: 20_000, retryJitter: 0 };
      for (const rival of [one!, another!]) void time.took(rival.acquire("r", 20_000, waits));
      await untilWaiting(bench, redlock, 2);
      const waiting = other!.acquire("r", 20_000, waits);
      await untilWaiting(bench, redlock, 3);
      await faults.cut(one!, masters.slice(2));
      await faults.cut(another!, masters.slice(0, 3));
      // The entries that they cannot take out of the queues end there after three heartbeats.
      await time.pass(4500);
      await lock.release();
      lasted(bench, (await time.took(waiting)).took, 0, 1500, "the wait");
    },
    { notOn: noQueue },
  ),

  behaviour(
    "7.12",
    "A waiter that was cut off is back in its place when it reaches the masters again",
    async (bench) => {
      const { faults, masters, time } = bench;
      const [one, other] = await warm(bench, 2);
      const before = await held(bench, 60_000);
      const line = new Line();
      line.wait(one!, "the first", { retryDelay: 500 });
      await time.pass(250);
      line.wait(other!, "the second");
      await faults.cut(one!, masters.slice(1));
      await time.pass(5000);
      await faults.heal(one!, masters);
      // Messages that were on their way are over by then.
      await time.pass(5000);
      await line.isServedBehind(bench, before, "the first", "the second");
    },
    terms,
  ),

  behaviour(
    "7.13",
    "Several resources are granted together, in the order of the calls, and at once when the last is free",
    async (bench) => {
      const { time } = bench;
      const [both, reversed, single] = await warm(bench, 3);
      const { redlock, lock } = await held(bench, 20_000);
      const other = await redlock.acquire("s", 20_000);
      const waits = { waitTimeout: 60_000 };
      const first = both!.acquire(["r", "s"], 20_000, waits);
      await time.pass(300);
      const second = reversed!.acquire(["s", "r"], 20_000, waits);
      await time.pass(300);
      const third = time.took(single!.acquire("r", 20_000, waits));
      await untilWaiting(bench, redlock, 3);
      await lock.release();
      await time.pass(100);
      const won = await handOver(bench, other, first, 5);
      await won.release();
      await (await second).release();
      assert.equal((await third).value?.state, "held");
      // (Its turn was behind both.)
      assert.ok((await third).took >= 100);
    },
    terms,
  ),

  behaviour(
    "7.15",
    "A lock stays in a process only for calls that were made before those of others",
    async (bench) => {
      const { time } = bench;
      const [own, other] = await warm(bench, 2);
      const { lock } = await held(bench, 60_000);
      const line = new Line();
      const callers = { own: own!, "own again": own!, other: other!, "own at last": own! };
      for (const [name, caller] of Object.entries(callers)) {
        line.wait(caller, name);
        await time.pass(300);
      }
      await lock.release();
      await line.isServed("own", "own again", "other", "own at last");
    },
    terms,
  ),

  behaviour(
    "7.15",
    "A call that backs off keeps no other call of its process from the queues",
    async (bench) => {
      const { faults, masters, time } = bench;
      const { redlock, lock } = await held(bench, 60_000);
      const [own] = await warm(bench, 1);
      const waits = { waitTimeout: 60_000, retryDelay: 20_000, retryJitter: 0 };
      void time.took(own!.acquire("r", 20_000, { ...waits, nodeTimeout: 150 }));
      await untilWaiting(bench, redlock, 1);
      const waiting = own!.acquire("r", 20_000, { ...waits, nodeTimeout: 900 });
      // Masters are too slow for the first one now.
      await faults.slow(own!, masters, 200);
      await time.pass(3000);
      await lock.release();
      lasted(bench, (await time.took(waiting)).took, 0, 1500, "the wait");
      await own!.quit();
    },
    terms,
  ),

  behaviour(
    "7.15",
    "A call that leaves the queues makes room for the next of its process, before those of others",
    async (bench) => {
      const { faults, masters, time } = bench;
      const { redlock, lock } = await held(bench, 60_000);
      const [own, other] = await warm(bench, 2);
      await faults.slow(own!, masters, 70, "replies");
      const demanding = { waitTimeout: 60_000, retryDelay: 8000, retryJitter: 0, minimumValidity: 3900 };
      void time.took(own!.acquire("r", 4000, { ...demanding, nodeTimeout: 2000 }));
      await untilWaiting(bench, redlock, 1);
      const line = new Line();
      await time.pass(200);
      line.wait(own!, "own");
      await time.pass(300);
      line.wait(other!, "other");
      await time.pass(300);
      await lock.release();
      await line.isServed("own", "other");
      await own!.quit();
    },
    terms,
  ),

  behaviour(
    "7.15",
    "Calls whose time ends together leave together: none enters the queues only to leave them",
    async (bench) => {
      const { masters, time } = bench;
      const { redlock } = await held(bench, 60_000);
      const [own] = await warm(bench, 1);
      for (const isAborted of [true, false]) {
        const controller = new AbortController();
        const ends = isAborted ? { signal: controller.signal } : { waitTimeout: 1500 };
        const calls = Array.from({ length: 100 }, () =>
          time.took(own!.acquire("r", 20_000, { waitTimeout: 60_000, ...ends })),
        );
        await untilWaiting(bench, redlock, 1);
        await time.pass(500);
        const tap = await masters[0]!.tap();
        controller.abort();
        for (const call of calls) failed(await call, isAborted ? "ABORTED" : "RESOURCE_LOCKED");
        await untilWaiting(bench, redlock, 0);
        const left = claimsIn(await tap.commands());
        assert.ok(left.size <= 10, `${left.size} entries`);
      }
    },
    terms,
  ),

  behaviour(
    "7.15",
    "A backoff that throws ends its call, and no other",
    async (bench) => {
      const { faults, masters, time } = bench;
      const own = await bench.redlock();
      await occupy(masters, "r");
      const thrown = time.took(own.acquire("r", 20_000, { waitTimeout: 60_000, backoff: throwing }));
      const waiting = time.took(own.acquire("r", 20_000, { waitTimeout: 60_000 }));
      const { error } = await thrown;
      assert.equal(String(error), "RangeError: no pause");
      await faults.lose(masters, "r");
      assert.equal((await waiting).value?.state, "held");
    },
    terms,
  ),

  behaviour(
    "7.16",
    "A fresh lock is handed to the next call of its process as it is, and nothing is sent",
    async (bench) => {
      const { masters, time } = bench;
      const { lock, next: waiting } = await nextOfProcess(bench);
      await time.pass(700);
      const tap = await masters[0]!.tap();
      await lock.release();
      const next = await waiting;
      assert.deepEqual(await tap.commands(), []);
      assert.equal(lock.state, "released");
      within(bench, next.remaining(), 18_000, 19_798 - 700, "what remains");
      await endsBeforeItsKeys(bench, next);
    },
    terms,
  ),

  behaviour(
    "7.16",
    "A lock whose token was given away is not handed on",
    async (bench) => {
      const { lock, next } = await nextOfProcess(bench);
      const { value } = lock;
      await lock.release();
      assert.notEqual((await next).value, value);
    },
    terms,
  ),

  behaviour(
    "7.16",
    "A lock is not handed on to a call that asked for less time, or for fewer risks",
    async (bench) => {
      for (const [ttl, settings, most] of [
        [5000, {}, 4950],
        [20_000, { driftFactor: 0.05 }, 19_000],
      ] as const) {
        const { redlock, lock: before } = await held(bench, 60_000);
        const own = await bench.redlock({ waitTimeout: 60_000 });
        const [first, second] = [own.acquire("r", 20_000), own.acquire("r", ttl, settings)];
        await untilWaiting(bench, redlock, 1);
        await before.release();
        await (await first).release();
        const next = await second;
        assert.ok(next.remaining() <= most, `${next.remaining()} ms remain`);
        await endsBeforeItsKeys(bench, next);
        for (const left of await lifetimesOn(bench.masters, "r"))
          assert.ok(left <= ttl, `a key for ${left} ms`);
        await next.release();
      }
    },
    terms,
  ),

  behaviour(
    "7.17",
    "A call has its turn before a later one of another process, also when the lock is not fresh",
    async (bench) => {
      const { time } = bench;
      const [other] = await warm(bench, 1);
      const { lock, next, line } = await nextOfProcess(bench, 4000, (line) => line.wait(other!, "other"));
      const own = next.then((one) => {
        line.served.push("own");
        return one.release();
      });
      await time.pass(600);
      await lock.release();
      await own;
      await line.isServed("own", "other");
    },
    terms,
  ),

  behaviour(
    "7.18",
    "Grants that come late to a lock which was handed on are not taken back",
    async (bench) => {
      const { faults, masters, time } = bench;
      const { redlock, lock } = await held(bench, 60_000);
      const own = await bench.redlock();
      const first = own.acquire("r", 20_000, { waitTimeout: 60_000 });
      const second = own.acquire("r", 20_000, { waitTimeout: 60_000 });
      await untilWaiting(bench, redlock, 1);
      await time.pass(100);
      await faults.cut(own, masters.slice(3), "pushes");
      await lock.release();
      await (await first).release();
      const next = await second;
      await faults.heal(own, masters.slice(3, 4));
      await time.pass(50);
      const { value } = await next.detach();
      await faults.heal(own, masters);
      await time.pass(50);
      for (const one of await valuesOf(masters, "r")) assert.equal(one, value);
    },
    { notOn: noPushes.notOn },
  ),
];
