import { ExecutionError, type Lock } from "@quorlock/redlock";
import { type Master, startProxy } from "@quorlock/testbed";
import { Redis, type RedisOptions } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { until } from "../../contract/until.ts";
import { Fleet, fresh, type Opened, type OpenOptions, rejection, timed } from "../fleet/fleet.ts";
import { itWithIoredis } from "../fleet/library.ts";

// PROTOCOL 1.10.

/** Masters that forget nothing: a key that survives a crash has to be taken away afterwards. */
let fleet: Fleet;
const down = new Map<Master, "killed" | "hung">();

beforeAll(async () => {
  fleet = await Fleet.start(5, { persistence: "aof-always" });
});
afterEach(async () => {
  fleet.closeAll();
  await comeBack([...down.keys()]);
});
afterAll(() => fleet?.stop());

async function goDown(how: "killed" | "hung", masters: readonly Master[]): Promise<void> {
  for (const master of masters) {
    down.set(master, how);
    await (how === "killed" ? master.kill() : master.hang());
  }
}

async function comeBack(masters: readonly Master[]): Promise<void> {
  for (const master of masters) {
    await (down.get(master) === "killed" ? master.restart() : master.resume());
    down.delete(master);
    await until("the admin client is connected again", () => fleet.admin(master).status === "ready");
  }
}

const ttl = 30_000;
/** Far above what a round takes on a busy machine, far below {@link ttl}. */
const nodeTimeout = 300;
/** The time a busy machine may add to a time-out, ms. */
const slack = 600;

/** Connected everywhere, and the masters know the scripts. */
function openReady(count: number, options: OpenOptions = {}): Promise<Opened> {
  return fleet.openWarm({ on: fleet.masters.slice(0, count), nodeTimeout, ...options });
}

async function seenBy(lock: Lock): Promise<number> {
  return (await Promise.all(lock.attempts)).at(-1)!.votesFor.size;
}

const reasonOf = { killed: "UNREACHABLE", hung: "TIMEOUT" } as const;

describe.each([
  { how: "killed", count: 3 },
  { how: "hung", count: 3 },
  { how: "killed", count: 5 },
  { how: "hung", count: 5 },
] as const)("a minority of $count masters is $how", ({ how, count }) => {
  const minority = () => fleet.masters.slice(count - Math.floor(count / 2), count);
  const names = () => minority().map(({ host, port }) => `${host}:${port}`);

  it("every call works without waiting for them, and errors name the master and the reason", async () => {
    const { redlock, errors, clients } = await openReady(count);
    await goDown(how, minority());
    const resource = fresh();
    const { result: lock, net } = await timed(() => redlock.acquire(resource, ttl));
    expect(net).toBeLessThan(nodeTimeout);
    expect(lock.remaining()).toBeGreaterThan(ttl * 0.9);
    const [stats] = await Promise.all(lock.attempts);
    expect(stats!.votesFor.size).toBe(count - minority().length);
    for (const client of clients.slice(count - minority().length)) {
      expect(stats!.votesAgainst.get(client)).toMatchObject({ code: "NODE", reason: reasonOf[how] });
    }
    expect(new Set(errors.map(({ node }) => node))).toEqual(new Set(names()));
    expect(new Set(errors.map(({ reason }) => reason))).toEqual(new Set([reasonOf[how]]));

    const extended = await timed(() => lock.extend(2 * ttl));
    expect(extended.net).toBeLessThan(nodeTimeout);
    expect(lock.remaining()).toBeGreaterThan(2 * ttl * 0.9);
    const verified = await timed(() => lock.verify());
    expect(verified.result).toBe(true);
    expect(verified.net).toBeLessThan(nodeTimeout);
    expect(await redlock.tryAcquire(resource, ttl)).toBeNull();
    const released = await timed(() => lock.release());
    expect(released.result.outcome).toBe("released");
    expect(released.net).toBeLessThan(nodeTimeout);
    expect(await redlock.using(resource, ttl, () => "done")).toBe("done");
  });

  it("inspect returns the reason for each unreachable master", async () => {
    const { redlock } = await openReady(count);
    await goDown(how, minority());
    const { result, net } = await timed(() => redlock.inspect(fresh()));
    expect(net).toBeLessThan(nodeTimeout + slack);
    const away = result.filter(({ unreachable }) => unreachable);
    expect(away.map(({ node }) => node)).toEqual(names());
    expect(away.map(({ unreachable }) => unreachable!.reason)).toEqual(names().map(() => reasonOf[how]));
  });

  it("when they are back they vote again, and nothing is left on them", async () => {
    const { redlock } = await openReady(count);
    await goDown(how, minority());
    const resource = fresh();
    const lock = await redlock.acquire(resource, ttl);
    await lock.release();
    await comeBack(minority());
    await fleet.untilGone(resource);
    await until("all of them vote", async () => {
      const again = await redlock.acquire(resource, ttl);
      const votes = await seenBy(again);
      await again.release();
      return votes === count;
    });
  });
});

