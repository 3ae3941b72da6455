import assert from "node:assert/strict";
import type { Lock, Redlock } from "@quorlock/redlock";
import { type Behaviour, type Bench, behaviour, type Master, type OpenOptions } from "./bench.ts";
import { failed, isConnected, lasted, occupy, untilGone, untilVotes, valuesOf, votesFor } from "./looking.ts";

/** The longest ttl of any client, ms: quarantines are as long. */
const maxTtl = 2000;
const restartGuard = { maxTtl };
const hour = 3_600_000;

const scripts = { "without scripts": "the guard needs scripts" };
const replicas = { notOn: scripts, takes: "replicas" } as const;
const clocks = { notOn: scripts, takes: "clocks" } as const;

interface Guarded {
  readonly holder: Redlock;
  readonly rival: Redlock;
  /** The errors of the rival. */
  readonly reasons: readonly string[];
}

/** Two clients of masters that were declared new. */
async function guarded(bench: Bench, options: OpenOptions = {}): Promise<Guarded> {
  const [holder, rival] = [await another(bench, options), await another(bench, options)];
  const reasons: string[] = [];
  rival.on("error", ({ reason }) => reasons.push(reason));
  await holder.initialize();
  for (const redlock of [holder, rival]) assert.equal(await votesFor(redlock), bench.masters.length);
  return { holder, rival, reasons };
}

function another(bench: Bench, options: OpenOptions = {}): Promise<Redlock> {
  return bench.redlock({ restartGuard, ...options });
}

/** A lock on "r" by the votes of the first masters alone, as few as make a quorum. */
async function narrowly({ faults, masters }: Bench, redlock: Redlock): Promise<Lock> {
  const others = masters.slice(Math.floor(masters.length / 2) + 1);
  await occupy(others, "r");
  const lock = await redlock.acquire("r", maxTtl);
  await Promise.all(lock.attempts);
  await faults.lose(others, "r");
  return lock;
}

/** Until the master that came back has refused this client. */
async function untilQuarantine({ time, masters }: Bench, redlock: Redlock): Promise<void> {
  await time.until("it is connected again", () => isConnected(redlock));
  assert.equal(await votesFor(redlock), masters.length - 1);
}

/** The last of the masters that `narrowly` takes. */
function lastVoter(masters: readonly Master[]): Master {
  return masters[Math.floor(masters.length / 2)]!;
}

/** Nobody else has the lock while it is held, and the master votes again `maxTtl` after it lost its memory. */
async function keepsOut(bench: Bench, lock: Lock, rival: Redlock): Promise<void> {
  const { time, masters } = bench;
  const begun = time.now();
  while (lock.state === "held") {
    const second = await rival.tryAcquire("r", maxTtl).catch(() => null);
    assert.ok(second === null || lock.remaining() === 0, "two clients hold");
    await time.pass(50);
  }
  await untilGone(bench, masters, "r");
  await untilVotes(bench, rival, masters.length);
  lasted(bench, time.now() - begun, maxTtl - 50, maxTtl + 100, "ms until it votes");
}

/** How a master comes to have forgotten its votes. */
const losses: ReadonlyArray<
  readonly [rule: string, what: string, (bench: Bench, master: Master) => Promise<unknown>]
> = [
  ["9.1", "is restarted empty", ({ faults }, master) => faults.restart([master])],
  ["9.2", "is emptied", (_, master) => master.call("FLUSHALL")],
];

