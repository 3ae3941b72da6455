import { describe, expect, test } from "vitest";
import type { Connection } from "./connection.ts";
import type { Answer, Claim, ReleaseAnswer } from "./node.ts";
import { ScriptedNode } from "./scripted-node.ts";
import { batchScript, claimScript, releaseScript } from "./scripts.ts";
import { settle } from "./virtual-time.test.ts";

class ReplyError extends Error {
  override name = "ReplyError";
}

interface Sent {
  readonly words: readonly unknown[];
  readonly reply: (reply: unknown) => void;
  readonly fail: (error: Error) => void;
}

/** Sends nothing, and answers when a test says so. */
class SilentConnection implements Connection {
  readonly name = "host:1";
  readonly client = {};
  readonly sent: Sent[] = [];
  isReady = true;
  obstacle = "ECONNRESET";

  connectFirst(): undefined {}

  send(command: string, args: readonly (string | number)[]): Promise<unknown> {
    return new Promise((reply, fail) => this.sent.push({ words: [command, ...args], reply, fail }));
  }

  isReply(error: unknown): error is Error {
    return error instanceof ReplyError;
  }

  onReady(): () => void {
    return () => {};
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  disconnect(): void {}
}

/** On a Cluster: the slot is the first letter of the key. */
class SlottedConnection extends SilentConnection {
  slotOf(key: string): number {
    return key.charCodeAt(0);
  }
}

function start(connection = new SilentConnection()) {
  const node = new ScriptedNode(connection);
  return { connection, node, commands: () => connection.sent.map(({ words }) => words[0]) };
}

function claimOf(token: string, ...resources: readonly string[]) {
  return { resources, token, ttl: 1000, abandoned: false } satisfies Claim;
}

const yes = { vote: "yes", remaining: 1000 };

/** A vote is in flight, and `next` has gathered behind it. */
function gathered(next: (node: ScriptedNode) => Promise<Answer | ReleaseAnswer>[]) {
  const { connection, node } = start();
  const first = node.vote(claimOf("t0", "r0"));
  const answers = next(node);
  return { connection, node, first, answers };
}

describe("while nothing is in flight", () => {
  test("each is sent at once, alone, as the bare command", async () => {
    const { connection, node } = start();
    const voting = node.vote(claimOf("t", "r"));
    expect(connection.sent[0]!.words).toEqual(["SET", "r", "t", "NX", "PX", 1000]);
    connection.sent[0]!.reply("OK");
    expect(await voting).toEqual(yes);
    void node.release(["r"], ["t"]);
    expect(connection.sent[1]!.words).toEqual(["EVALSHA", releaseScript.sha1, 1, "r", "t"]);
  });
});

describe("while something is in flight", () => {
  test("what comes waits, and goes out together, in order", async () => {
    const { connection, answers } = gathered((node) => [
      node.vote(claimOf("t1", "r1")),
      node.vote(claimOf("t2", "a", "b")),
      node.extend(claimOf("t3", "r3"), true),
      node.extend(claimOf("t4", "r4"), false),
      node.release(["r5", "r6"], ["t5", "t6"]),
    ]);
    expect(connection.sent).toHaveLength(1);
    connection.sent[0]!.reply("OK");
    await settle();
    expect(connection.sent).toHaveLength(2);
    expect(connection.sent[1]!.words).toEqual([
      ...["EVALSHA", batchScript.sha1, 7, "r1", "a", "b", "r3", "r4", "r5", "r6"],
      ...["v1,1000;v2,1000;p1,1000;e1,1000;r2,2;", "t1", "t2", "t3", "t4", "t5", "t6"],
    ]);
    connection.sent[1]!.reply([1000, [2, "rival", 5], 700, [1, null, -2], 2]);
    expect(await Promise.all(answers)).toEqual([
      yes,
      { vote: "no", resource: "b", owner: "rival", remaining: 5 },
      { vote: "yes", remaining: 700 },
      { vote: "no", resource: "r4", owner: undefined, remaining: 0 },
      { vote: "yes" },
    ]);
  });

  test("a single one that waited is sent alone", async () => {
    const { connection } = gathered((node) => [node.vote(claimOf("t1", "r1"))]);
    connection.sent[0]!.reply("OK");
    await settle();
    expect(connection.sent[1]!.words[0]).toBe("SET");
  });

  test("a batch holds 128, and a whole one does not wait", async () => {
    const { connection } = gathered((node) =>
      Array.from({ length: 200 }, (_, index) => node.release([`r${index}`], ["t"])),
    );
    expect(connection.sent.map(({ words }) => words[2])).toEqual(["t0", 128]);
    connection.sent[0]!.reply("OK");
    await settle();
    expect(connection.sent).toHaveLength(2);
    connection.sent[1]!.reply(Array.from({ length: 128 }, () => 1));
    await settle();
    expect(connection.sent[2]!.words[2]).toBe(72);
  });

  test("what was given up makes no batch whole", () => {
    const given = { ...claimOf("t1", "r1"), abandoned: true };
    const { connection } = gathered((node) =>
      Array.from({ length: 500 }, (_, index) => node.vote(index % 2 ? given : claimOf("t", `${index}`))),
    );
    expect(connection.sent.map(({ words }) => words[2])).toEqual(["t0", 128]);
  });

  test("votes and extensions that were given up are taken out, releases never", async () => {
    const voted = { ...claimOf("t1", "r1"), abandoned: false };
    const extended = { ...claimOf("t2", "r2"), abandoned: false };
    const { connection, answers } = gathered((node) => [
      node.vote(voted),
      node.extend(extended, true),
      node.release(["r1"], ["t1"]),
      node.release(["r2"], ["t2"]),
    ]);
    voted.abandoned = true;
    extended.abandoned = true;
    connection.sent[0]!.reply("OK");
    await settle();
    expect(connection.sent[1]!.words.slice(2)).toEqual([2, "r1", "r2", "r1,1;r1,1;", "t1", "t2"]);
    for (const answer of [answers[0], answers[1]]) {
      expect(await answer).toMatchObject({ vote: "none", sent: false, error: { reason: "ABANDONED" } });
    }
  });

  test("the question after a refusal goes out before all that waits", async () => {
    const { connection, first } = gathered((node) => [node.release(["r9"], ["t9"])]);
    connection.sent[0]!.reply(null);
    await settle();
    expect(connection.sent[1]!.words.slice(2)).toEqual([2, "r0", "r9", "e1,1000;r1,1;", "t0", "t9"]);
    connection.sent[1]!.reply([[1, "rival", 40], 1]);
    expect(await first).toMatchObject({ vote: "no", owner: "rival", remaining: 40 });
  });

  test("the question is asked even if the claim was given up meanwhile: it sets nothing", async () => {
    const given = { ...claimOf("t0", "r0"), abandoned: false };
    const { connection, node } = start();
    const voting = node.vote(given);
    given.abandoned = true;
    connection.sent[0]!.reply(null);
    await settle();
    expect(connection.sent[1]!.words).toEqual(["EVALSHA", claimScript.sha1, 1, "r0", "t0", 1000, 0]);
    connection.sent[1]!.reply([1, "rival", 40]);
    expect(await voting).toMatchObject({ vote: "no" });
  });
});

describe("in a batch", () => {
  test("an operation that fails is a fault of its own", async () => {
    const { connection, answers } = gathered((node) => [
      node.vote(claimOf("t1", "r1")),
      node.vote(claimOf("t2", "r2")),
    ]);
    connection.sent[0]!.reply("OK");
    await settle();
    connection.sent[1]!.reply([[0, "WRONGTYPE Operation against a key"], 1000]);
    expect(await answers[0]).toMatchObject({ vote: "none", sent: true, error: { reason: "WRONGTYPE" } });
    expect(await answers[1]).toEqual(yes);
  });

  test.each([["OK"], [null], [[1000]], [{}], [["x", "y"]]])("%j is no answer to two votes", async (reply) => {
    const { connection, answers } = gathered((node) => [
      node.vote(claimOf("t1", "r1")),
      node.vote(claimOf("t2", "r2")),
    ]);
    connection.sent[0]!.reply("OK");
    await settle();
    connection.sent[1]!.reply(reply);
    expect(await answers[1]).toMatchObject({ vote: "none", error: { reason: "UNEXPECTED_REPLY" } });
  });

  test("an error reply is a fault of each", async () => {
    const { connection, answers } = gathered((node) => [
      node.vote(claimOf("t1", "r1")),
      node.release(["r2"], ["t2"]),
    ]);
    connection.sent[0]!.reply("OK");
    await settle();
    connection.sent[1]!.fail(new ReplyError("LOADING Redis is loading the dataset in memory"));
    for (const answer of await Promise.all(answers)) {
      expect(answer).toMatchObject({ vote: "none", sent: true, error: { reason: "LOADING" } });
    }
  });

  test("an unknown script is sent as text", async () => {
    const { connection } = gathered((node) => [node.vote(claimOf("t1", "r1")), node.release(["r2"], ["t2"])]);
    connection.sent[0]!.reply("OK");
    await settle();
    connection.sent[1]!.fail(new ReplyError("NOSCRIPT No matching script."));
    await settle();
    expect(connection.sent[2]!.words.slice(0, 3)).toEqual(["EVAL", batchScript.source, 2]);
  });

  test("an unknown script: what was given up meanwhile is left out", async () => {
    const given = { ...claimOf("t1", "r1"), abandoned: false };
    const { connection, answers } = gathered((node) => [node.vote(given), node.release(["r1"], ["t1"])]);
    connection.sent[0]!.reply("OK");
    await settle();
    given.abandoned = true;
    connection.sent[1]!.fail(new ReplyError("NOSCRIPT No matching script."));
    await settle();
    expect(connection.sent[2]!.words).toEqual(["EVALSHA", releaseScript.sha1, 1, "r1", "t1"]);
    expect(await answers[0]).toMatchObject({ sent: false, error: { reason: "ABANDONED" } });
  });
});

describe("a connection that is lost", () => {
  test("is the end of all that waits: nothing goes out on the next one", async () => {
    const { connection, first, answers } = gathered((node) => [
      node.vote(claimOf("t1", "r1")),
      node.release(["r2"], ["t2"]),
    ]);
    connection.isReady = false;
    connection.sent[0]!.fail(new Error("Connection is closed."));
    expect(await first).toMatchObject({ vote: "none", sent: true, error: { reason: "UNREACHABLE" } });
    for (const answer of await Promise.all(answers)) {
      expect(answer).toMatchObject({ vote: "none", sent: false, error: { reason: "UNREACHABLE" } });
    }
    expect(connection.sent).toHaveLength(1);
  });
});

describe("a master that does not answer", () => {
  test("has 4096 operations to answer at most", async () => {
    const { connection, node } = start();
    for (let count = 0; count < 4096; count += 1) void node.release(["r"], ["t"]);
    const refused = { vote: "none", sent: false, error: { reason: "UNREACHABLE" } };
    expect(await node.release(["r"], ["t"])).toMatchObject(refused);
    connection.sent[0]!.reply(1);
    await settle();
    void node.release(["r"], ["t"]);
    expect(await node.release(["r"], ["t"])).toMatchObject(refused);
  });

  test("is sent no vote that was given up, however many there are", async () => {
    const { connection, node } = start();
    void node.vote(claimOf("t0", "r0"));
    const given = { ...claimOf("t1", "r1"), abandoned: true };
    const votes = Array.from({ length: 5000 }, () => node.vote(given));
    expect(await votes[0]).toMatchObject({ error: { reason: "ABANDONED" } });
    expect(connection.sent).toHaveLength(1);
  });
});

describe("on a Cluster", () => {
  test("only what has the same slot waits for each other", async () => {
    const { connection, node } = start(new SlottedConnection());
    void node.vote(claimOf("t1", "a1"));
    void node.vote(claimOf("t2", "b1"));
    expect(connection.sent).toHaveLength(2);
    void node.vote(claimOf("t3", "a2"));
    void node.release(["a3"], ["t4"]);
    connection.sent[0]!.reply("OK");
    await settle();
    expect(connection.sent[2]!.words.slice(2)).toEqual([2, "a2", "a3", "v1,1000;r1,1;", "t3", "t4"]);
  });
});