describe.each([
  { how: "killed", count: 1, away: 1 },
  { how: "killed", count: 2, away: 1 },
  { how: "hung", count: 2, away: 1 },
  { how: "killed", count: 3, away: 2 },
  { how: "hung", count: 3, away: 2 },
  { how: "killed", count: 5, away: 3 },
  { how: "hung", count: 5, away: 5 },
] as const)("$away of $count masters are $how", ({ how, count, away }) => {
  const majority = () => fleet.masters.slice(0, away);
  const rest = () => fleet.masters.slice(away, count);

  const expectNoQuorum = async (what: string, call: Promise<unknown>): Promise<void> => {
    const { result: error, net } = await timed(() => rejection(call));
    // The round, and what it set is taken back.
    expect(net, what).toBeLessThan(2 * nodeTimeout + slack);
    expect(error, what).toBeInstanceOf(ExecutionError);
    expect(error, what).toMatchObject({ code: "NO_QUORUM" });
    const { message, attempts } = error as ExecutionError;
    for (const { host, port } of majority()) {
      expect(message, what).toContain(`${host}:${port}: ${reasonOf[how]}`);
    }
    const against = (await Promise.all(attempts)).at(-1)!.votesAgainst;
    const reasons = [...against.values()].map((vote) => "reason" in vote && vote.reason);
    expect(reasons, what).toEqual(majority().map(() => reasonOf[how]));
  };

  it("every call settles in time, and the error names the silent masters", async () => {
    const { redlock } = await openReady(count);
    const held = await redlock.acquire(fresh(), ttl);
    await goDown(how, majority());
    const resources = [fresh(), fresh(), fresh()] as const;
    const calls: Record<string, Promise<unknown>> = {
      acquire: redlock.acquire(resources[0], ttl, { retryCount: 0 }),
      tryAcquire: redlock.tryAcquire(resources[1], ttl),
      using: redlock.using(resources[2], ttl, { retryCount: 0 }, () => "not reached"),
      extend: redlock.extend(held, ttl, { retryCount: 0 }),
      verify: held.verify(),
    };
    await Promise.all(Object.entries(calls).map(([what, call]) => expectNoQuorum(what, call)));
    expect(held.state).toBe("unknown");
    expect(held.remaining()).toBeGreaterThan(0);
    for (const resource of resources) await fleet.untilGone(resource, rest());
    const { result, net } = await timed(() => held.release());
    expect(result.outcome).toBe("partial");
    expect(net).toBeLessThan(nodeTimeout + slack);
  });

  it("locks again when they are back, and nothing is left of what failed", async () => {
    const { redlock } = await openReady(count);
    const held = await redlock.acquire(fresh(), ttl);
    await Promise.all(held.attempts);
    await goDown(how, majority());
    const resource = fresh();
    await rejection(redlock.acquire(resource, ttl, { retryCount: 0 }));
    expect((await held.release()).outcome).toBe("partial");
    await comeBack(majority());
    await fleet.untilGone(resource);
    await fleet.untilGone(held.resources[0]!);
    await until("a lock is granted by all", async () => {
      const lock = await redlock.tryAcquire(resource, ttl).catch(() => null);
      const votes = lock ? await seenBy(lock) : 0;
      await lock?.release();
      return votes === count;
    });
  });
});

