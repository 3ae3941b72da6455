import * as fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import type { NodeError } from "../errors.ts";
import type { Guard, Push } from "../protocol/node.ts";
import { maxUnanswered } from "../protocol/shared-reads.ts";
import { claimScript, guardedClaimScript, guardedReleaseScript } from "../scripts.generated.ts";
import { ask, Gate, type TestClaim } from "../virtual-time.test.ts";
import type { Connection } from "./connection.ts";
import { RedisNode } from "./redis-node.ts";

// PROTOCOL 2.7.

const terms = "60000,4711,0,1,1700000000000,0,0";
const guard: Guard = {
  terms: () => terms,
  refused: () => {},
  extendedInQuarantine: () => {},
};

function shown(push: Push): string {
  const message = push.is === "timed" ? push.vote : push;
  return message.is === "grant" ? message.token : `wake ${message.token}`;
}

class ReplyError extends Error {
  override name = "ReplyError";
}

/** A connection whose replies a test writes; what its commands do to a real server is tested on one. */
class ScriptedConnection implements Connection {
  readonly name = "host:1";
  readonly client = {};
  readonly sent: unknown[][] = [];
  replies: unknown[];
  isReady = true;
  session = 0;
  notReadyReason = "ECONNREFUSED";
  /** The first connection, while it is being made. */
  first: Promise<void> | undefined;

  constructor(...replies: unknown[]) {
    this.replies = replies;
  }

  connectFirst(): Promise<void> | undefined {
    return this.first;
  }

  /** The first connection is still to be made; returns how it comes to stand, or to fail. */
  connecting(): (stands: boolean) => void {
    this.isReady = false;
    const gate = new Gate();
    this.first = gate.opened;
    return (stands) => {
      this.isReady = stands;
      this.first = undefined;
      gate.open();
    };
  }

  send(command: string, args: readonly (string | number)[]): Promise<unknown> {
    this.sent.push([command, ...args]);
    const reply = this.replies.shift();
    return reply instanceof Error ? Promise.reject(reply) : Promise.resolve(reply);
  }

  isErrorReply(error: unknown): error is Error {
    return error instanceof ReplyError;
  }

  subscribe?: NonNullable<Connection["subscribe"]>;

