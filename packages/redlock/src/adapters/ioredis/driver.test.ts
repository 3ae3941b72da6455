import { inspect } from "node:util";
import { Cluster, Redis } from "ioredis";
import { Cluster as Cluster5, Redis as Redis5, ReplyError } from "ioredis-5";
import { afterEach, describe, expect, test } from "vitest";
import type { ExecutionError } from "../../errors.ts";
import { Redlock } from "../../redlock.ts";
import { newConnection } from "../client-libraries.ts";
import { NotSent } from "../link.ts";
import { IoredisDriver } from "./driver.ts";

// PROTOCOL 2.2.

// The parts that need no server; the rest is tested on real masters.

const open: Array<{ disconnect(): void }> = [];

function opened<C extends { disconnect(): void; on(event: "error", listener: () => void): unknown }>(
  client: C,
): C {
  client.on("error", () => {});
  open.push(client);
  return client;
}

afterEach(() => {
  for (const client of open.splice(0)) client.disconnect();
});

const lazy = { lazyConnect: true, host: "127.0.0.1", port: 1 };
const ttl = 60_000;
/** A busy machine may need more than the default time to learn that a connection is refused. */
const patient = { retryCount: 0, nodeTimeout: ttl / 4 };

// To the compiler the classes of one version will do: what differs in their types is not used here.
const version5 = [Redis5, Cluster5] as unknown as [typeof Redis, typeof Cluster];

describe.each([
  ["6", Redis, Cluster],
  ["5", ...version5],
] as const)("with ioredis %s", (_, AnyRedis, AnyCluster) => {
  test.each([
    [0, 50],
    [Number.NaN, 50],
    [200, 200],
    // Node fires a timer with a longer delay at once.
    [Number.POSITIVE_INFINITY, 2 ** 31 - 1],
    [null, undefined],
  ])("a retryStrategy that returns %s makes no storm of connections", (returned, delay) => {
    const client = new AnyRedis({ ...lazy, retryStrategy: () => returned });
    const cluster = new AnyCluster([lazy], { lazyConnect: true, clusterRetryStrategy: () => returned });
    for (const each of [client, cluster]) {
      expect(new IoredisDriver(each).delayAfter(1, new Error("lost"))).toBe(delay);
    }
  });

  test("a connection is named by its address", () => {
    const names = [
      new AnyRedis({ ...lazy, port: 7001 }),
      new AnyRedis({ lazyConnect: true, path: "/run/redis.sock" }),
      new AnyRedis({ lazyConnect: true, sentinels: [{ host: "127.0.0.1", port: 1 }], name: "main" }),
      new AnyCluster([{ host: "10.0.0.1", port: 7003 }], { lazyConnect: true }),
      ...["redis://me:secret@10.0.0.1:7004", "//[::1]:7005/0", 7006].map(
        (node) => new AnyCluster([node], { lazyConnect: true }),
      ),
    ].map((client) => newConnection(opened(client)).name);
    const group = expect.stringContaining("main");
    const clusters = ["10.0.0.1:7003", "10.0.0.1:7004", "[::1]:7005", "7006"].map((at) => `cluster at ${at}`);
    expect(names).toEqual(["127.0.0.1:7001", "/run/redis.sock", group, ...clusters]);
  });

  test.each([
    ["redis://10.0.0.1:7004?password=secret&username=me", "10.0.0.1:7004"],
    ["10.0.0.1:7004?password=secret", "10.0.0.1:7004"],
    ["redis://10.0.0.1:7004?password=at@secret", "an unusual address"],
    ["redis://:sl/secret@10.0.0.1:7004", "an unusual address"],
    ["redis://:secret@10.0.0.1:7004#secret", "10.0.0.1:7004"],
  ])("the name of a Cluster at %s has no password", (url, address) => {
    const { name } = newConnection(opened(new AnyCluster([url], { lazyConnect: true })));
    expect(name).toBe(`cluster at ${address}`);
  });

  test("a URL with a scheme that ioredis does not know shows no password, in the name and in errors", async () => {
    const client = opened(new AnyRedis("redis+tls://me:secret@10.0.0.1:7004", { lazyConnect: true }));
    const redlock = new Redlock([client], patient);
    const error = (await redlock.acquire("r", ttl).catch((reason: unknown) => reason)) as ExecutionError;
    const [attempt] = await Promise.all(error.attempts);
    const faults = [...attempt!.votesAgainst.values()].map((fault) => inspect(fault));
    const texts = [error.stack, inspect(error.cause), ...faults];
    expect(texts.join()).toContain("10.0.0.1:7004: UNREACHABLE");
    expect(texts.join()).not.toContain("secret");
  });

  test("a client that refuses connections is an unreachable master, and the user's stays as it is", async () => {
    const client = opened(new AnyRedis(lazy));
    const redlock = new Redlock([client], patient);
    await expect(redlock.acquire("r", ttl)).rejects.toThrow("127.0.0.1:1: UNREACHABLE");
    expect(client.status).toBe("wait");
    await redlock.quit();
    expect(client.status).toBe("end");
  });

  test("a Cluster cannot lock resources of different slots together, and the slot counts with the prefix", () => {
    const nodes = [{ host: "127.0.0.1", port: 1 }];
    const cluster = (keyPrefix = "") => newConnection(opened(new AnyCluster(nodes, { ...lazy, keyPrefix })));
    expect(cluster().refuses(["a", "b"])).toContain("hash tag");
    expect(cluster().refuses(["{42}:a", "{42}:b"])).toBeUndefined();
    expect(cluster("{app}:").refuses(["a", "b"])).toBeUndefined();
    expect(newConnection(opened(new AnyRedis(lazy))).refuses(["a", "b"])).toBeUndefined();
  });

  test("a command makes no connection, on none it is not sent", async () => {
    const made: Array<{ readonly status: string }> = [];
    class Watched extends AnyRedis {
      override duplicate(...options: Parameters<Redis["duplicate"]>): Redis {
        const duplicate = super.duplicate(...options);
        made.push(duplicate);
        return duplicate;
      }
    }
    const client = opened(new Watched(lazy));
    const connection = newConnection(client);
    await expect(connection.send("DISCARD", [])).rejects.toThrow(NotSent);
    expect(() => connection.deliver?.({ command: "DISCARD", args: [] }, () => {})).toThrow(NotSent);
    client.emit("select", 1);
    await expect(connection.send("DISCARD", [])).rejects.toThrow(NotSent);
    expect(made.map(({ status }) => status)).toEqual(["end"]);
  });

  test("only what the master itself said is a reply", () => {
    const connection = newConnection(opened(new AnyRedis(lazy)));
    // As a minifier leaves the class.
    const Minified = class e extends Error {};
    const command = { name: "set", args: [] };
    const replies = [
      new ReplyError("NOSCRIPT No matching script"),
      new Minified("NOSCRIPT"),
      Object.assign(new Minified("anything at all"), { command }),
    ];
    expect(replies.filter((error) => !connection.isErrorReply(error))).toEqual([]);
    const others = [
      new Error("lost"),
      new Error("connect ETIMEDOUT"),
      Object.assign(new Minified("Command aborted due to connection close"), { command }),
      new NotSent("READONLY as a reason"),
      Object.assign(new Error("ECONNRESET by peer"), { code: "ECONNRESET" }),
      "NOSCRIPT text",
    ];
    expect(others.filter((error) => connection.isErrorReply(error))).toEqual([]);
  });
});
