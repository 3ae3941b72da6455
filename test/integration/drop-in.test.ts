import * as ours from "@quorlock/redlock";
import type { Master } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { Fleet, fresh, rejection } from "./fleet/fleet.ts";
import {
  type RedlockModule,
  redlock5,
  type SharedLock,
  type SharedRedlock,
  type SharedSettings,
} from "./redlock-5.ts";

/** Code that was written for redlock 5 has to run with either. */
const modules: Record<string, RedlockModule> = {
  "redlock 5": redlock5,
  quorlock: ours as unknown as RedlockModule,
};

let fleet: Fleet;
const clients: Redis[] = [];

beforeAll(async () => {
  fleet = await Fleet.start(3);
});
afterEach(() => {
  for (const client of clients.splice(0)) client.disconnect();
});
afterAll(() => fleet?.stop());

function clientsOf(masters: readonly Master[] = fleet.masters): Redis[] {
  const opened = masters.map(({ host, port }) => new Redis(port, host));
  clients.push(...opened);
  return opened;
}

/** `settings`: also those that redlock 5 does not know, and does not look at. */
function make(
  module: RedlockModule,
  settings: SharedSettings & Pick<ours.RedlockOptions, "queue"> = {},
  opened: Redis[] = clientsOf(),
): SharedRedlock {
  // redlock 5 knows no time-out of one master. To ours, a busy machine is not to look like a silent one.
  return new module.default(opened, { nodeTimeout: 300, ...settings } as SharedSettings);
}

/** Another client's key, on all masters. */
async function occupied(): Promise<string> {
  const resource = fresh();
  await fleet.occupy(resource);
  return resource;
}

const once = { retryCount: 0 };

describe.each([
  ["redlock 5", "quorlock"],
  ["quorlock", "redlock 5"],
] as const)("a lock of %s", (holds, waits) => {
  const holder = () => make(modules[holds]!);
  const waiter = (settings: SharedSettings = once) => make(modules[waits]!, settings);

  it(`keeps ${waits} out until it is released`, async () => {
    const resource = fresh();
    const lock = await holder().acquire([resource], 20_000);
    await Promise.all(lock.attempts);
    const other = waiter();
    const error = await rejection(other.acquire([resource], 20_000));
    expect(error).toBeInstanceOf(modules[waits]!.ExecutionError);
    expect(await fleet.values(resource)).toEqual(fleet.masters.map(() => lock.value));
    await lock.release();
    const next = await other.acquire([resource], 20_000);
    await next.release();
  });

  it(`keeps ${waits} out until it expires`, async () => {
    const resource = fresh();
    const begun = performance.now();
    await holder().acquire([resource], 400);
    const next = await waiter({ retryCount: -1, retryDelay: 20, retryJitter: 10 }).acquire(
      [resource],
      20_000,
    );
    expect(performance.now() - begun).toBeGreaterThan(398);
    await next.release();
  });

  it("on several resources excludes any that shares one of them", async () => {
    const [a, b, c] = [fresh(), fresh(), fresh()] as const;
    const lock = await holder().acquire([a, b], 20_000);
    const other = waiter();
    for (const resources of [[b, c], [c, a], [a], [b], [b, a]]) {
      expect(await rejection(other.acquire(resources, 20_000))).toBeInstanceOf(
        modules[waits]!.ExecutionError,
      );
    }
    await fleet.untilGone(c);
    const apart = await other.acquire([c], 20_000);
    await apart.release();
    await lock.release();
    const next = await other.acquire([b, a], 20_000);
    await next.release();
  });

  it(`is not released, extended or shortened by ${waits}`, async () => {
    const resource = fresh();
    const other = waiter();
    const theirs = await other.acquire([resource], 20_000);
    await Promise.all(theirs.attempts);
    await fleet.free(resource);
    const lock = await holder().acquire([resource], 20_000);
    await Promise.all(lock.attempts);
    await theirs.release().catch(() => {});
    await theirs.extend(1000).catch(() => {});
    expect(await fleet.values(resource)).toEqual(fleet.masters.map(() => lock.value));
    for (const left of await fleet.lifetimes(resource)) expect(left).toBeGreaterThan(15_000);
    await lock.release();
  });

  it("is kept while it is extended", async () => {
    const resource = fresh();
    const rival = waiter();
    const value = await holder().using([resource], 900, { automaticExtensionThreshold: 500 }, async () => {
      const end = performance.now() + 1300;
      let refused = 0;
      while (performance.now() < end) {
        await rejection(rival.acquire([resource], 900));
        refused += 1;
      }
      return refused;
    });
    expect(value).toBeGreaterThan(5);
  });
});

