import { AsyncResource } from "node:async_hooks";
import { type Lock, Redlock, type RedlockOptions } from "@quorlock/redlock";
import { lead } from "@quorlock/redlock/lead";
import { ReadWriteLock } from "@quorlock/redlock/read-write-lock";
import { Semaphore } from "@quorlock/redlock/semaphore";
import { type ClockedMasters, startMastersWithClocks } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../../contract/until.ts";
import { Fleet, fresh } from "../fleet/fleet.ts";

// PROTOCOL 10.7.

// A routine of `using` is inside of its lock wherever its async context leads. Timers, sockets and batches are shared by
// all calls of a process, and were armed by any of them: what is called back from there is not inside of that lock.

const fleet = Fleet.forTests(3);
const ttl = 20_000;

function open(options: RedlockOptions = {}) {
  return fleet.open({ reentrant: true, nodeTimeout: 300, retryDelay: 20, retryJitter: 0, ...options });
}

/** Asks for `resource` while a routine holds it, and must be refused. */
class Intruder {
  readonly #redlock: Redlock;
  readonly #resource: string;
  /** Routines inside at a time. */
  #inside = 0;
  most = 0;
  /** The outcome of each call. */
  readonly calls: ("entered" | "refused")[] = [];

  constructor(redlock: Redlock, resource: string) {
    this.#redlock = redlock;
    this.#resource = resource;
  }

  /** The callbacks that are given to the library. */
  readonly callback = (): void => void this.#ask();

  async #ask(): Promise<void> {
    const ask = this.#redlock.using(this.#resource, ttl, { retryCount: 0 }, () => this.#work());
    await ask.then(
      () => this.calls.push("entered"),
      () => this.calls.push("refused"),
    );
  }

  async #work(): Promise<void> {
    this.#inside += 1;
    this.most = Math.max(this.most, this.#inside);
    await new Promise((resolve) => setImmediate(resolve));
    this.#inside -= 1;
  }

  /** Holds the resource, does `provoke` inside of it, and waits until the callback has been called and answered. */
  async whileHeld(provoke: (lock: Lock) => unknown, redlock: Redlock = this.#redlock): Promise<void> {
    await redlock.using(this.#resource, ttl, async (_, lock) => {
      this.#inside += 1;
      await provoke(lock);
      await until("the callback was called", () => this.calls.length > 0);
      this.#inside -= 1;
    });
    expect([this.calls[0], this.most]).toEqual(["refused", 0]);
  }
}

/** The masters answer every write with an error, so that there is something for `error` to tell. */
async function refuseWrites(isOn: boolean): Promise<void> {
  for (const admin of fleet.admins) await admin.config("SET", "min-replicas-to-write", isOn ? 1 : 0);
}

/** As the queries of query builders: begins when it is awaited. */
function lazy<T>(begin: () => Promise<T>): Promise<T> {
  return new Proxy(Promise.resolve() as Promise<never>, {
    // (It is only awaited: nothing but its `then` is asked for.)
    get:
      () =>
      (...listeners: Parameters<Promise<T>["then"]>) =>
        begin().then(...listeners),
  });
}

/** A lock without extension: one timer serves the deadlines of all locks that are held. */
function doomed(redlock: Redlock): Promise<Lock> {
  return redlock.acquire(fresh("doomed"), 800);
}

