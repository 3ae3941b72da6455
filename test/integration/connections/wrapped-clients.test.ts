import { Redlock } from "@quorlock/redlock";
import { Cluster, Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis-5";
import { createClient } from "redis";
import { describe, expect, onTestFinished, test } from "vitest";
import { documented } from "../../contract/documented.ts";
import { Fleet, fresh } from "../fleet/fleet.ts";

// PROTOCOL 2.2. A wrapped client locks, or is refused with the reason. A rejection that nothing catches fails the run.

const fleet = Fleet.forTests(3);
const ttl = 30_000;

type Method = (...args: unknown[]) => unknown;

/** A Proxy whose methods are those that `method` makes of each of the client's. */
function wrapped<C extends object>(client: () => C, method: (target: C, method: Method) => Method): C {
  return new Proxy({} as C, {
    get(_, name) {
      const target = client();
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? method(target, value as Method) : value;
    },
    set: (_, name, value) => Reflect.set(client(), name, value),
    getPrototypeOf: () => Object.getPrototypeOf(client()) as object,
  });
}

const bound = (target: object, method: Method): Method => method.bind(target);

const mostTraced = 500;
let tracedCalls = 0;

/** Its commands and those of its duplicates pass here, at once or in a microtask. */
function traced<C extends object>(client: C, isLate: boolean): C {
  return new Proxy(client, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (name === "duplicate") return (...args: unknown[]) => traced(value.apply(target, args), isLate);
      if (name !== "sendCommand") return value.bind(target);
      return (...args: unknown[]) => {
        tracedCalls += 1;
        if (tracedCalls > mostTraced) throw new Error("it sends for ever");
        const send = () => (target as { sendCommand: Method }).sendCommand(...args);
        return isLate ? Promise.resolve().then(send) : send();
      };
    },
  });
}

/** Applications and their tools do this to a client. */
const wrappers: Readonly<Record<string, <C extends object>(make: () => C) => C>> = {
  "binds its methods": (make) => {
    const client = make();
    return wrapped(() => client, bound);
  },
  "makes it when it is used": (make) => {
    let client: ReturnType<typeof make> | undefined;
    return wrapped(() => (client ??= make()), bound);
  },
  "measures its calls": (make) => {
    const client = make();
    return wrapped(
      () => client,
      (target, method) =>
        (...args) => {
          const begun = performance.now();
          const result = Reflect.apply(method, target, args);
          expect(performance.now()).toBeGreaterThanOrEqual(begun);
          return result;
        },
    );
  },
  "traces its commands": (make) => traced(make(), false),
  "traces its commands before it sends them": (make) => traced(make(), true),
};

function ended<C extends { on(event: "error", listener: () => void): unknown }>(
  client: C,
  end: (client: C) => void,
): C {
  client.on("error", () => {});
  onTestFinished(() => end(client));
  return client;
}

const ofIoredis = (Client: typeof Redis) => (port: number) =>
  ended(new Client(port), (client) => client.disconnect());
function ofNodeRedis(port: number) {
  const client = ended(createClient({ socket: { port } }), (one) => one.isOpen && one.destroy());
  client.connect().catch(() => {});
  return client;
}

const reason = "which locks need: pass the client itself, and no wrapper of it";

/** The constructor of a Redlock throws it, or an event tells it. */
async function refusalOf(client: object): Promise<string> {
  try {
    const redlock = new Redlock([client as Redis], { retryCount: 0, nodeTimeout: 5000 });
    const told = new Promise<Error>((resolve) => redlock.once("error", resolve));
    await expect(redlock.acquire(fresh(), ttl)).rejects.toThrow("No quorum");
    await redlock.quit({ keepClients: true });
    return (await told).message;
  } catch (error) {
    return (error as Error).message;
  }
}

