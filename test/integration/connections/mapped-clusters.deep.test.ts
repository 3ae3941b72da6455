import { type NodeError, Redlock } from "@quorlock/redlock";
import { clusterConfig, formCluster } from "@quorlock/testbed";
import { createCluster } from "redis";
import { createCluster as createCluster5 } from "redis-5";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { until } from "../../contract/until.ts";
import { Fleet, fresh } from "../fleet/fleet.ts";

// Three Clusters of one master each, in their own networks: all of them announce the same address.

const announced = "10.0.0.1:7000";
const fleet = Fleet.forTests(3, {
  config: [...clusterConfig, "--cluster-announce-ip", "10.0.0.1", "--cluster-announce-port", "7000"],
});
const clients: { destroy(): void }[] = [];

beforeAll(() => Promise.all(fleet.admins.map((admin) => formCluster([admin]))));
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
});

const versions = [
  ["6", createCluster],
  ["5", createCluster5],
] as const;

describe.each(versions)("Clusters of node-redis %s behind a nodeAddressMap", (_, create) => {
  function open(port: number, isFunction: boolean): ReturnType<typeof createCluster> {
    const place = { host: "127.0.0.1", port };
    const options: Parameters<typeof createCluster>[0] = {
      rootNodes: [{ socket: place }],
      nodeAddressMap: isFunction
        ? (address) => (address === announced ? place : undefined)
        : { [announced]: place },
    };
    const client = create(options);
    client.on("error", () => {});
    clients.push(client);
    return client;
  }

  it.each([
    ["an object", false],
    ["a function", true],
  ])("are separate masters, whatever they announce: %s", async (__, isFunction) => {
    const all = fleet.masters.map(({ port }) => open(port, isFunction));
    await Promise.all(all.map((client) => client.connect()));
    const redlock = new Redlock(all, { nodeTimeout: 2000, retryCount: 0 });
    const errors: NodeError[] = [];
    redlock.on("error", (error) => errors.push(error));
    const lock = await redlock.acquire(fresh(), 20_000);
    const [stats] = await Promise.all(lock.attempts);
    expect(stats!.votesFor.size).toBe(3);
    await lock.release();
    expect(errors).toEqual([]);
  });

  it("are one if their addresses lead to one", async () => {
    const [first, second] = fleet.masters.map(({ port }) => port);
    const all = [open(first!, false), open(first!, true), open(second!, false)];
    await Promise.all(all.map((client) => client.connect()));
    const redlock = new Redlock(all, { nodeTimeout: 2000, retryCount: 0 });
    const reasons: unknown[] = [];
    redlock.on("error", ({ reason }) => reasons.push(reason));
    await until("it is told", async () => {
      const lock = await redlock.acquire(fresh(), 20_000).catch(() => undefined);
      await lock?.release();
      return reasons.length > 0;
    });
    expect(reasons).toEqual(["SAME_SERVER"]);
  });
});