describe("a mixed fleet", () => {
  it.each([1, 2])(
    "never holds the same at the same time, with %i resources each",
    async (count) => {
      const resources = Array.from({ length: 3 }, () => fresh());
      const inside = new Map<string, number>();
      const overlaps: string[] = [];
      const passed: Record<string, number> = {};
      const worker = async (name: string, index: number): Promise<void> => {
        const redlock = make(modules[name]!, { retryCount: 3, retryDelay: 8, retryJitter: 7 });
        for (let round = 0; round < 8; round += 1) {
          // Any of them, or any two neighbours.
          const first = (index + round) % 3;
          const chosen = Array.from({ length: count }, (_, next) => resources[(first + next) % 3]!);
          const lock = await acquireAtLast(redlock, chosen);
          for (const resource of chosen) {
            if (inside.has(resource)) overlaps.push(`${name} in ${resource}`);
            inside.set(resource, index);
          }
          await fleet.admins[round % 3]!.ping();
          for (const resource of chosen) inside.delete(resource);
          await lock.release();
          passed[name] = (passed[name] ?? 0) + 1;
        }
      };
      await Promise.all(
        Object.keys(modules).flatMap((name, kind) =>
          [0, 1, 2].map((index) => worker(name, kind * 3 + index)),
        ),
      );
      expect(overlaps).toEqual([]);
      expect(passed).toEqual({ "redlock 5": 24, quorlock: 24 });
    },
    60_000,
  );
});

/**
 * redlock 5 takes back what it has won of a split vote only when it gives up: without end of retries, three of
 * them with a master each would block each other for a ttl, again and again. So it has to give up often.
 */
async function acquireAtLast(redlock: SharedRedlock, resources: string[]): Promise<SharedLock> {
  for (;;) {
    try {
      return await redlock.acquire(resources, 10_000);
    } catch (error) {
      if (!(error instanceof redlock5.ExecutionError || error instanceof ours.ExecutionError)) throw error;
    }
  }
}

