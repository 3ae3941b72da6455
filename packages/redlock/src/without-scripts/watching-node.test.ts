import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { Connection } from "../redis/connection.ts";
import { ask, type TestClaim } from "../virtual-time.test.ts";
import { CommandQueue } from "./command-queue.ts";
import { WatchingNode } from "./watching-node.ts";

class ReplyError extends Error {
  override name = "ReplyError";
}

/** A connection that a test answers; what its commands do to a real server is tested on one. */
class TestConnection implements Connection {
  readonly name = "host:1";
  readonly client = {};
  isReady = true;
  isOpen?: boolean;
  session = 0;
  notReadyReason = "ECONNREFUSED";
  first: Promise<void> | undefined;
  readonly #sent: string[] = [];
  readonly #unanswered: Array<{ resolve: (reply: unknown) => void; reject: (error: Error) => void }> = [];

  connectFirst(): Promise<void> | undefined {
    return this.first;
  }

  send(command: string, args: readonly (string | number)[]): Promise<unknown> {
    this.#sent.push([command, ...args].join(" "));
    return new Promise((resolve, reject) => this.#unanswered.push({ resolve, reject }));
  }

  /** The commands sent since the last call. */
  get sent(): string[] {
    return this.#sent.splice(0);
  }

  /** The replies to what has been unanswered for longest. */
  async answer(...replies: unknown[]): Promise<void> {
    for (const reply of replies) {
      const { resolve, reject } = this.#unanswered.shift()!;
      if (reply instanceof Error) reject(reply);
      else resolve(reply);
    }
    await turn();
  }

  isErrorReply(error: unknown): error is Error {
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

function opened() {
  const connection = new TestConnection();
  let now = 0;
  const pass = (duration: number): void => {
    now += duration;
  };
  return {
    connection,
    node: new WatchingNode(connection, new CommandQueue(connection, { monotonic: () => now })),
    pass,
  };
}

const reads = (key: string) => [`WATCH ${key}`, `GET ${key}`, `PTTL ${key}`, "MULTI"];
/** The replies to {@link reads}. */
const found = (owner: string | null, left: number) => ["OK", owner, left, "OK"];
const free = found(null, -2);

const claim: TestClaim = { resources: ["r"], token: "t", ttl: 1000, abandoned: false };
const both: TestClaim = { ...claim, resources: ["a", "b"] };

/** A plain extension of "r", which the master has found to be as told. */
async function extension(owner: string, left: number, token = "t", ttl = 1000) {
  const { node, connection } = opened();
  const answer = ask(node).extend({ ...claim, token, ttl }, false);
  await connection.answer(...found(owner, left));
  return { connection, answer, command: connection.sent[4] };
}

describe("a claim", () => {
  test("is not written to a master that refuses MULTI", async () => {
    const { node, connection } = opened();
    const vote = ask(node).vote(both);
    await connection.answer("OK", null, -2, null, -2, new ReplyError("NOPERM no 'multi'"));
    expect(await vote).toMatchObject({ is: "fault", sent: true, error: { reason: "NOPERM" } });
    expect(connection.sent.filter((command) => command.startsWith("SET"))).toEqual([]);
  });

  test("is made again where a key was touched, and not for ever", async () => {
    const { node, connection } = opened();
    const vote = ask(node).vote(both);
    const repair = ask(node).extend(both, true);
    for (let transaction = 0; transaction < 10; transaction += 1) {
      await connection.answer("OK", null, -2, null, -2, "OK");
      await connection.answer("QUEUED", "QUEUED", null);
    }
    expect(await vote).toEqual({ is: "no", resource: "a", owner: undefined, remaining: 0 });
    expect(await repair).toMatchObject({ is: "fault", sent: false, error: { reason: "CONTENDED" } });
    expect(connection.sent.filter((command) => command === "EXEC")).toHaveLength(10);
  });

  test("that is abandoned between reading and writing writes nothing", async () => {
    const { node, connection } = opened();
    const given = { ...claim, abandoned: false };
    const repair = ask(node).extend(given, true);
    given.abandoned = true;
    await connection.answer(...free);
    expect(await repair).toMatchObject({ is: "fault", error: { reason: "ABANDONED" } });
    expect(connection.sent).toEqual([...reads("r"), "DISCARD"]);
  });

  test("reports the reason of the refused command, not that of EXEC", async () => {
    const { node, connection } = opened();
    const repair = ask(node).extend(claim, true);
    await connection.answer(...free);
    await connection.answer(new ReplyError("OOM command not allowed"), new ReplyError("EXECABORT discarded"));
    expect(await repair).toMatchObject({ is: "fault", sent: true, error: { reason: "OOM" } });
    // An EXEC that fails may leave the transaction open.
    expect(connection.sent.at(-1)).toBe("DISCARD");
  });
});

describe("an extension of a key", () => {
  test.each([
    ["is given the new token", 400, "SET r w.2 XX PX 1000"],
    ["and is not shortened by that", 4000, "SET r w.2 XX PX 4000"],
    ["and keeps living for ever", -1, "SET r w.2 XX"],
  ])("that holds the token of an earlier round %s", async (_, left, expected) => {
    expect((await extension("w.1", left, "w.2")).command).toBe(expected);
  });

  test.each([
    ["w.2", "w.1"],
    ["v.1", "w.2"],
    ["w", "w.2"],
    ["t", "t.1"],
  ])("that holds %s is refused for %s", async (holder, token) => {
    const { answer } = await extension(holder, 400, token);
    const owner = holder.replace(/^./, "*");
    expect(await answer).toEqual({ is: "no", resource: "r", owner, remaining: 400 });
  });
});

describe("a release", () => {
  test("looks again where a key was touched, and is owed in the end", async () => {
    const { node, connection } = opened();
    const release = ask(node).release(["r"], "t");
    for (let transaction = 0; transaction < 5; transaction += 1) {
      await connection.answer(...found("t", 1000));
      await connection.answer("QUEUED", null);
    }
    expect(await release).toMatchObject({ is: "fault", error: { reason: "CONTENDED" } });
  });
});

describe("a connection that another one takes the place of", () => {
  const unsent = { is: "fault", sent: false, error: { reason: "UNREACHABLE" } };

  test("while it reads, it alone is sent the rest of the transaction, or no master is", async () => {
    const { node, connection } = opened();
    const repair = ask(node).extend(claim, true);
    connection.session += 1;
    await connection.answer(...free);
    expect(await repair).toMatchObject(unsent);
    expect(connection.sent).toEqual(reads("r"));
  });

  test("after EXEC was executed in part, begins no other transaction, and what was written is known", async () => {
    const { node, connection } = opened();
    const extension = ask(node).extend(claim, false);
    await connection.answer(...found("t", 400));
    connection.session += 1;
    await connection.answer("QUEUED", [0]);
    expect(await extension).toMatchObject({ ...unsent, sent: true });
    expect(connection.sent).toEqual([...reads("r"), "PEXPIRE r 1000", "EXEC"]);
  });

  test("while a vote is under way, is not asked whose the key is", async () => {
    const { node, connection } = opened();
    const vote = ask(node).vote(claim);
    connection.session += 1;
    await connection.answer(null);
    expect(await vote).toMatchObject({ ...unsent, sent: true });
    expect(connection.sent).toEqual(["SET r t NX PX 1000"]);
  });
});

describe("a master that does not answer", () => {
  test("has at most 4096 requests, without abandoned ones: the others are given up", async () => {
    const { node } = opened();
    void ask(node).release(["r"], "t");
    const given = { ...claim, abandoned: false };
    const votes = Array.from({ length: 4096 }, () => ask(node).vote(given));
    const refused = { sent: false, error: { reason: "ABANDONED" } };
    expect(await ask(node).vote(claim)).toMatchObject(refused);
    given.abandoned = true;
    void ask(node).vote(claim);
    expect(await votes[0]).toMatchObject(refused);
  });

  test("is asked to release and to extend however much waits, for as long as it may be merely slow", async () => {
    const { node, connection, pass } = opened();
    const asked = Array.from({ length: 4096 }, () => ask(node).release(["r"], "t"));
    asked.push(ask(node).release(["r"], "t"));
    const extending = ask(node).extend(claim, true);
    pass(2501);
    expect(await ask(node).release(["r"], "t")).toMatchObject({
      sent: false,
      error: { reason: "UNREACHABLE" },
    });
    await connection.answer(...free);
    expect(await asked[0]).toEqual({ is: "missed" });
    void ask(node).release(["r"], "t");
    // The extension has overtaken the releases.
    await connection.answer("OK", ...found("t", 500));
    await connection.answer("QUEUED", [1]);
    expect(await extending).toMatchObject({ is: "yes" });
  });
});

describe("nonsense", () => {
  test.each([
    ["for WATCH", ["QUEUED", null, -2, "OK"]],
    ["for GET", ["OK", 7, 1, "OK"]],
    ["for PTTL", ["OK", "t", "soon", "OK"]],
    ["for MULTI", ["OK", null, -2, "QUEUED"]],
  ])("%s is a fault", async (_, replies) => {
    const { node, connection } = opened();
    const repair = ask(node).extend(claim, true);
    await connection.answer(...replies);
    expect(await repair).toMatchObject({ is: "fault", error: { reason: "UNEXPECTED_REPLY" } });
    expect(connection.sent.at(-1)).toBe("DISCARD");
  });

  test.each([["OK"], [[]], [["OK", "OK"]]])("%j for EXEC is a fault", async (reply) => {
    const { node, connection } = opened();
    const repair = ask(node).extend(claim, true);
    await connection.answer(...free);
    await connection.answer("QUEUED", reply);
    expect(await repair).toMatchObject({ is: "fault", error: { reason: "UNEXPECTED_REPLY" } });
  });

  test("for SET and for an inspection is a fault", async () => {
    const { node, connection } = opened();
    const answers = Promise.all([ask(node).vote(claim), ask(node).inspect("r")]);
    await connection.answer("QUEUED", "QUEUED", "QUEUED");
    for (const answer of await answers) {
      expect(answer).toMatchObject({ is: "fault", error: { reason: "UNEXPECTED_REPLY" } });
    }
  });
});

test("what waits while it is being found out where the connection leads goes on once that is known", async () => {
  const { node, connection } = opened();
  let found!: () => void;
  const first = ask(node).vote(both);
  expect(connection.sent).toEqual(["WATCH a b", "GET a", "PTTL a", "GET b", "PTTL b", "MULTI"]);
  connection.isReady = false;
  connection.isOpen = true;
  connection.first = new Promise((resolve) => {
    found = resolve;
  });
  const later = ask(node).release(["r"], "t");
  await connection.answer("OK", null, -2, null, -2, "OK");
  expect(connection.sent).toEqual(["SET a t PX 1000", "SET b t PX 1000", "EXEC"]);
  await connection.answer("QUEUED", "QUEUED", ["OK", "OK"]);
  expect(await first).toMatchObject({ is: "yes" });
  expect(connection.sent).toEqual([]);
  connection.isReady = true;
  found();
  await turn();
  expect(connection.sent).toEqual(reads("r"));
  await connection.answer(...free);
  expect(await later).toEqual({ is: "missed" });
});