describe("called by timers that a routine has armed", () => {
  it("an abort listener of a lock is not inside of that routine's lock", async () => {
    const { redlock } = open();
    const intruder = new Intruder(redlock, fresh());
    await intruder.whileHeld(async () => {
      const lock = await doomed(redlock);
      lock.signal.addEventListener("abort", intruder.callback);
    });
  });

  it("a listener of lost is not", async () => {
    const { redlock } = open();
    const intruder = new Intruder(redlock, fresh());
    redlock.once("lost", intruder.callback);
    await intruder.whileHeld(() => doomed(redlock));
  });

  it("an abort listener of a routine's signal is not, with a signal of the caller's as well", async () => {
    const { redlock } = open();
    const intruder = new Intruder(redlock, fresh());
    const caller = new AbortController();
    const resource = fresh();
    let proceed!: () => void;
    const over = new Promise<void>((resolve) => {
      proceed = resolve;
    });
    const other = redlock.using(resource, 4000, { signal: caller.signal }, async (signal) => {
      signal.addEventListener("abort", intruder.callback);
      await over;
    });
    await intruder.whileHeld(async () => {
      await doomed(redlock);
      await fleet.occupy(resource);
    });
    proceed();
    await other;
    await fleet.free(resource);
  });

  it("a handle that shares a lease is not", async () => {
    const { redlock } = open();
    const intruder = new Intruder(redlock, fresh());
    await intruder.whileHeld(async () => {
      const outer = await doomed(redlock);
      const inner = await redlock.acquire(outer.resources, 800, { parent: outer });
      inner.signal.addEventListener("abort", intruder.callback);
    });
  });

  it("onStop of lead is not", async () => {
    const { redlock } = open();
    const intruder = new Intruder(redlock, fresh());
    const resource = fresh("leader");
    const over = new AbortController();
    let isLeading = false;
    const leading = lead(
      redlock,
      resource,
      4000,
      (signal) => new Promise((resolve) => signal.addEventListener("abort", resolve)),
      {
        signal: over.signal,
        onStart: () => {
          isLeading = true;
        },
        onStop: () => {
          over.abort();
          intruder.callback();
        },
      },
    );
    await until("it leads", () => isLeading);
    await intruder.whileHeld(async () => {
      await doomed(redlock);
      await fleet.occupy(resource);
    });
    await leading;
    await fleet.free(resource);
  });

  it("a listener that a permit's loss calls is not", async () => {
    const { redlock } = open();
    const intruder = new Intruder(redlock, fresh());
    const semaphore = new Semaphore(redlock, fresh("permits"), 2);
    await intruder.whileHeld(async () => {
      const permit = await semaphore.acquire(800);
      permit.signal.addEventListener("abort", intruder.callback);
    });
  });

  it("a listener that the loss of a lock to read calls is not", async () => {
    const { redlock } = open();
    const intruder = new Intruder(redlock, fresh());
    const report = new ReadWriteLock(redlock, fresh("report"));
    redlock.once("lost", intruder.callback);
    await intruder.whileHeld(() => report.read(800));
  });
});

describe("called when a master answers what a routine has sent", () => {
  it("a listener of error is not inside of that routine's lock", async () => {
    const { redlock } = open();
    const intruder = new Intruder(redlock, fresh());
    redlock.once("error", intruder.callback);
    await intruder.whileHeld(async () => {
      await refuseWrites(true);
      await redlock.tryAcquire(fresh(), ttl).catch(() => {});
      await refuseWrites(false);
    });
  });

  it("a listener of lost is not, where a call of another client notices the loss", async () => {
    const { redlock } = open();
    const intruder = new Intruder(redlock, fresh());
    const other = await redlock.acquire(fresh(), ttl);
    redlock.once("lost", intruder.callback);
    await intruder.whileHeld(async () => {
      await fleet.occupy(other.resources[0]!);
      await other.verify();
    });
    await fleet.free(other.resources[0]!);
  });

  it("a listener of another Redlock over the same clients is not", async () => {
    const { redlock, clients } = open();
    const neighbour = new Redlock(clients, { nodeTimeout: 900 });
    const intruder = new Intruder(redlock, fresh());
    neighbour.once("error", intruder.callback);
    await intruder.whileHeld(async () => {
      await refuseWrites(true);
      await neighbour.tryAcquire(fresh(), ttl).catch(() => {});
      await refuseWrites(false);
    });
  });

  it("a listener of another Redlock, whose batch the routine's Redlock has sent, is not", async () => {
    const { redlock, clients } = open();
    const neighbour = new Redlock(clients, { reentrant: true, nodeTimeout: 900 });
    const intruder = new Intruder(redlock, fresh());
    const own = await redlock.acquire(fresh(), ttl);
    const theirs = await neighbour.acquire(fresh(), ttl);
    neighbour.once("error", intruder.callback);
    // Not by the routine, but in the same turn: so one batch carries both.
    const release = AsyncResource.bind(() => theirs.release());
    await intruder.whileHeld(async () => {
      await refuseWrites(true);
      await Promise.all([own.release(), release()]);
      await refuseWrites(false);
    });
  });
});