  onReady(): () => void {
    return () => {};
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  disconnect(): void {}
}

function noScript(): Error {
  return new ReplyError("NOSCRIPT No matching script. Please use EVAL.");
}

function isYes(reply: unknown): boolean {
  return typeof reply === "number";
}

/** However long the test takes. */
const standstill = { monotonic: () => 0, wall: () => 0, setTimer: () => ({ cancel() {}, unref() {} }) };

function nodeWith(...replies: unknown[]) {
  const connection = new ScriptedConnection(...replies);
  // One by one: what gathers behind an unanswered command is tested in send-queue.test.ts.
  return { connection, node: new RedisNode(connection, { groupCommit: false, runtime: standstill }) };
}

const claim: TestClaim = { resources: ["r"], token: "t", ttl: 1000, abandoned: false };
const both: TestClaim = { ...claim, resources: ["a", "b"] };
const abandoned: TestClaim = { ...claim, abandoned: true };

describe("an inspection", () => {
  const holdings = [
    ["held", ["rival", 700], { owner: "rival", remaining: 700 }],
    ["held without expiry", ["rival", -1], { owner: "rival", remaining: Number.POSITIVE_INFINITY }],
    ["free", [null, -2], { owner: undefined, remaining: 0 }],
  ] as const;

  test.each(holdings)("without queues, of a key that is %s, asks a script", async (_, replies, holding) => {
    const connection = new ScriptedConnection([1, ...replies]);
    const node = new RedisNode(connection, { queue: false });
    expect(await ask(node).inspect("r")).toEqual({ is: "state", ...holding, queueLength: 0 });
    expect(connection.sent).toEqual([["EVALSHA", claimScript.sha1, 1, "r", "-", 1, 0]]);
  });

  test("without queues, of a key with the value that the script is asked about", async () => {
    const node = new RedisNode(new ScriptedConnection(700), { queue: false });
    expect(await ask(node).inspect("r")).toEqual({ is: "state", owner: "-", remaining: 700, queueLength: 0 });
  });
});

describe("a queue", () => {
  const entry = { ...claim, token: "w.1", ticket: 17, entryTtl: 300 };

  test("a restart guard checks single votes, extensions and dequeueing", async () => {
    const { node, connection } = nodeWith(1000, [-2, 900], [-1, 1000, "6"], 1, 1);
    const told = vi.fn<() => void>();
    node.watchGuard({ ...guard, extendedInQuarantine: told });
    expect(await ask(node).vote(claim)).toEqual({ is: "yes", remaining: 1000 });
    const repaired = await ask(node).extend({ ...claim, ttl: 900 }, true);
    expect(repaired).toEqual({ is: "yes", remaining: 900, inQuarantine: true });
    expect(told).toHaveBeenCalledTimes(1);
    const fenced = await ask(node).vote({ ...claim, proposal: 8 });
    expect(fenced).toEqual({ is: "yes", remaining: 1000, counter: 6 });
    expect(await ask(node).release(["r"], "t")).toEqual({ is: "done" });
    const guarded = ["EVALSHA", guardedClaimScript.sha1, 1, "r"];
    expect(connection.sent).toEqual([
      [...guarded, "v", "t", 1000, "", terms],
      [...guarded, "p", "t", 900, "", terms],
      [...guarded, "v", "t", 1000, 8, terms],
      ["EVALSHA", guardedReleaseScript.sha1, 1, "r", terms, "t"],
    ]);
  });

  test("what fails is a fault with the master's word, alone and in a batch of one", async () => {
    const wrong = "WRONGTYPE Operation against a key";
    const { node } = nodeWith(new ReplyError(wrong), [[0, wrong]]);
    const fault = { is: "fault", sent: true, error: { reason: "WRONGTYPE" } };
    expect(await ask(node).extend(claim, true)).toMatchObject(fault);
    node.watchGuard(guard);
    expect(await ask(node).enqueue(entry)).toMatchObject(fault);
  });
});

describe("listening", () => {
  type Changed = (isListening: boolean, error?: unknown) => void;

  /** A node that listens, as far as `changed` tells it. */
  function listening() {
    const connection = new ScriptedConnection([1000], [1000], [1000]);
    const subscriptions: Array<{ hear: (message: string) => void; changed: Changed }> = [];
    connection.subscribe = (_channel, hear, changed) => void subscriptions.push({ hear, changed });
    const told: string[] = [];
    const faults: NodeError[] = [];
    const listener = new RedisNode(connection, {
      groupCommit: false,
      onFault: (error) => faults.push(error),
    });
    const known = listener.queue!.listen(
      "inbox",
      (push) => told.push(shown(push)),
      () => told.push("listening"),
    );
    const inboxes = () => connection.sent.map((words) => words.at(-1));
    const enqueue = () => ask(listener).enqueue({ ...claim, token: "w.1", ticket: 1, entryTtl: 1 });
    const { changed: change, hear: publish } = subscriptions[0]!;
    return { listener, known, told, faults, inboxes, enqueue, change, publish };
  }

  test("a channel is named only while the subscription works", async () => {
    const { listener, known, told, inboxes, enqueue, change, publish } = listening();
    expect(listener.queue!.isListening).toBe(false);
    await enqueue();
    change(true);
    await known;
    expect(listener.queue!.isListening).toBe(true);
    await enqueue();
    publish("w.1 - 17");
    publish("wake w.1");
    change(false);
    expect(listener.queue!.isListening).toBe(false);
    await enqueue();
    change(true);
    expect(inboxes()).toEqual(["-", "inbox", "-"]);
    expect(told).toEqual(["listening", "w.1", "wake w.1", "listening", "listening"]);
  });

  test("that is forbidden is reported once, and settles", async () => {
    const { listener, known, faults, change } = listening();
    for (const _ of [1, 2]) change(false, new ReplyError("NOPERM no channel"));
    await known;
    expect(listener.queue!.isListening).toBe(false);
    expect(faults).toMatchObject([{ node: "host:1", reason: "NOPERM" }]);
  });

  test("that the connection cannot do settles, and is no fault", async () => {
    const faults: NodeError[] = [];
    const node = new RedisNode(new ScriptedConnection(), { onFault: (error) => faults.push(error) });
    await node.queue!.listen(
      "inbox",
      () => {},
      () => {},
    );
    expect(node.queue!.isListening).toBe(false);
    expect(faults).toEqual([]);
  });
});

describe("a script that the master does not know", () => {
  test("is sent as text", async () => {
    const { node, connection } = nodeWith(noScript(), 1000);
    expect(await ask(node).extend(claim, true)).toEqual({ is: "yes", remaining: 1000 });
    expect(connection.sent[1]).toEqual(["EVAL", claimScript.source, 1, "r", "t", 1000, 1]);
  });

  test("not for a claim abandoned meanwhile: it would go out behind its rollback", async () => {
    const { node, connection } = nodeWith(noScript(), 1000);
    const given = { ...both, abandoned: false };
    const voting = ask(node).vote(given);
    given.abandoned = true;
    expect(await voting).toMatchObject({ is: "fault", error: { reason: "ABANDONED" } });
    expect(connection.sent).toHaveLength(1);
  });

  test("a release is, in any case", async () => {
    const { node, connection } = nodeWith(noScript(), 1);
    expect(await ask(node).release(["r"], "t")).toEqual({ is: "done" });
    expect(connection.sent[1]![0]).toBe("EVAL");
  });

  test("not over a connection that is not there any more", async () => {
    const { node, connection } = nodeWith(noScript(), 1);
    const releasing = ask(node).release(["r"], "t");
    connection.isReady = false;
    expect(await releasing).toMatchObject({ is: "fault", sent: true, error: { reason: "NOSCRIPT" } });
    expect(connection.sent).toHaveLength(1);
  });

  test("not over the connection that has replaced it, perhaps to another database", async () => {
    const { node, connection } = nodeWith(noScript(), noScript(), 1);
    const releasing = ask(node).release(["r"], "t");
    const calling = ask(node).release(["quorlock:rw:{r}:readers"], "t");
    connection.session += 1;
    expect(await releasing).toMatchObject({ is: "fault", error: { reason: "NOSCRIPT" } });
    expect(await calling).toMatchObject({ is: "fault", error: { reason: "NOSCRIPT" } });
    expect(connection.sent.map(([command]) => command)).toEqual(["EVALSHA", "EVALSHA"]);
  });

  test("that fails as text too is a fault", async () => {
    const { node } = nodeWith(noScript(), new ReplyError("NOPERM no eval"));
    expect(await ask(node).extend(claim, true)).toMatchObject({ is: "fault", error: { reason: "NOPERM" } });
  });
});

test("a master that does not answer is asked once for the lists of each key, and not for any number of them", async () => {
  const { node, connection } = nodeWith();
  connection.send = (...sent) => {
    connection.sent.push(sent);
    return new Promise(() => {});
  };
  const { records } = node;
  for (let count = 0; count < 2; count += 1) void [records.waitersOf("r"), records.readersOf("r")];
  expect(connection.sent.length).toBe(2);
  for (let count = 1; count < maxUnanswered; count += 1)
    void [records.waitersOf(`r${count}`), records.readersOf(`r${count}`)];
  expect(connection.sent.length).toBe(2 * maxUnanswered);
  await expect(records.waitersOf("another")).rejects.toThrow("too many reads");
  await expect(records.readersOf("another")).rejects.toThrow("too many reads");
  expect(connection.sent.length).toBe(2 * maxUnanswered);
});

describe("a first connection", () => {
  test("that becomes ready after the claim was abandoned sends nothing, and answers so", async () => {
    const { node, connection } = nodeWith("OK", 1000);
    const connected = connection.connecting();
    const asked = Promise.all([ask(node).vote(abandoned), ask(node).extend(abandoned, true)]);
    connected(true);
    for (const answer of await asked) {
      expect(answer).toMatchObject({ is: "fault", sent: false, error: { reason: "ABANDONED" } });
    }
    expect(connection.sent).toEqual([]);
  });

  test("still carries the release", async () => {
    const { node, connection } = nodeWith(1);
    const connected = connection.connecting();
    const releasing = ask(node).release(["r"], "t");
    connected(true);
    expect(await releasing).toEqual({ is: "done" });
  });
});

describe("faults", () => {
  test("a connection that breaks after the send leaves it open what happened", async () => {
    const cause = new Error("Connection is closed.");
    const { node } = nodeWith(cause);
    expect(await ask(node).vote(claim)).toMatchObject({
      is: "fault",
      sent: true,
      error: { node: "host:1", reason: "UNREACHABLE", cause },
    });
  });

  test.each([
    ["WRONGTYPE Operation against a key holding the wrong kind of value", "WRONGTYPE"],
    ["NOPERM this user has no permissions", "NOPERM"],
    ["READONLY You can't write against a read only replica.", "READONLY"],
    ["OOM command not allowed when used memory > 'maxmemory'.", "OOM"],
    ["ERR Error running script (call to f_0): @user_script:6: WRONGTYPE Operation against", "WRONGTYPE"],
    ["ERR Error running script (call to f_0): @user_script: 6: -OOM command not allowed", "OOM"],
    ["ERR unknown command", "ERR"],
    ["ERR ACL failure in script: user executing the script can't access the key", "NOPERM"],
    // Inside of a script, in the words of Redis 6.2, of 7.0, of 7.4 and later, and of Valkey 8.1, and of 9.1.
    [
      "ERR Error running script (call to f_0): @user_script:1: @user_script: 1: The user executing the script can't run this command or subcommand",
      "NOPERM",
    ],
    [
      "ERR The user executing the script can't access at least one of the keys mentioned in the command arguments script: 0, on @user_script:1.",
      "NOPERM",
    ],
    [
      "ERR ACL failure in script: User u has no permissions to run the 'info' command script: 0, on @user_script:1.",
      "NOPERM",
    ],
    ["ERR ACL failure in script: No permissions to access a key script: on @user_script:1.", "NOPERM"],
    ["ERR ACL failure in script: No permissions to access a channel", "NOPERM"],
    ["something without a word in front", "ERR"],
  ])("the error reply %j has the reason %s", async (message, reason) => {
    const { node } = nodeWith(new ReplyError(message), new ReplyError(message));
    expect(await ask(node).vote(claim)).toMatchObject({ is: "fault", sent: true, error: { reason } });
    expect(await ask(node).release(["r"], "t")).toMatchObject({ is: "fault", error: { reason } });
  });

  test("a rejection that is no error is one", async () => {
    const connection = new ScriptedConnection();
    connection.send = () => Promise.reject("text");
    const node = new RedisNode(connection);
    expect(await ask(node).vote(claim)).toMatchObject({ is: "fault", error: { reason: "UNREACHABLE" } });
    expect(await ask(node).inspect("r")).toMatchObject({ is: "fault" });
  });

  test("no reply whatever makes an answer reject, and none that is no answer is a yes", async () => {
    const junk = fc.oneof(fc.anything(), fc.array(fc.anything(), { maxLength: 4 }));
    await fc.assert(
      fc.asyncProperty(junk, junk, async (first, second) => {
        fc.pre(first !== "OK" && !(first instanceof Error) && !(second instanceof Error));
        const vote = await ask(nodeWith(first, second).node).vote(claim);
        expect(["no", "fault", first === null && isYes(second) ? "yes" : "fault"]).toContain(vote.is);
        const extension = await ask(nodeWith(first).node).extend(both, true);
        expect(["no", "fault", isYes(first) ? "yes" : "fault"]).toContain(extension.is);
        const release = await ask(nodeWith(first).node).release(["r"], "t");
        expect(release.is).toBe(first === 1 ? "done" : first === 0 ? "missed" : "fault");
        await ask(nodeWith(first, second).node).inspect("r");
      }),
      { numRuns: 150 },
    );
  });

  test("an unexpected reply is reported without quoting a token", async () => {
    const { node } = nodeWith(["secret"], ["secret"]);
    const answer = await ask(node).vote(claim);
    expect(answer).toMatchObject({ error: { reason: "UNEXPECTED_REPLY" } });
    expect(JSON.stringify(answer) + String(answer.is === "fault" && answer.error.message)).not.toContain(
      "secret",
    );
  });
});
