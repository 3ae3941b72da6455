import { startProxy } from "@quorlock/testbed";
import { Redis, type RedisOptions } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { until } from "../../contract/until.ts";
import { Fleet, fresh, rejection } from "../fleet/fleet.ts";
import { itWithIoredis } from "../fleet/library.ts";

let fleet: Fleet;

beforeAll(async () => {
  fleet = await Fleet.start(1);
});
afterEach(() => fleet.closeAll());
afterAll(() => fleet?.stop());

const ttl = 30_000;

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
      // In that time a connection would be dialed again.
      retryCount: 3,
      nodeTimeout: 8000,
    });
    const [client] = clients as [Redis];
    let isDisconnected = false;
    client.once("reconnecting", () => {
      client.disconnect();
      isDisconnected = true;
    });
    const haveEnded = (): boolean => ours.every(({ status }) => status === "end");
    await until("it is disconnected, and each of ours has ended", () => isDisconnected && haveEnded());
    expect(client.status).toBe("reconnecting");
    await proxy.accept();
    expect(await rejection(redlock.acquire(fresh(), ttl))).toMatchObject({ code: "NO_QUORUM" });
    expect(proxy.counters.accepted).toBe(0);
    await client.connect();
    await (await redlock.acquire(fresh(), ttl)).release();
  },
);

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
