import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { questionOf } from "../protocol/question.ts";
import type { Connection } from "../redis/connection.ts";
import { ask, type TestClaim } from "../virtual-time.test.ts";
import { isHeldBy, MasterWithoutScripts, writeFor } from "./transaction-wire.ts";

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
  readonly notReadyReason = "ECONNREFUSED";
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
    await turn();
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

const runtime = {
  monotonic: () => 0,
  wall: () => 0,
  setTimer: () => ({ cancel: () => {}, unref: () => {} }),
};

function opened() {
  const connection = new TestConnection();
  return { connection, node: new MasterWithoutScripts(connection, { runtime }) };
}

const reads = (key: string) => [`WATCH ${key}`, `GET ${key}`, `PTTL ${key}`, "MULTI"];
/** The replies to {@link reads}. */
const found = (owner: string | null, left: number) => ["OK", owner, left, "OK"];
const free = found(null, -2);

const claim: TestClaim = { resources: ["r"], token: "t", ttl: 1000, abandoned: false };
const both: TestClaim = { ...claim, resources: ["a", "b"] };

describe("a claim", () => {
  test("is not written to a master that refuses MULTI", async () => {
    const { node, connection } = opened();
    const vote = ask(node).vote(both);
    await connection.answer("OK", null, -2, null, -2, new ReplyError("NOPERM no 'multi'"));
    expect(await vote).toMatchObject({ is: "fault", sent: true, error: { reason: "NOPERM" } });
    expect(connection.sent).not.toContainEqual(expect.stringMatching(/^SET/));
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
    await turn();
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

test.each([
  ["w.1", 400, "SET r w.2 XX PX 1000"],
  ["w.1", 4000, "SET r w.2 XX PX 4000"],
  ["w.1", Number.POSITIVE_INFINITY, "SET r w.2 XX"],
  ["w.2", 400, "PEXPIRE r 1000"],
  ["w.2", 4000, "PTTL r"],
])("an extension of %s with %i ms to w.2 does not shorten it: %s", (owner, remaining, expected) => {
  const question = questionOf({ verb: "extend", keys: ["r"], words: ["w.2"], ttl: 1000 });
  expect(writeFor("r", { owner, remaining }, question, false).flat().join(" ")).toBe(expected);
});

test("a token is held, and those of earlier rounds of the same waiter", () => {
  const holders = ["w.2", "w.1", "w.3", "v.1", "w", "w.2.1", undefined];
  const held = holders.map((owner) => isHeldBy({ owner, remaining: 400 }, "w.2"));
  expect(held).toEqual([true, true, false, false, false, false, false]);
  expect(isHeldBy({ owner: "t", remaining: 400 }, "t.1")).toBe(false);
});

test("a release looks again where a key was touched, and is owed in the end", async () => {
  const { node, connection } = opened();
  const release = ask(node).release(["r"], "t");
  for (let transaction = 0; transaction < 5; transaction += 1) {
    await connection.answer(...found("t", 1000));
    await connection.answer("QUEUED", null);
  }
  expect(await release).toMatchObject({ is: "fault", error: { reason: "CONTENDED" } });
});

describe("a connection that another one takes the place of", () => {
  const unsent = { is: "fault", sent: false, error: { reason: "UNREACHABLE" } };

  test("while it reads, it alone is sent the rest of the transaction, or no master is", async () => {
    const { node, connection } = opened();
    const repair = ask(node).extend(claim, true);
    await turn();
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
    await turn();
    connection.session += 1;
    await connection.answer(null);
    expect(await vote).toMatchObject({ ...unsent, sent: true });
    expect(connection.sent).toEqual(["SET r t NX PX 1000"]);
  });
});

test("what keeps a lease goes before what waits, and releases before requests", async () => {
  const { node, connection } = opened();
  void ask(node).release(["first"], "t");
  await turn();
  void ask(node).vote({ ...both, token: "v" });
  void ask(node).release(["second"], "t");
  void ask(node).extend(claim, true);
  // Each is discarded, as another has the key.
  for (let count = 0; count < 3; count += 1) {
    await connection.answer(...found("other", 5));
    await connection.answer("OK");
  }
  expect(connection.sent.filter((command) => command.startsWith("WATCH"))).toEqual(
    ["first", "r", "second", "a b"].map((keys) => `WATCH ${keys}`),
  );
});

test("a connection is closed once the releases that wait have had their turn", async () => {
  const { node, connection } = opened();
  void ask(node).release(["a"], "t");
  const last = ask(node).release(["b"], "t");
  // (Two Redlocks may use it.)
  const closing = Promise.all([node.close(), node.close()]).then(() => "closed");
  for (const _ of ["a", "b"]) {
    expect(await Promise.race([closing, turn("open")])).toBe("open");
    await connection.answer(...found("t", 1000));
    await connection.answer("QUEUED", [1]);
  }
  expect(await Promise.all([last, closing])).toEqual([{ is: "done" }, "closed"]);
});

test("what locks need is tried between transactions, not within one", async () => {
  const { node, connection } = opened();
  void ask(node).extend(claim, true);
  await turn();
  const replies = node.tryNeeds("probe");
  await turn();
  expect(connection.sent).toEqual(reads("r"));
  await connection.answer(...found("other", 5));
  const bare = connection.sent.filter((command) => !command.includes(" "));
  expect(bare).toEqual(["DISCARD", "MULTI", "EXEC", "DISCARD"]);
  await connection.answer("OK", new ReplyError("NOPERM"), ...Array.from({ length: 8 }, () => "OK"));
  expect((await replies).map(({ status }) => status).slice(0, 2)).toEqual(["rejected", "fulfilled"]);
});

describe("nonsense", () => {
  const unexpected = { is: "fault", error: { reason: "UNEXPECTED_REPLY" } };

  test.each([
    ["for WATCH", ["QUEUED", null, -2, "OK"], []],
    ["for GET", ["OK", 7, 1, "OK"], []],
    ["for PTTL", ["OK", "t", "soon", "OK"], []],
    ["for MULTI", ["OK", null, -2, "QUEUED"], []],
    ["for EXEC", free, ["QUEUED", "OK"]],
    ["for EXEC, without an answer", free, ["QUEUED", []]],
    ["for EXEC, with two", free, ["QUEUED", ["OK", "OK"]]],
  ])("%s is a fault", async (_, ...replies) => {
    const { node, connection } = opened();
    const repair = ask(node).extend(claim, true);
    for (const some of replies) await connection.answer(...some);
    expect(await repair).toMatchObject(unexpected);
    if (replies[1]?.length === 0) expect(connection.sent.at(-1)).toBe("DISCARD");
  });

  test("for SET and for an inspection is a fault", async () => {
    const { node, connection } = opened();
    const answers = Promise.all([ask(node).vote(claim), ask(node).inspect("r")]);
    await connection.answer("QUEUED", "QUEUED", "QUEUED");
    expect(await answers).toMatchObject([unexpected, unexpected]);
  });
});

test("what waits while it is being found out where the connection leads goes on once that is known", async () => {
  const { node, connection } = opened();
  let known!: () => void;
  const first = ask(node).vote(both);
  await turn();
  expect(connection.sent).toEqual(["WATCH a b", "GET a", "PTTL a", "GET b", "PTTL b", "MULTI"]);
  connection.isReady = false;
  connection.isOpen = true;
  connection.first = new Promise((resolve) => {
    known = resolve;
  });
  const later = ask(node).release(["r"], "t");
  await connection.answer("OK", null, -2, null, -2, "OK");
  expect(connection.sent).toEqual(["SET a t PX 1000", "SET b t PX 1000", "EXEC"]);
  await connection.answer("QUEUED", "QUEUED", ["OK", "OK"]);
  expect(await first).toMatchObject({ is: "yes" });
  expect(connection.sent).toEqual([]);
  connection.isReady = true;
  known();
  await turn();
  expect(connection.sent).toEqual(reads("r"));
  await connection.answer(...free);
  expect(await later).toEqual({ is: "missed" });
});
