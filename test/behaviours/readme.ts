import assert from "node:assert/strict";
import { type Behaviour, behaviour } from "./bench.ts";
import {
  failed,
  held,
  isConnected,
  lasted,
  lifetimesOn,
  occupy,
  untilGone,
  untilVoted,
  valuesOf,
  within,
} from "./looking.ts";

/** The promises of README.md that are no rules of docs/protocol.md by themselves. */
export const readme: readonly Behaviour[] = [
  behaviour("README", "It works while a majority of the servers is reachable", async (bench) => {
    const { time, faults, masters } = bench;
    const redlock = await bench.redlock();
    await faults.kill(masters.slice(0, 1));
    await faults.hang(masters.slice(1, 2));
    const lock = await redlock.acquire("r", 2000);
    await lock.extend(2000);
    assert.equal(await lock.verify(), true);
    await lock.release();
    await untilGone(bench, masters.slice(2), "r");
    await faults.kill(masters.slice(2, 3));
    await time.pass(20);
    failed(await time.took(redlock.acquire("r", 2000)), "NO_QUORUM");
    await faults.resume(masters.slice(1, 2));
    await time.until(
      "a majority is back",
      async () => (await redlock.tryAcquire("s", 2000).catch(() => null)) !== null,
    );
  }),

  behaviour(
    "README",
    "`using` waits for the lock, extends it while the function runs, and releases it",
    async (bench) => {
      const { time, masters } = bench;
      const { lock } = await held(bench, 20_000);
      const redlock = await bench.redlock();
      const log: string[] = [];
      const using = redlock.using("r", 500, { waitTimeout: 5000 }, async (signal) => {
        log.push("begins");
        await time.pass(1500);
        signal.throwIfAborted();
        for (const left of await lifetimesOn(masters, "r")) within(bench, left, 100, 500, "what is left");
        return "done";
      });
      await time.pass(200);
      log.push("is released");
      await lock.release();
      assert.equal(await using, "done");
      assert.deepEqual(log, ["is released", "begins"]);
      const ended = time.now();
      await untilGone(bench, masters, "r");
      lasted(bench, time.now() - ended, 0, 5, "ms until it is free");
    },
    { masters: 1 },
  ),

  behaviour(
    "README",
    "`using` releases the lock, and rejects, if the function throws",
    async (bench) => {
      const { time, masters } = bench;
      const redlock = await bench.redlock();
      const error = new Error("the routine failed");
      const outcome = await time.took(
        redlock.using("r", 20_000, () => {
          throw error;
        }),
      );
      assert.equal(outcome.error, error);
      await untilGone(bench, masters, "r");
    },
    { masters: 1 },
  ),

  behaviour(
    "README",
    "`using` settles as its function did, though its key is gone",
    async (bench) => {
      const { time, faults, masters } = bench;
      const redlock = await bench.redlock();
      const error = new Error("the routine failed");
      const returned = await redlock.using("r", 5000, async () => {
        await faults.lose(masters, "r");
        return "done";
      });
      assert.equal(returned, "done");
      const thrown = redlock.using("r", 5000, async () => {
        await faults.lose(masters, "r");
        throw error;
      });
      const outcome = await time.took(thrown);
      assert.equal(outcome.error, error, String(outcome.error));
    },
    { masters: 1 },
  ),

  behaviour(
    "README",
    "If the process dies, the lock is free after the ttl of its last extension",
    async (bench) => {
      const { time, faults, masters } = bench;
      const redlock = await bench.redlock();
      void time.took(redlock.using("r", 1000, () => time.pass(10_000)));
      await time.pass(1500);
      await faults.cut(redlock, masters);
      const left = Math.max(...(await lifetimesOn(masters, "r")));
      assert.ok(left > 0 && left <= 1000, `${left} ms are left`);
      await time.pass(left + 1 + time.slack);
      assert.deepEqual(new Set(await valuesOf(masters, "r")), new Set([null]));
      assert.notEqual(await (await bench.redlock()).tryAcquire("r", 1000), null);
    },
  ),

  behaviour(
    "README",
    "A key that is no lock is told by its type, in the refusal and by one event for each resource",
    async (bench) => {
      const { time, masters } = bench;
      const redlock = await bench.redlock();
      const told: string[] = [];
      redlock.on("error", ({ reason, message }) => told.push(`${reason} ${message}`));
      const each = (command: string, key: string, ...args: readonly (string | number)[]) =>
        Promise.all(masters.map((master) => master.call(command, key, ...args)));
      await each("RPUSH", "a list", "one");
      await each("ZADD", "a set", 1, "one");
      await each("RPUSH", "a short list", "one");
      await each("PEXPIRE", "a short list", 60_000);
      await each("SET", "a text", "of the application");
      await occupy(masters, "a lock");
      const lock = await redlock.acquire("a lasting lock", 60_000);
      await Promise.all(lock.attempts);
      // As by PERSIST.
      await each("SET", "a lasting lock", lock.value);
      const types = { "a list": "list", "a set": "zset", "a short list": "list", "a text": "string" };
      for (const [resource, type] of Object.entries(types)) {
        assert.equal(await redlock.tryAcquire(resource, 2000), null);
        const noLock = new RegExp(`"${resource}" is locked by something that is no lock \\(${type}\\)`);
        for (const options of [{}, { waitTimeout: 600 }]) {
          const { error } = await time.took(redlock.acquire(resource, 2000, options));
          assert.match(error.message, noLock);
        }
        const job = { keepFor: 2000, retryCount: 0 };
        const { value, error } = await time.took(bench.client.once(redlock, resource, job, () => {}));
        // A text, and without scripts each of them, may be what keeps the job for another.
        if (error) assert.match(error.message, noLock);
        else assert.equal(value?.ran, false);
        assert.equal(told.length, 1, told.join());
        assert.match(told.pop()!, new RegExp(`^WRONGTYPE .*the key "${resource}" is no lock \\(${type}\\)`));
      }
      for (const resource of ["a lock", "a lasting lock"]) {
        const { error } = await time.took(redlock.acquire(resource, 2000));
        failed({ took: 0, error }, "RESOURCE_LOCKED");
        assert.doesNotMatch(error.message, /no lock/);
      }
      assert.deepEqual(told, []);
      await each("DEL", "a list");
      await (await redlock.acquire("a list", 2000)).release();
    },
    { masters: 3 },
  ),

  behaviour(
    "README",
    "A hash that expires is a lock of another library, and another hash is no lock",
    async (bench) => {
      const { time, masters } = bench;
      const redlock = await bench.redlock();
      const told: string[] = [];
      redlock.on("error", ({ message }) => told.push(message));
      for (const key of ["theirs", "data"])
        await Promise.all(masters.map((master) => master.call("HSET", key, "owner", "1")));
      await Promise.all(masters.map((master) => master.call("PEXPIRE", "theirs", 1000)));
      assert.match(
        (await time.took(redlock.acquire("theirs", 2000))).error.message,
        /by someone else, for at most/,
      );
      assert.deepEqual(told, []);
      assert.match(
        (await time.took(redlock.acquire("data", 2000))).error.message,
        /no lock \(hash\), without expiry/,
      );
      assert.equal(told.length, 1, told.join());
      await (await redlock.acquire("theirs", 2000, { waitTimeout: 5000 })).release();
    },
    { masters: 1, notOn: { virtual: "its masters have no hashes" } },
  ),

  behaviour(
    "README",
    "No key outlives its ttl, by the server's clock",
    async (bench) => {
      const { time, faults, masters } = bench;
      const [first, waiter] = [await bench.redlock(), await bench.redlock()];
      // In one slot of a Cluster.
      const keys = ["{r}1", "{r}2"];
      const lock = await first.acquire(keys, 1000);
      await lock.extend(1000);
      // It never releases them, and nor does the one that has them next.
      await faults.cut(first, masters);
      void time.took(waiter.acquire(keys, 1000, { waitTimeout: 4000 }));
      const end = time.now() + 2000;
      for (; time.now() < end; await time.pass(50))
        for (const key of keys)
          for (const left of await lifetimesOn(masters, key))
            assert.ok(left === -2 || (left >= 0 && left <= 1000), `${left} ms are left of ${key}`);
      for (const key of keys) await untilGone(bench, masters, key);
    },
    { masters: 1 },
  ),

  behaviour(
    "README",
    "A lock on several resources has all of them, or none",
    async (bench) => {
      const { time, masters } = bench;
      const redlock = await bench.redlock();
      await occupy(masters, "s");
      const refused = await time.took(redlock.acquire(["r", "s", "t"], 2000));
      failed(refused, "RESOURCE_LOCKED");
      assert.equal(refused.error.resource, "s");
      within(bench, refused.error.remaining, 59_000, 60_000, "what is left of it");
      await untilGone(bench, masters, "r");
      await untilGone(bench, masters, "t");
      await bench.faults.lose(masters, "s");
      const other = await bench.redlock();
      const lock = await redlock.acquire(["r", "s", "t"], 20_000);
      for (const resource of lock.resources) assert.equal(await other.tryAcquire(resource, 2000), null);
      await lock.release();
      for (const resource of lock.resources) await untilGone(bench, masters, resource);
    },
    { masters: 3 },
  ),

  behaviour(
    "README",
    "`ready` rejects, with a line for each server, if no majority answers, and resolves as soon as one does",
    async (bench) => {
      const { time, faults, masters } = bench;
      await faults.kill(masters.slice(0, 3));
      const redlock = await bench.redlock({ isCold: true });
      const outcome = await time.took(redlock.ready({ timeout: 500 }));
      failed(outcome, "NO_QUORUM");
      lasted(bench, outcome.took, 490, 705, "the call");
      const [, ...lines] = outcome.error.message.split("\n");
      assert.equal(lines.length, masters.length, outcome.error.message);
      for (const [index, master] of masters.entries())
        assert.ok(lines[index].includes(`${bench.addressOf(redlock, master)}: `), lines[index]);
      const waiting = time.took(redlock.ready({ timeout: 5000 }));
      await time.pass(200);
      await faults.restart(masters.slice(0, 1));
      // How soon its client connects again is up to its library.
      const isAnswering = async () =>
        (await redlock.inspect("r")).filter((one) => !one.unreachable).length >= 3;
      await time.until("a majority answers", isAnswering);
      const answered = time.now();
      const { took, error } = await waiting;
      assert.equal(error, undefined);
      lasted(bench, took, 200, 5000, "the call");
      lasted(bench, time.now() - answered, 0, 255, "ms until it is ready");
    },
  ),

  behaviour(
    "README",
    "`ready` says why each server was not reached, however short its last try was",
    async (bench) => {
      const { faults, masters, time } = bench;
      const redlock = await bench.redlock();
      await faults.slow(redlock, masters, 4);
      await faults.busy(masters, true);
      for (const timeout of [1, 100, 101, 105, 250, 500]) {
        const { error } = await time.took(redlock.ready({ timeout }));
        const lines = String(error.message).split("\n").slice(1);
        assert.equal(
          lines.filter((line) => line.includes(timeout > 8 ? "BUSY" : "TIMEOUT")).length,
          5,
          error.message,
        );
      }
    },
    {
      notOn: {
        real: "no real master is made busy",
        "without scripts": "an operation takes several round trips",
      },
    },
  ),

  behaviour(
    "README",
    "`ready` rejects while a majority takes no lock, full or as replicas, says why, and resolves once one does",
    async (bench) => {
      const { time, faults, masters } = bench;
      const redlock = await bench.redlock();
      for (const why of ["OOM", "READONLY", "NOREPLICAS"] as const) {
        await faults.refuseWrites(masters.slice(0, 3), why);
        const refused = await time.took(redlock.ready({ timeout: 300 }));
        failed(refused, "NO_QUORUM");
        assert.equal(refused.error.message.split(` ${why}: `).length, 4, refused.error.message);
        const waiting = time.took(redlock.ready({ timeout: 5000 }));
        await time.pass(100);
        await faults.refuseWrites(masters.slice(0, 1), undefined);
        assert.equal((await waiting).error, undefined);
        await faults.refuseWrites(masters, undefined);
      }
    },
  ),

  behaviour(
    "README",
    "`ready` ends with its signal, and with `quit`",
    async (bench) => {
      const { time, faults, masters } = bench;
      await faults.hang(masters);
      const redlock = await bench.redlock({ isCold: true });
      const controller = new AbortController();
      const aborted = time.took(redlock.ready({ signal: controller.signal }));
      const closed = time.took(redlock.ready());
      controller.abort();
      failed(await aborted, "ABORTED");
      const quit = redlock.quit();
      failed(await closed, "CLOSED");
      lasted(bench, (await closed).took, 0, 205, "the call");
      await quit;
      failed(await time.took(redlock.ready()), "CLOSED");
      await faults.resume(masters);
    },
    { masters: 1 },
  ),

  behaviour(
    "README",
    "`inspect` shows what each server knows of a lock, or why it says nothing",
    async (bench) => {
      const { time, faults, masters } = bench;
      const redlock = await bench.redlock();
      await masters[0]!.call("SET", "r", "0123456789abcdef", "PX", 60_000);
      await masters[1]!.call("SET", "r", "short");
      await faults.kill(masters.slice(2, 3));
      await faults.hang(masters.slice(3, 4));
      await time.pass(20);
      const { took, value } = await time.took(redlock.inspect("r"));
      lasted(bench, took, 195, 205, "the call");
      const rows = value!.map(({ owner, disagrees, unreachable }) => [owner, disagrees, unreachable?.reason]);
      assert.deepEqual(rows, [
        ["01234567…", true, undefined],
        ["sh…", true, undefined],
        [undefined, false, "UNREACHABLE"],
        [undefined, false, "TIMEOUT"],
        [undefined, false, undefined],
      ]);
      const [left, ...others] = value!.map(({ remaining }) => remaining);
      within(bench, left!, 59_000, 60_000, "what is left");
      assert.deepEqual(others, [Number.POSITIVE_INFINITY, 0, 0, 0]);
      await faults.resume(masters.slice(3, 4));
    },
  ),

  behaviour("README", "`quit` releases all locks, and further calls are refused", async (bench) => {
    const { time, masters } = bench;
    const redlock = await bench.redlock();
    const locks = [await redlock.acquire("r", 20_000), await redlock.acquire("s", 20_000)];
    for (const lock of locks) await untilVoted(bench, masters, lock);
    await redlock.quit();
    for (const lock of locks) await untilGone(bench, masters, lock.resources[0]!);
    failed(await time.took(redlock.acquire("r", 2000)), "CLOSED");
  }),

  behaviour("README", "An error event reports a server that failed, and the others go on", async (bench) => {
    const { time, faults, masters } = bench;
    const redlock = await bench.redlock();
    const told = new Set<string>();
    redlock.on("error", ({ node, message }) => {
      assert.ok(message.includes(node), message);
      told.add(node);
    });
    await faults.hang(masters.slice(0, 1));
    const lock = await redlock.acquire("r", 2000);
    await Promise.all(lock.attempts);
    assert.equal(lock.state, "held");
    assert.equal(told.size, 1);
    await faults.hang(masters.slice(1, 2));
    await lock.extend(2000);
    await Promise.all(lock.attempts);
    assert.equal(told.size, 2);
    await faults.resume(masters.slice(0, 2));
    await time.until("it is back", () => isConnected(redlock));
  }),

  behaviour(
    "README",
    "That a resource is locked is no error event",
    async (bench) => {
      const { time } = bench;
      // A master that answers late is an error event: the machine may be busy.
      const { redlock, lock } = await held(bench, 2000, { nodeTimeout: 900 });
      const other = await bench.redlock({ nodeTimeout: 900, retryCount: 3, retryDelay: 50 });
      const told: unknown[] = [];
      for (const one of [redlock, other]) one.on("error", (error) => told.push(error));
      failed(await time.took(other.acquire("r", 2000)), "RESOURCE_LOCKED");
      await lock.release();
      assert.equal(told.length, 0, `told: ${told.join(", ")}`);
    },
    { masters: 3 },
  ),

  behaviour(
    "README",
    "It locks again when its connections are silent, and new ones work",
    async (bench) => {
      const { time, faults, masters } = bench;
      const redlock = await bench.redlock();
      await faults.silence(redlock, masters.slice(2));
      const { error } = await time.took(redlock.acquire("r", 2000, { waitTimeout: 5000 }));
      assert.equal(error, undefined, String(error));
    },
    { notOn: { virtual: "the simulator has no connection that is silent alone" } },
  ),

  behaviour("README", "A server that is only late is no error event", async (bench) => {
    const { faults, masters, time } = bench;
    const redlock = await bench.redlock({ nodeTimeout: 5000 });
    const told: string[] = [];
    redlock.on("error", ({ message }) => told.push(message));
    await faults.cut(redlock, masters.slice(0, 2), "replies");
    const lock = await redlock.acquire("r", 20_000);
    const { attempts } = await lock.release();
    await time.pass(1000);
    await faults.heal(redlock, masters);
    await Promise.all([...lock.attempts, ...attempts]);
    assert.deepEqual(told, []);
  }),

  behaviour(
    "README",
    "A resource that compares fencing tokens rejects the write of a holder that was paused",
    async (bench) => {
      const { faults, masters } = bench;
      const [paused, next] = [await bench.redlock({ fencing: true }), await bench.redlock({ fencing: true })];
      let written = 0;
      const write = (token: number): boolean => {
        if (token < written) return false;
        written = token;
        return true;
      };
      const first = await paused.acquire("r", 500);
      assert.ok(write(first.fencingToken!), "it holds the lock");
      await faults.cut(paused, masters);
      const second = await next.acquire("r", 500, { waitTimeout: 5000 });
      assert.ok(write(second.fencingToken!), "it holds the lock now");
      assert.equal(write(first.fencingToken!), false);
    },
    { notOn: { "without scripts": "fencing needs scripts" } },
  ),
];
