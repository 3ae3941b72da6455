import { createClient, createCluster, ErrorReply, SimpleError } from "redis";
import { createClient as createClient5, ErrorReply as ErrorReply5 } from "redis-5";
import { describe, expect, test } from "vitest";
import { InvalidArgumentError } from "../../errors.ts";
import { Redlock } from "../../redlock.ts";
import { connectionOf, isRedisClient, newConnection } from "../client-libraries.ts";
import { Lost, NotSent } from "../link.ts";
import { isErrorReply, retryDelay } from "./link.ts";
import { wordsOf } from "./words.ts";

// PROTOCOL 2.2.

// The parts that need no server; the rest is tested on real masters.

test.each([
  [0, 50],
  [200, 200],
  // Node fires a timer with a longer delay at once.
  [Number.POSITIVE_INFINITY, 2 ** 31 - 1],
  [false, undefined],
] as const)("a reconnectStrategy that returns %s makes no storm of connections", (returned, delay) => {
  expect(retryDelay(() => returned, 0, new Error("lost"))).toBe(delay);
  expect(retryDelay(returned, 0, new Error("lost"))).toBe(delay);
});

/** To the compiler the functions of one version will do: what differs in their types is not used here. */
const version5 = createClient5 as unknown as typeof createClient;
const nowhere = { host: "127.0.0.1", port: 1 };

describe.each([
  ["6", createClient],
  ["5", version5],
] as const)("with node-redis %s", (_, client) => {
  test("a connection is named by its address", () => {
    const names = [
      client(),
      client({ url: "redis://me:secret@10.0.0.1:7001/2" }),
      client({ socket: { host: "10.0.0.1" } }),
      client({ socket: { path: "/run/redis.sock", tls: false } as never }),
    ].map((each) => newConnection(each).name);
    expect(names).toEqual(["localhost:6379", "10.0.0.1:7001", "10.0.0.1:6379", "/run/redis.sock"]);
  });

  test("there is one for each client, however many Redlocks share it", () => {
    const [one, other] = [client(), client()];
    expect([one, other].map(isRedisClient)).toEqual([true, true]);
    expect(connectionOf(one)).toBe(connectionOf(one));
    expect(connectionOf(one)).not.toBe(connectionOf(other));
    expect(connectionOf(one).client).toBe(one);
  });

  test("the database is that of the options, or of the URL", () => {
    const databases = [client(), client({ database: 3 }), client({ url: "redis://localhost/4" })];
    expect(databases.map((each) => newConnection(each).database)).toEqual([0, 3, 4]);
  });

  test("a client that was not connected stays so, and a refused connection is an unreachable master", async () => {
    const unused = client({ socket: nowhere });
    // A busy machine may need more than the default time to learn that a connection is refused.
    const redlock = new Redlock([unused], { retryCount: 0, nodeTimeout: 15_000 });
    await expect(redlock.acquire("r", 60_000)).rejects.toThrow("127.0.0.1:1: UNREACHABLE");
    expect(unused.isOpen).toBe(false);
    await redlock.quit();
    expect(unused.isOpen).toBe(false);
    expect(connectionOf(unused).connectFirst()).toBeUndefined();
  });

  test("a command makes no connection, on none it is not sent", async () => {
    const connection = newConnection(client({ socket: nowhere }));
    await expect(connection.send("DISCARD", [])).rejects.toThrow(NotSent);
    expect(() => connection.deliver?.({ command: "DISCARD", args: [] }, () => {})).toThrow(NotSent);
  });
});

const ofCluster = () => new Redlock([createCluster({ rootNodes: [{ socket: nowhere }] }) as never]);

test("a Cluster is refused with what to pass instead", () => {
  expect(ofCluster).toThrow(InvalidArgumentError);
  expect(ofCluster).toThrow("pass new Cluster() of ioredis at the same addresses");
});

function wordsIn(line: string, prefix: string) {
  const [command = "", ...args] = line.split(" ");
  return wordsOf({ command, args }, prefix);
}

test.each([
  ["SET key value NX PX 10", "SET p:key value NX PX 10"],
  ["WATCH one two", "WATCH p:one p:two"],
  ["EVALSHA digest 2 one two argument", "EVALSHA digest 2 p:one p:two argument"],
  ["EVAL text 0 argument", "EVAL text 0 argument"],
  ["MULTI", "MULTI"],
  ["INFO server", "INFO server"],
])("each key of %s has the prefix", (line, words) => {
  expect(wordsIn(line, "p:").plain.join(" ")).toEqual(words);
  expect(wordsIn(line, "").plain.join(" ")).toBe(line);
  const { plain } = wordsOf({ command: "EVAL", args: ["text", 1, "key"] }, "");
  expect(plain).toEqual(["EVAL", "text", "1", "key"]);
});

test("only what the master itself said is a reply, by whichever copy of the library", () => {
  // As a minifier leaves the class.
  const Minified = class e extends Error {};
  class Other extends ErrorReply {}
  const replies = [ErrorReply, ErrorReply5, SimpleError, Other].map((Type) => new Type("anything at all"));
  replies.push(new Minified("NOSCRIPT No matching script"), new Minified("anything at all"));
  expect(replies.map(isErrorReply)).toEqual(replies.map(() => true));
  const others = [
    new Error("Socket closed unexpectedly"),
    new Minified("The client is closed"),
    new NotSent("READONLY as a reason"),
    new Lost("READONLY as a reason"),
    Object.assign(new Error("ECONNRESET by peer"), { code: "ECONNRESET" }),
    "NOSCRIPT text",
    undefined,
  ];
  expect(others.map(isErrorReply)).toEqual(others.map(() => false));
});