it("a routine's callback from a connection that was made inside of it is not inside", async () => {
  const { redlock } = open();
  const intruder = new Intruder(redlock, fresh());
  let retries = 0;
  const retryStrategy = () => {
    retries += 1;
    if (retries === 1) intruder.callback();
    return 20;
  };
  const clients = fleet.masters.map(
    ({ host, port }) => new Redis(port, host, { lazyConnect: true, retryStrategy }),
  );
  for (const client of clients) client.on("error", () => {});
  await intruder.whileHeld(async () => {
    const inside = new Redlock(clients, { nodeTimeout: 900 });
    const lock = await inside.acquire(fresh(), ttl);
    await Promise.all(lock.attempts);
    for (const admin of fleet.admins) await admin.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
  });
  for (const client of clients) client.disconnect();
});

it("a backoff does not run inside of the lock whose reply woke it", async () => {
  const { redlock } = open();
  const intruder = new Intruder(redlock, fresh());
  const resource = fresh("foreign");
  await fleet.occupy(resource, fleet.masters, 60_000);
  const ended = new AbortController();
  const backoff = () => {
    if (intruder.calls.length === 0) intruder.callback();
    return 30;
  };
  const waiting = redlock.acquire(resource, ttl, {
    backoff,
    waitTimeout: 60_000,
    signal: ended.signal,
  });
  const watched = waiting.catch(() => {});
  await intruder.whileHeld(async () => {
    while (intruder.calls.length === 0) await (await redlock.acquire(fresh(), ttl)).release();
  });
  ended.abort();
  await watched;
  await fleet.free(resource);
});

describe("a routine's own", () => {
  it("what it returns is awaited inside of its lock, also where it begins only then", async () => {
    const { redlock } = open();
    const resource = fresh();
    const nested = () => redlock.using(resource, ttl, { retryCount: 0 }, () => "inside");
    expect(await redlock.using(resource, ttl, () => lazy(nested))).toBe("inside");
  });

  it("promises of the library are awaited inside of its lock, whichever call settles them", async () => {
    const { redlock } = open();
    const resource = fresh();
    await redlock.using(resource, ttl, async () => {
      const other = await redlock.acquire(fresh(), ttl);
      await other.release();
      const inner = await redlock.acquire(resource, ttl, { retryCount: 0 });
      expect(inner.state).toBe("held");
      await inner.release();
    });
  });
});

describe("the masters' clocks", () => {
  let masters: ClockedMasters;
  beforeAll(async () => {
    masters = await startMastersWithClocks(3, { say: () => {} });
  });
  afterAll(() => masters?.stop());

  it("a listener of clock is not inside of the lock of the routine whose votes tell of a step", async () => {
    const clients = masters.list.map(({ port, host }) => new Redis(port, host));
    const redlock = new Redlock(clients, { reentrant: true, nodeTimeout: 900, clockWatch: true });
    const intruder = new Intruder(redlock, fresh());
    await (await redlock.acquire(fresh(), ttl)).release();
    redlock.once("clock", intruder.callback);
    await intruder.whileHeld(async () => {
      masters.clocks[2]!.step(5000);
      while (intruder.calls.length === 0) await (await redlock.acquire(fresh(), ttl)).release();
    });
    masters.clocks[2]!.step(-5000);
    for (const client of clients) client.disconnect();
  });
});