// The examples in the README of redlock 5, run with either library.
describe.each(Object.entries(modules))("the README's examples, with %s:", (_, module) => {
  it("usage: an auto-extending lock on two resources", async () => {
    const redlock = make(module, {
      driftFactor: 0.01,
      retryCount: 10,
      retryDelay: 200,
      retryJitter: 200,
      automaticExtensionThreshold: 500,
    });
    const [senderId, recipientId] = [fresh("sender"), fresh("recipient")];
    const sent = await redlock.using([senderId, recipientId], 5000, async (signal) => {
      await something(senderId, recipientId);
      if (signal.aborted) {
        throw signal.error;
      }
      return "sent";
    });
    expect(sent).toBe("sent");
    await fleet.untilGone(senderId);
    await fleet.untilGone(recipientId);
  });

  it("acquire, extend into the same variable, release", async () => {
    const redlock = make(module);
    const resource = fresh();
    let lock = await redlock.acquire([resource], 5000);
    const { value } = lock;
    try {
      await something(resource);
      lock = await lock.extend(20_000);
      await Promise.all(lock.attempts);
      expect(lock.expiration).toBeGreaterThan(Date.now() + 15_000);
      expect(lock.value).toBe(value);
      expect(await fleet.values(resource)).toEqual(fleet.masters.map(() => value));
    } finally {
      await lock.release();
    }
    await fleet.untilGone(resource);
    expect(lock.expiration).toBe(0);
  });

  it("the methods of the Redlock itself do the same", async () => {
    const redlock = make(module);
    const resource = fresh();
    let lock = await redlock.acquire([resource], 5000, { retryCount: 1 });
    expect(lock.resources).toEqual([resource]);
    await Promise.all(lock.attempts);
    lock = await redlock.extend(lock, 10_000, { retryCount: 1 });
    const { attempts } = await redlock.release(lock, { retryCount: 1 });
    expect((await Promise.all(attempts)).at(-1)!.votesFor.size).toBe(3);
  });

  it("signal.aborted, then throw signal.error", async () => {
    const redlock = make(module, { automaticExtensionThreshold: 100, retryCount: 0 });
    const resource = fresh();
    let ran = false;
    const error = await rejection(
      redlock.using([resource], 600, async (signal) => {
        ran = true;
        await fleet.occupy(resource);
        for (;;) {
          await something(resource);
          if (signal.aborted) throw signal.error;
        }
      }),
    );
    expect(ran).toBe(true);
    expect(error).toBeInstanceOf(module.ExecutionError);
    await fleet.free(resource);
  });

  it("error handling: contention is no error, a fault is", async () => {
    const redlock = make(module, { retryCount: 0 });
    const logged: Error[] = [];
    redlock.on("error", (error) => {
      // Ignore cases where a resource is explicitly marked as locked on a client.
      if (error instanceof module.ResourceLockedError) {
        return;
      }
      logged.push(error);
    });
    const resource = await occupied();
    await rejection(redlock.acquire([resource], 5000));
    expect(logged).toEqual([]);
    await fleet.free(resource);
    const [admin] = fleet.admins;
    await admin!.config("SET", "maxmemory", "1");
    try {
      const lock = await redlock.acquire([resource], 5000).catch(() => undefined);
      await Promise.all(lock?.attempts ?? []);
      await lock?.release().catch(() => {});
    } finally {
      await admin!.config("SET", "maxmemory", "0");
    }
    await fleet.free(resource);
    expect(logged.map(({ message }) => message).join()).toContain("OOM");
  });

  it("an error without a listener throws nothing", async () => {
    const redlock = make(module, once);
    const resource = await occupied();
    expect(await rejection(redlock.acquire([resource], 5000))).toBeInstanceOf(module.ExecutionError);
    await fleet.free(resource);
  });

  it("settings of one call: attempts with votes for and against", async () => {
    const opened = clientsOf();
    // Without the queue: who stands there does not ask again, and all its waiting is one attempt.
    const redlock = make(module, { retryCount: 10, retryDelay: 5000, queue: false }, opened);
    const warmUp = await redlock.acquire([fresh()], 20_000);
    await Promise.all(warmUp.attempts);
    const resource = fresh();
    await fleet.occupy(resource, fleet.masters.slice(0, 2));
    const error = await rejection(
      redlock.acquire([resource], 5000, { retryCount: 2, retryDelay: 5, retryJitter: 0 }),
    );
    expect(error).toBeInstanceOf(module.ExecutionError);
    const attempts = await Promise.all((error as InstanceType<RedlockModule["ExecutionError"]>).attempts);
    expect(attempts).toHaveLength(3);
    for (const { membershipSize, quorumSize, votesFor, votesAgainst } of attempts) {
      expect({ membershipSize, quorumSize }).toEqual({ membershipSize: 3, quorumSize: 2 });
      expect(votesFor.size + votesAgainst.size).toBe(3);
      for (const client of opened.slice(0, 2)) {
        expect(votesAgainst.get(client)).toBeInstanceOf(module.ResourceLockedError);
      }
    }
    expect([...attempts[0]!.votesFor].map((client) => opened.indexOf(client as Redis))).toEqual([2]);
    await fleet.free(resource);
  });

  it("attempts of a lock: it is there when the votes are in", async () => {
    const lock = await make(module).acquire([fresh()], 5000);
    const [stats] = await Promise.all(lock.attempts);
    expect(stats!.votesFor.size).toBe(3);
    expect(stats!.votesAgainst.size).toBe(0);
    await lock.release();
  });

  it("the token is 32 hexadecimal characters, the expiration a time of the wall clock", async () => {
    const lock = await make(module).acquire([fresh()], 5000);
    // (Ours has the number of a round behind it.)
    expect(lock.value).toMatch(/^[0-9a-f]{32}(\.1)?$/);
    expect(lock.expiration).toBeGreaterThan(Date.now() + 4000);
    expect(lock.expiration).toBeLessThanOrEqual(Date.now() + 5000);
    await lock.release();
  });

  it("what a routine returns and throws comes out of using", async () => {
    const redlock = make(module);
    expect(await redlock.using([fresh()], 5000, once, async () => ({ a: 1 }))).toEqual({ a: 1 });
    const failing = redlock.using([fresh()], 5000, async () => {
      throw new RangeError("mine");
    });
    expect(await rejection(failing)).toMatchObject({ name: "RangeError", message: "mine" });
  });

  it("quit quits the clients", async () => {
    const opened = clientsOf();
    const redlock = new module.default(opened);
    await (await redlock.acquire([fresh()], 5000)).release();
    const ended = opened.map((client) => new Promise<void>((resolve) => client.once("end", resolve)));
    await redlock.quit();
    await Promise.all(ended);
  });
});

async function something(...resources: string[]): Promise<void> {
  for (const resource of resources) await fleet.admins[0]!.get(resource);
}