itWithIoredis("an end without an event")(
  "a client that is disconnected between two attempts to connect takes our connection with it",
  async () => {
    let retryDelay = 50;
    const { redlock, clients } = fleet.open({
      on: fleet.masters.slice(0, 1),
      client: { retryStrategy: () => retryDelay },
    });
    await (await redlock.acquire(fresh(), ttl)).release();
    const [client] = clients as [Redis];
    const [admin] = fleet.admins as [Redis];
    const connections = async () =>
      String(await admin.call("CLIENT", "LIST", "TYPE", "normal"))
        .trim()
        .split("\n").length;
    let count = 0;
    const isAlone = async (): Promise<boolean> => {
      count = await connections();
      return count === 3;
    };
    await until(() => `those of earlier tests are closed, and not ${count}: ${client.status}`, isAlone);
    retryDelay = 60_000;
    await admin.call("CLIENT", "KILL", "ID", await client.client("ID"));
    await until("it waits for its next attempt", () => client.status === "reconnecting");
    client.disconnect();
    await until("the admin's connection is the only one", async () => (await connections()) === 1);
  },
);

itWithIoredis("an end without an event")(
  "a client that was disconnected between two attempts to connect serves no lock before its user connects it again",
  async () => {
    await using proxy = await startProxy(fleet.masters[0]!);
    await proxy.refuse();
    const ours: Redis[] = [];
    class Watched extends Redis {
      override duplicate(options?: Partial<RedisOptions>): Redis {
        const duplicate = super.duplicate(options);
        ours.push(duplicate);
        return duplicate;
      }
    }
    const { redlock, clients } = fleet.open({
      on: [proxy],
      client: { retryStrategy: () => 20 },
      Client: Watched,
      retryCount: 0,
      nodeTimeout: 8000,
    });
    const [client] = clients as [Redis];
    client.once("reconnecting", () => client.disconnect());
    await until("ours has ended with it", () => ours[0]?.status === "end");
    expect(client.status).toBe("reconnecting");
    await proxy.accept();
    expect(await rejection(redlock.acquire(fresh(), ttl))).toMatchObject({ code: "NO_QUORUM" });
    expect(proxy.counters.accepted).toBe(0);
    await client.connect();
    await (await redlock.acquire(fresh(), ttl)).release();
  },
);

describe("restarts", () => {
  it("a client that is opened while a majority is away locks once they are there", async () => {
    await goDown("killed", fleet.masters.slice(0, 2));
    const { redlock } = fleet.open({ on: fleet.masters.slice(0, 3), nodeTimeout });
    const { result: error, net } = await timed(() =>
      rejection(redlock.acquire(fresh(), ttl, { retryCount: 0 })),
    );
    expect(error).toMatchObject({ code: "NO_QUORUM" });
    expect(net).toBeLessThan(2 * nodeTimeout + slack);
    await comeBack(fleet.masters.slice(0, 2));
    const lock = await redlock.acquire(fresh(), ttl, { retryCount: -1, retryDelay: 20 });
    expect(lock.state).toBe("held");
  });
});

const mistaken = (): never => {
  throw new Error("a mistake in the application");
};

describe("options of a client that serve badly", () => {
  it("a retryStrategy that throws ends no process, and the next call connects again", async () => {
    await using proxy = await startProxy(fleet.masters[0]!);
    const { redlock } = fleet.open({ on: [proxy], client: { lazyConnect: true, retryStrategy: mistaken } });
    await (await redlock.acquire(fresh(), ttl)).release();
    proxy.reset();
    await proxy.when(({ connections }) => connections === 0);
    await until("it votes", async () => (await redlock.inspect("anything"))[0]?.unreachable === undefined);
    expect(proxy.counters.accepted).toBeGreaterThan(1);
  });

  it("a connectTimeout longer than any timer is not none", async () => {
    await using proxy = await startProxy(fleet.masters[0]!);
    proxy.hold("requests");
    const client = { lazyConnect: true, connectTimeout: 2 ** 31 };
    const { redlock } = fleet.open({ on: [proxy], client, nodeTimeout: 10_000, retryCount: 0 });
    const acquiring = redlock.acquire(fresh(), ttl);
    await proxy.when(({ requests }) => requests.held > 0);
    const begun = performance.now();
    await until("it has waited", () => performance.now() - begun > 200);
    proxy.release("requests");
    await (await acquiring).release();
  });
});