/** Section 9 of docs/protocol.md. */
export const restarts: readonly Behaviour[] = [
  behaviour(
    "9.1",
    "A master that was restarted empty gives no second client the lock",
    async (bench) => {
      const { faults, masters } = bench;
      const { holder, rival, reasons } = await guarded(bench);
      const lock = await narrowly(bench, holder);
      await faults.restart([lastVoter(masters)]);
      await keepsOut(bench, lock, rival);
      assert.ok(reasons.includes("QUARANTINE"), `reported: ${reasons.join(", ")}`);
    },
    { notOn: scripts },
  ),

  ...losses.map(([rule, what, lose]) =>
    behaviour(
      rule,
      `A lock that few masters have is given to nobody else when one of them ${what}`,
      async (bench) => {
        const { time, masters } = bench;
        const [holder, rival] = [await another(bench), await another(bench)];
        // Masters that nobody has declared new begin with a quarantine.
        for (const redlock of [holder, rival])
          await (await redlock.acquire("any", maxTtl, { waitTimeout: 10_000 })).release();
        const lock = await narrowly(bench, holder);
        await lose(bench, lastVoter(masters));
        await time.until("it is connected again", () => isConnected(rival));
        const second = await rival.tryAcquire("r", maxTtl).catch(() => null);
        assert.ok(second === null || lock.state !== "held", "two clients hold");
      },
      { notOn: scripts },
    ),
  ),

  behaviour(
    "9.1",
    "A master in quarantine extends a lock that is held, and has its key again",
    async (bench) => {
      const { time, faults, masters } = bench;
      const { holder } = await guarded(bench);
      const lock = await narrowly(bench, holder);
      const master = lastVoter(masters);
      await faults.restart([master]);
      await time.until("it is connected again", () => isConnected(holder));
      await lock.extend(maxTtl);
      await time.until("it has the key", async () => (await valuesOf([master], "r"))[0] === lock.value);
      assert.equal(lock.state, "held");
    },
    { notOn: scripts },
  ),

  behaviour(
    "9.1",
    "Nor beside a reader, a writer or a permit is anyone let in by a master that was restarted empty",
    async (bench) => {
      const { faults, masters, time } = bench;
      const { ReadWriteLock, Semaphore } = bench.client;
      const [holder, rival] = [await another(bench), await another(bench)];
      await holder.initialize();
      const all = [holder, rival].map((one) => ({
        lock: new ReadWriteLock(one, "r"),
        permits: new Semaphore(one, "s", 1),
      }));
      const [own, theirs] = all as [(typeof all)[0], (typeof all)[0]];
      for (const [hold, enter] of [
        [() => own.lock.read(maxTtl), () => theirs.lock.tryWrite(maxTtl)],
        [() => own.lock.write(maxTtl), () => theirs.lock.tryRead(maxTtl)],
        [() => own.permits.acquire(maxTtl), () => theirs.permits.tryAcquire(maxTtl)],
      ] as const) {
        await untilVotes(bench, rival, masters.length);
        await faults.cut(holder, masters.slice(3));
        const lock = await hold();
        await Promise.all(lock.attempts);
        await faults.restart([lastVoter(masters)]);
        await time.until("it is connected again", () => isConnected(rival));
        const second = await enter().catch(() => null);
        assert.ok(second === null || lock.remaining() === 0, "two clients hold");
        await faults.heal(holder, masters);
        await lock.release();
      }
    },
    { notOn: scripts },
  ),

  behaviour(
    "9.2",
    "A master that was emptied gives no second client the lock, though it kept running",
    async (bench) => {
      const { holder, rival } = await guarded(bench);
      const lock = await narrowly(bench, holder);
      await lastVoter(bench.masters).call("FLUSHALL");
      await keepsOut(bench, lock, rival);
    },
    { notOn: scripts },
  ),

  behaviour(
    "9.2",
    "A master that has loaded an older file gives no second client the lock",
    async (bench) => {
      const { faults, masters } = bench;
      const { holder, rival } = await guarded(bench);
      await faults.lag([lastVoter(masters)]);
      const lock = await narrowly(bench, holder);
      await faults.reload([lastVoter(masters)]);
      await keepsOut(bench, lock, rival);
    },
    replicas,
  ),

  behaviour(
    "9.3",
    "A master that was restarted with an older file gives no second client the lock",
    async (bench) => {
      const { faults, masters } = bench;
      const { holder, rival } = await guarded(bench);
      const lock = await narrowly(bench, holder);
      await faults.restart([lastVoter(masters)], true);
      await faults.lose([lastVoter(masters)], "r");
      await keepsOut(bench, lock, rival);
    },
    replicas,
  ),

  ...(["failOver", "resync"] as const).map((takeOver) =>
    behaviour(
      "9.3",
      `A replica that lacks a master's votes gives no second client the lock ${takeOver === "failOver" ? "in its place" : "when the master has copied it"}`,
      async (bench) => {
        const { faults, masters } = bench;
        const { holder, rival } = await guarded(bench);
        await faults.lag([lastVoter(masters)]);
        const lock = await narrowly(bench, holder);
        await faults[takeOver]([lastVoter(masters)]);
        await keepsOut(bench, lock, rival);
      },
      replicas,
    ),
  ),

  behaviour(
    "9.3",
    "Old primaries that were made replicas meanwhile vote for nobody, whoever comes back to them",
    async (bench) => {
      const { faults, masters, time } = bench;
      const { holder } = await guarded(bench);
      await faults.failOver(masters, true);
      await untilVotes(bench, holder, 3);
      const lock = await holder.acquire("r", maxTtl);
      await faults.failBack(masters);
      assert.equal(await (await another(bench)).tryAcquire("r", maxTtl).catch(() => null), null);
      assert.ok(lock.remaining() > 0, "it has ended already");
      // (A client of ioredis that is ended while it reconnects does not say so, and the next case would meet it.)
      await time.until("it is connected again", () => isConnected(holder));
    },
    { ...replicas, masters: 3 },
  ),

  behaviour(
    "9.4",
    "A master whose databases were exchanged gives no second client the lock",
    async (bench) => {
      const { masters } = bench;
      const { holder, rival } = await guarded(bench);
      const lock = await narrowly(bench, holder);
      // The clients look at database 0: there the mark names database 5.
      const master = lastVoter(masters);
      const mark = String(await master.call("GET", "quorlock:guard"));
      await master.call("SET", "quorlock:guard", mark.replace(/ 0 (\d)$/, " 5 $1"));
      await master.call("DEL", "r");
      await keepsOut(bench, lock, rival);
    },
    { notOn: scripts },
  ),

  ...(["votes there", "asks nothing there"] as const).map((meanwhile) =>
    behaviour(
      "9.5",
      `A client that was connected to replicas, and ${meanwhile}, knows the old primaries again when it is back`,
      async (bench) => {
        const { time, faults, masters } = bench;
        const { holder, rival, reasons } = await guarded(bench);
        await faults.failOver(masters);
        await untilVotes(bench, holder, 3);
        if (meanwhile === "votes there") await votesFor(rival);
        const lock = await holder.acquire("r", maxTtl);
        await faults.cut(holder, masters);
        await faults.failBack(masters);
        await time.until("it is connected again", () => isConnected(rival));
        assert.equal(await rival.tryAcquire("r", maxTtl).catch(() => null), null);
        assert.ok(lock.remaining() > 0, "it has ended already");
        assert.ok(reasons.includes("QUARANTINE"), `reported: ${reasons.join(", ")}`);
      },
      { ...replicas, masters: 3 },
    ),
  ),

  behaviour(
    "9.6",
    "A key that is released in quarantine is granted to nobody",
    async (bench) => {
      const { time, faults, masters } = bench;
      const { holder, rival } = await guarded(bench, { restartGuard: { maxTtl: 10 * maxTtl } });
      const lock = await holder.acquire("r", maxTtl);
      const master = masters[2]!;
      await faults.restart([master]);
      for (const redlock of [holder, rival])
        await time.until("it is connected again", () => isConnected(redlock));
      await lock.extend(maxTtl);
      const waiting = time.took(rival.acquire("r", maxTtl, { waitTimeout: 1500 }));
      await time.pass(100);
      // The master in quarantine has answered as well.
      await Promise.all((await lock.release()).attempts);
      const { value } = await waiting;
      await time.until("the others have voted", async () => {
        const values = await valuesOf(masters, "r");
        return values.filter((token) => token === value?.value).length === 4;
      });
      assert.equal((await valuesOf([master], "r"))[0], null);
    },
    { notOn: scripts },
  ),

  behaviour(
    "9.7",
    "A key that a master in quarantine sets again does not stand for a vote that it never gave",
    async (bench) => {
      const { time, faults, masters } = bench;
      const [slow, common, lost] = masters as [Master, Master, Master];
      const { holder, rival } = await guarded(bench, { nodeTimeout: 1900 });
      const lock = await narrowly(bench, holder);
      await time.pass(500);
      // The rival has the vote that will be forgotten, and gets the second one when the holder's key there has expired.
      await faults.cut(rival, [common]);
      await faults.slow(rival, [slow], 1550, "requests");
      const acquiring = time.took(rival.acquire("r", maxTtl));
      await time.pass(10);
      await faults.restart([lost]);
      await time.until("it is connected again", () => isConnected(holder));
      await faults.cut(holder, [slow]);
      void time.took(lock.extend(maxTtl));
      const { value } = await acquiring;
      assert.equal(value?.state, "held");
      assert.equal(lock.remaining(), 0);
    },
    { masters: 3, notOn: { ...scripts, real: "it takes exact times" } },
  ),

  behaviour(
    "9.7",
    "A master in quarantine confirms the extension of a lock that it has voted for, and of no other",
    async (bench) => {
      const { time, faults, masters } = bench;
      const [, voter, other] = masters as [Master, Master, Master];
      const { holder } = await guarded(bench);
      const lock = await narrowly(bench, holder);
      await other.call("FLUSHALL");
      await faults.hang([voter]);
      failed(await time.took(lock.extend(maxTtl)), "NO_QUORUM");
      await faults.resume([voter]);
      await voter.call("FLUSHALL");
      await faults.hang([other]);
      await lock.extend(maxTtl);
      await faults.resume([other]);
    },
    { masters: 3, notOn: scripts },
  ),

  behaviour(
    "9.8",
    "A quarantine lasts for maxTtl, and the other masters serve meanwhile",
    async (bench) => {
      const { time, masters } = bench;
      const { rival } = await guarded(bench);
      await masters[2]!.call("FLUSHALL");
      const begun = time.now();
      for (let count = 4; count === 4; count = await votesFor(rival)) await time.pass(20);
      lasted(bench, time.now() - begun, maxTtl, maxTtl + 50, "ms");
      assert.equal(await votesFor(rival), 5);
    },
    { notOn: scripts },
  ),

  behaviour(
    "9.8",
    "A client with another maxTtl is refused, and so is a longer ttl",
    async (bench) => {
      const { time } = bench;
      const { holder } = await guarded(bench);
      const other = await another(bench, { restartGuard: { maxTtl: 3000 } });
      failed(await time.took(other.acquire("r", 1000)), "INVALID_ARGUMENT");
      failed(await time.took(holder.acquire("r", maxTtl + 1)), "INVALID_ARGUMENT");
      const lock = await holder.acquire("r", maxTtl);
      failed(await time.took(lock.extend(maxTtl + 1)), "INVALID_ARGUMENT");
    },
    { notOn: scripts },
  ),

  behaviour(
    "9.8",
    "While too few masters say what maxTtl is, known ones vote, and one that was emptied is not put into quarantine",
    async (bench) => {
      const { time, faults, masters } = bench;
      await guarded(bench);
      await faults.hang(masters.slice(0, 2));
      const late = await bench.redlock({ restartGuard, isCold: true });
      const { took, value } = await time.took(late.acquire("r", maxTtl, { waitTimeout: 1000 }));
      assert.equal(value?.state, "held");
      lasted(bench, took, 0, 205, "the call");
      await masters[4]!.call("FLUSHALL");
      const reasons: string[] = [];
      late.on("error", ({ reason }) => reasons.push(reason));
      await time.took(late.acquire("s", maxTtl));
      assert.ok(reasons.includes("UNGUARDED"), `reported: ${reasons.join(", ")}`);
      assert.equal(await masters[4]!.call("GET", "quorlock:guard"), null);
      await faults.resume(masters);
    },
    { notOn: scripts },
  ),

  behaviour(
    "9.8",
    "The first call of a guarded client settles within its own time, and later ones do not wait for what it waited for",
    async (bench) => {
      const { time, faults, masters } = bench;
      await guarded(bench);
      const [redlock, other] = [await another(bench, { nodeTimeout: 2000 }), await another(bench)];
      const options = { ...redlock.settings, nodeTimeout: 300 };
      await faults.hang(masters.slice(0, 2));
      const first = await time.took(redlock.tryAcquire("r", maxTtl, options));
      assert.equal(first.value?.state, "held");
      lasted(bench, first.took, 0, 605, "the first call");
      const second = await time.took(redlock.tryAcquire("s", maxTtl, options));
      assert.equal(second.value?.state, "held");
      lasted(bench, second.took, 0, 5, "the second call");
      await faults.hang(masters.slice(2));
      const asked = await time.took(other.acquire("t", 1000, { nodeTimeout: 50, waitTimeout: 20 }));
      failed(asked, "NO_QUORUM");
      lasted(bench, asked.took, 0, 75, "a call that no master answers");
      await faults.resume(masters);
    },
    { notOn: scripts },
  ),

  behaviour(
    "9.8",
    "`ready` waits until enough masters agree on maxTtl, or a quorum knows it; a client that was refused asks again",
    async (bench) => {
      const { time, faults, masters } = bench;
      await guarded(bench);
      const other = await another(bench, { restartGuard: { maxTtl: 3000 } });
      failed(await time.took(other.ready()), "INVALID_ARGUMENT");
      failed(await time.took(other.acquire("r", 1000)), "INVALID_ARGUMENT");
      const redlock = await another(bench);
      await faults.hang(masters.slice(0, 2));
      const ready = await time.took(redlock.ready({ timeout: 1000 }));
      assert.equal(ready.error, undefined);
      lasted(bench, ready.took, 0, 205, "`ready`");
      for (const master of masters.slice(2)) await master.call("FLUSHALL");
      const late = await time.took(redlock.ready({ timeout: 500 }));
      assert.match(String(late.error), /within 500 ms, 3 of the 4 required masters answered/);
      lasted(bench, late.took, 500, 505, "`ready`");
      const waiting = time.took(redlock.ready({ timeout: 5000 }));
      await time.pass(1000);
      await faults.resume(masters);
      const { took, error } = await waiting;
      assert.equal(error, undefined);
      lasted(bench, took, 1000, 1400, "`ready`");
      for (const master of masters) await master.call("FLUSHALL");
      const { value } = await time.took(other.acquire("r", 1000, { waitTimeout: 9000 }));
      assert.equal(value?.state, "held");
    },
    { notOn: scripts },
  ),

  behaviour(
    "9.8",
    "A master that is said to be durable votes at once after a restart, and not when it was emptied",
    async (bench) => {
      const { faults, masters, time } = bench;
      const [durable, other] = masters as [Master, Master];
      const { rival } = await guarded(bench, {
        restartGuard: { maxTtl, durable: (name) => name === durable.name },
      });
      await faults.restart([durable], true);
      await time.until("it is connected again", () => isConnected(rival));
      assert.equal(await votesFor(rival), masters.length);
      await faults.restart([other], true);
      await untilQuarantine(bench, rival);
      await untilVotes(bench, rival, masters.length);
      await durable.call("FLUSHALL");
      assert.equal(await votesFor(rival), masters.length - 1);
    },
    { notOn: { ...scripts, real: "an address of a proxy is known when there is a client" } },
  ),

  behaviour(
    "9.9",
    "Masters that are declared new vote at once, and are declared new once",
    async (bench) => {
      const { time, masters } = bench;
      const redlock = await another(bench);
      await redlock.initialize();
      assert.equal(await votesFor(redlock), 5);
      failed(await time.took((await another(bench)).initialize()), "INVALID_ARGUMENT");
      await masters[0]!.call("FLUSHALL");
      failed(await time.took((await another(bench)).initialize()), "INVALID_ARGUMENT");
      assert.equal(await votesFor(redlock), 4);
    },
    { notOn: scripts },
  ),

  behaviour(
    "9.9",
    "Masters that are not declared new vote after maxTtl",
    async (bench) => {
      const redlock = await another(bench);
      assert.equal(await votesFor(redlock), 0);
      lasted(bench, await untilVotes(bench, redlock, 5), maxTtl - 10, maxTtl + 50, "ms");
    },
    { notOn: scripts },
  ),

  behaviour(
    "9.9",
    "A declaration that arrives after the master has voted and was emptied changes nothing",
    async (bench) => {
      const { time, faults, masters } = bench;
      const [first, holder] = [await another(bench), await another(bench)];
      const initializing = time.took(first.initialize());
      // They have been asked, and are being told.
      await time.pass(1.2);
      const stuck = lastVoter(masters);
      await faults.reset(first, [stuck], 3000);
      failed(await initializing, "NO_QUORUM");
      const arrival = time.now() + 3000;
      await untilVotes(bench, holder, 3);
      await time.pass(arrival - 500 - time.now());
      const lock = await narrowly(bench, holder);
      await stuck.call("FLUSHALL");
      await time.pass(600);
      assert.equal(await (await another(bench)).tryAcquire("r", maxTtl).catch(() => null), null);
      assert.ok(lock.remaining() > 0, "it has ended already");
    },
    { masters: 3, notOn: { ...scripts, real: "no real packet is made to overtake another" } },
  ),

  behaviour(
    "9.10",
    "A master that boots with a slow clock, which is set right, stays in quarantine for the full time",
    async (bench) => {
      const { faults, masters } = bench;
      const { holder, rival } = await guarded(bench);
      const lock = await narrowly(bench, holder);
      const slow = [lastVoter(masters)];
      await faults.kill(slow);
      await faults.step(slow, -hour);
      await faults.restart(slow);
      await untilQuarantine(bench, rival);
      await faults.step(slow, hour);
      await keepsOut(bench, lock, rival);
    },
    clocks,
  ),

  behaviour(
    "9.10",
    "A master that boots with a fast clock, which is set right, votes again after maxTtl",
    async (bench) => {
      const { faults, masters } = bench;
      const { rival } = await guarded(bench);
      const fast = masters.slice(2, 3);
      await faults.kill(fast);
      await faults.step(fast, hour);
      await faults.restart(fast);
      await untilQuarantine(bench, rival);
      await faults.step(fast, -hour);
      lasted(bench, await untilVotes(bench, rival, 5), maxTtl - 10, 2 * maxTtl, "ms");
    },
    clocks,
  ),

  behaviour(
    "9.10",
    "A client whose clock is far ahead keeps no master in quarantine for longer",
    async (bench) => {
      const { faults, masters } = bench;
      const { holder, rival } = await guarded(bench);
      await faults.step(holder, hour);
      await masters[2]!.call("FLUSHALL");
      assert.equal(await votesFor(holder), 4);
      lasted(bench, await untilVotes(bench, rival, 5), maxTtl - 10, 2 * maxTtl, "ms");
    },
    { notOn: { ...scripts, real: "the clients of a case have one wall clock" } },
  ),

  behaviour(
    "9.11",
    "A client that has not seen a clock step leaves out the master that one has seen",
    async (bench) => {
      const { time, faults, masters } = bench;
      const options = { clockWatch: { exclude: true } };
      const { holder, rival } = await guarded(bench, options);
      const lock = await narrowly(bench, holder);
      const stepped = [lastVoter(masters)];
      await faults.step(stepped, 40_000);
      await valuesOf(stepped, "r");
      assert.equal(await votesFor(rival), 4);
      await time.pass(5);
      await faults.step(stepped, -40_000);
      await keepsOut(bench, lock, await another(bench, options));
    },
    clocks,
  ),

  behaviour(
    "9.12",
    "A durable master votes at once after a restart; one that was emptied or promoted does not",
    async (bench) => {
      const { faults, masters, time } = bench;
      const { rival } = await guarded(bench, { restartGuard: { maxTtl, durable: true } });
      await faults.restart(masters.slice(0, 1), true);
      await time.until("it is connected again", () => isConnected(rival));
      assert.equal(await votesFor(rival), 5);
      await masters[1]!.call("FLUSHALL");
      assert.equal(await votesFor(rival), 4);
      await faults.failOver(masters.slice(2, 3));
      await time.until("it is connected again", () => isConnected(rival));
      assert.equal(await votesFor(rival), 3);
    },
    replicas,
  ),
];