describe.each([
  ["ioredis 6", ofIoredis(Redis)],
  ["ioredis 5", ofIoredis(Redis5)],
  ["node-redis", ofNodeRedis],
] as const)("a client of %s", (_, clientAt) => {
  test.each(Object.entries(wrappers))("locks through a Proxy that %s", async (__, wrap) => {
    const clients = fleet.masters.map(({ port }) => wrap(() => clientAt(port) as Redis));
    const redlock = new Redlock(clients, { nodeTimeout: 5000 });
    const told: Error[] = [];
    tracedCalls = 0;
    redlock.on("error", (error) => told.push(error));
    const resource = fresh();
    const lock = await redlock.acquire(resource, ttl);
    await lock.extend(ttl);
    const waits = redlock.acquire(resource, ttl);
    expect((await lock.release()).outcome).toBe("released");
    expect((await (await waits).release()).outcome).toBe("released");
    await redlock.quit({ keepClients: true });
    expect(told).toEqual([]);
    expect(tracedCalls).toBeLessThan(mostTraced);
  });

  test("is refused through one that makes promises of all results", async () => {
    const client = clientAt(fleet.masters[0]!.port) as object;
    const promising = wrapped(
      () => client,
      (target, method) =>
        async (...args) =>
          Reflect.apply(method, target, args),
    );
    expect(await refusalOf(promising)).toContain(reason);
  });

  test("is refused through one that shows none of its members", () => {
    const client = clientAt(fleet.masters[0]!.port) as object;
    const strict = documented(client, new Set(["on"]));
    const why =
      /^client 0 is a wrapper that cannot be read \(Error: .+ is not documented\); expected the client itself/;
    expect(() => new Redlock([strict as Redis])).toThrow(why);
  });
});

test("a class around a client, without its options, is refused", async () => {
  const around = { status: "ready", call: () => {}, duplicate: () => {} };
  expect(await refusalOf(around)).toContain("pass the client itself that it was made of");
});

test("nothing is sent on a wrapped client that has not connected", async () => {
  const client = ended(new Redis({ port: 1, lazyConnect: true }), (one) => one.disconnect());
  const made: string[] = [];
  const duplicate = client.duplicate.bind(client);
  client.duplicate = (options) => {
    const one = wrapped(() => its, bound);
    const its = duplicate(options);
    its.on("connecting", () => made.push("dials"));
    return one;
  };
  const redlock = new Redlock([wrapped(() => client, bound)]);
  await Promise.resolve();
  expect([client.status, made]).toEqual(["wait", []]);
  await redlock.quit();
});

describe("a duplicate without the options that were asked for is refused, and ended", () => {
  test("of a Redis", async () => {
    const client = ended(new Redis(fleet.masters[0]!.port), (one) => one.disconnect());
    const made: Redis[] = [];
    const duplicate = client.duplicate.bind(client);
    client.duplicate = () => {
      made.push(duplicate());
      return made.at(-1)!;
    };
    expect(await refusalOf(client)).toContain(`its duplicate() drops the option lazyConnect, ${reason}`);
    await expect.poll(() => made[0]!.status).toBe("end");
  });

  test("of a Cluster", async () => {
    const options = { lazyConnect: true, scaleReads: "slave" as const };
    const cluster = ended(new Cluster([{ host: "127.0.0.1", port: 1 }], options), (one) => one.disconnect());
    const duplicate = cluster.duplicate.bind(cluster);
    cluster.duplicate = (nodes, its) => duplicate(nodes, { ...its, scaleReads: "slave" });
    expect(await refusalOf(cluster)).toContain(`its duplicate() drops the option scaleReads, ${reason}`);
  });

  test("that is none", async () => {
    for (const client of [ofIoredis(Redis)(1), ofNodeRedis(1)]) {
      client.duplicate = () => undefined as never;
      expect(await refusalOf(client)).toContain(reason);
    }
  });

  test("of node-redis", async () => {
    const client = ofNodeRedis(fleet.masters[0]!.port);
    const duplicate = client.duplicate.bind(client);
    client.duplicate = (() => duplicate()) as unknown as typeof client.duplicate;
    expect(await refusalOf(client)).toContain(
      `its duplicate() drops the option disableOfflineQueue, ${reason}`,
    );
  });
});
