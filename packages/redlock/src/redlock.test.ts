import { afterEach, describe, expect, test, vi } from "vitest";
import type { Client } from "./client.ts";
import { ExecutionError, InvalidArgumentError, NodeError } from "./errors.ts";
import type { LockNode } from "./protocol/node.ts";
import { Redlock } from "./redlock.ts";
import { claimScript, releaseScript } from "./scripts.generated.ts";
import type { Runtime } from "./time/runtime.ts";
import { systemRuntime } from "./time/system.ts";

/** A master of which nobody hears. */
function silentNode(): LockNode {
  return {
    name: "master",
    client: {},
    ask: () => expect.unreachable("something is sent"),
    onReady: () => () => {},
    close: () => Promise.resolve(),
    disconnect: () => {},
  };
}

const refuses: LockNode["refuses"] = ([first, second]) => (first === second ? undefined : "not in one slot");

const unreachable: LockNode["ask"] = (_, place, sink) => {
  const error = new NodeError("master", "UNREACHABLE", "no connection");
  sink.answered(place, { is: "fault", error, sent: false });
};

const threeNodes = [silentNode(), silentNode(), silentNode()];

function construct(clients: unknown, ...more: unknown[]): Redlock {
  return new Redlock(clients as Client[], ...(more as []));
}

afterEach(() => {
  vi.unstubAllGlobals();
});

describe("the constructor", () => {
  test.each([
    ["no clients", [[]], "clients must "],
    ["something that is no client", [[{}]], "client 0 is an object; expected a Redis or Cluster of ioredis"],
    ["nothing for a client", [[threeNodes[0], null]], "client 1 is null"],
    ["text for a client", [["redis://localhost"]], "client 0 is a string"],
    ["one client twice", [[threeNodes[0], threeNodes[1], threeNodes[0]]], "each client may be passed once"],
    [
      "a bad setting",
      [threeNodes, { driftFactor: 2 }],
      "driftFactor must be a number from 0 to 0.5, but is 2",
    ],
    [
      "no concurrency",
      [threeNodes, { acquireConcurrency: 0 }],
      "acquireConcurrency must be a whole number, 1 or more, but is 0",
    ],
    [
      "half a place",
      [threeNodes, { acquireConcurrency: 1.5 }],
      "acquireConcurrency must be a whole number, 1 or more, but is 1.5",
    ],
    ["half a logger", [threeNodes, { logger: { info() {}, warn() {} } }], "logger"],
    ["custom scripts", [threeNodes, {}, { acquireScript: "return 1" }], "custom scripts are not supported"],
  ] as const)("refuses %s", (_, args, message) => {
    const attempt = () => construct(...(args as [unknown]));
    expect(attempt).toThrow(InvalidArgumentError);
    expect(attempt).toThrow(message);
  });

  test.each([
    ["no list at all", [undefined]],
    ["a client that is in no list", [threeNodes[0]]],
    ["null for the options", [threeNodes, null]],
    ["null for the scripts", [threeNodes, {}, null]],
    ["something without text for the concurrency", [threeNodes, { acquireConcurrency: Object.create(null) }]],
  ] as const)("refuses %s with an error of ours, or takes it", (_, args) => {
    try {
      construct(...(args as unknown as [unknown]));
    } catch (error) {
      expect(error).toBeInstanceOf(InvalidArgumentError);
    }
  });

  test.each([
    ...["acquireConcurrency", "groupCommit", "queue", "fencing", "reentrant", "restartGuard", "clockWatch"],
    ...["owner", "logger", "runtime", "retryCount", "nodeTimeout", "waitTimeout", "backoff"],
  ])("an option %s that is null counts as absent", (name) => {
    const redlock = construct(threeNodes, { [name]: null });
    expect(redlock.settings).toEqual(construct(threeNodes).settings);
  });

  test("takes any iterable of clients, and an empty scripts argument", () => {
    expect(new Redlock(new Set(threeNodes), {}, { acquireScript: undefined })).toBeInstanceOf(Redlock);
  });

  test("refuses the library's own keys on custom nodes as well", async () => {
    await expect(construct(threeNodes).acquire("quorlock:guard", 5000)).rejects.toThrow(InvalidArgumentError);
  });
});

test("a Redlock shows its scripts, as one of redlock 5 does", () => {
  const { acquireScript, extendScript, releaseScript: shown } = construct(threeNodes).scripts;
  expect(acquireScript).toEqual({ value: claimScript.source, hash: claimScript.sha1 });
  expect(extendScript).toEqual(acquireScript);
  expect(shown).toEqual({ value: releaseScript.source, hash: releaseScript.sha1 });
});

describe("invalid arguments", () => {
  test("of a lock's own methods reject, and the lock does not change", async () => {
    const redlock = construct(threeNodes);
    const lock = redlock.resume({ resources: ["r"], value: "token", ttl: 1000 });
    const calls = [
      lock.extend(0),
      redlock.extend(lock, 1000, { driftFactor: -1 }),
      redlock.release(lock, { driftFactor: -1 }),
      redlock.acquire("r", 1000, (() => {}) as never),
    ];
    for (const call of calls) await expect(call).rejects.toThrow(InvalidArgumentError);
    expect(lock.state).toBe("unknown");
  });

  test("resources that a master cannot lock together are refused, with its reason", async () => {
    const redlock = construct([silentNode(), { ...silentNode(), name: "master-1", refuses }]);
    await expect(redlock.acquire(["a", "b"], 1000)).rejects.toThrow("master-1: not in one slot");
  });
});

test("an error of a listener or of the logger is an uncaught one, and every call settles", async () => {
  const uncaught: unknown[] = [];
  const setTimer: Runtime["setTimer"] = (callback, delay) =>
    systemRuntime.setTimer(() => {
      try {
        callback();
      } catch (error) {
        uncaught.push(error);
      }
    }, delay);
  const runtime: Runtime = Object.assign(Object.create(systemRuntime), { setTimer });
  const fault = new Error("the user's own fault");
  const fail = (): never => {
    throw fault;
  };
  const logger = { info: fail, warn: fail, error: fail };
  const redlock = construct([{ ...silentNode(), ask: unreachable }], { runtime, retryCount: 0, logger });
  redlock.on("error", fail);
  await expect(redlock.acquire("r", 1000)).rejects.toThrow(ExecutionError);
  await expect.poll(() => uncaught).toEqual([fault, fault]);
});

test("the error of a wait that is aborted leads to its caller, and names what it waited for", async () => {
  const redlock = construct([{ ...silentNode(), ask: unreachable }], { retryCount: -1, retryDelay: 5000 });
  const controller = new AbortController();
  async function theCaller(): Promise<void> {
    await redlock.acquire(["a", "b"], 1000, { signal: controller.signal });
  }
  const waiting = theCaller().catch((error: unknown) => error as Error);
  setTimeout(() => controller.abort("enough"), 10);
  const { message, stack, cause } = (await waiting) as Error;
  expect(stack).toContain("theCaller");
  expect([message, cause]).toEqual(['Waiting for the lock on "a", "b" was aborted [ABORTED]', "enough"]);
  await expect(redlock.acquire("r", 1000, { signal: AbortSignal.abort() })).rejects.toThrow(
    'on "r" was aborted',
  );
});
