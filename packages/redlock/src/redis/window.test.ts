import { describe, expect, test } from "vitest";
import type { Answer } from "../protocol/node.ts";
import { claimScript, releaseAndGrantScript, releaseBatchScript } from "../scripts.generated.ts";
import type { Timer } from "../time/runtime.ts";
import { ask, settle, type TestClaim } from "../virtual-time.test.ts";
import type { Connection } from "./connection.ts";
import { RedisNode, type RedisNodeOptions } from "./redis-node.ts";

// PROTOCOL 12.1, 12.2, 12.7, 12.8.

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
  readonly #listeners: Array<() => void> = [];
  isReady = true;
  isOpen?: boolean;
  session = 0;
  notReadyReason = "ECONNRESET";

  connectFirst(): undefined {}

  send(command: string, args: readonly (string | number)[]): Promise<unknown> {
    return new Promise((reply, fail) => this.sent.push({ words: [command, ...args], reply, fail }));
  }

  isErrorReply(error: unknown): error is Error {
    return error instanceof ReplyError;
  }

  onReady(listener: () => void): () => void {
    this.#listeners.push(listener);
    return () => {};
  }

  /** It was lost, and there is another one. */
  replace(): void {
    this.isReady = true;
    this.session += 1;
    for (const listener of this.#listeners) listener();
  }

  close(): Promise<void> {
    this.isReady = false;
    return Promise.resolve();
  }

  disconnect(): void {
    this.isReady = false;
  }
}

class ClusterConnection extends SilentConnection {
  readonly isCluster = true;
}

/** Passes when a test says so. */
class TestTime {
  now = 0;
  #timers: Array<{ readonly due: number; readonly callback: () => void }> = [];

  monotonic(): number {
    return this.now;
  }

  wall(): number {
    return this.now;
  }

  setTimer(callback: () => void, delay: number): Timer {
    const timer = { due: this.now + delay, callback };
    this.#timers.push(timer);
    const cancel = (): void => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
    return { cancel, unref: () => {} };
  }

  get timers(): number {
    return this.#timers.length;
  }

  pass(duration: number): void {
    this.now += duration;
    const due = this.#timers.filter((timer) => timer.due <= this.now);
    this.#timers = this.#timers.filter((timer) => timer.due > this.now);
    for (const { callback } of due) callback();
  }
}

function start(connection = new SilentConnection(), options: RedisNodeOptions = {}) {
  const time = new TestTime();
  const node = new RedisNode(connection, { runtime: time, ...options });
  return { connection, node, time, sent: () => connection.sent.map(({ words }) => words) };
}

function claimOf(token: string, ...resources: readonly string[]) {
  return { resources, token, ttl: 1000, abandoned: false } satisfies TestClaim;
}

const yes = { is: "yes", remaining: 1000 };
const unreachable = { is: "fault", sent: false, error: { reason: "UNREACHABLE" } };
const givenUp = { is: "fault", sent: false, error: { reason: "ABANDONED" } };

/** Two votes are in flight, a straggler that is never answered and `first`, and `next` waits behind them. */
async function gathered(next: (node: RedisNode) => Promise<Answer>[], connection = new SilentConnection()) {
  const started = start(connection);
  void ask(started.node).vote(claimOf("straggler", "r"));
  await settle();
  connection.sent.shift();
  const first = ask(started.node).vote(claimOf("t0", "r0"));
  await settle();
  const answers = next(started.node);
  await settle();
  return { ...started, first, answers };
}

const oneEach = (count: number): readonly number[] => Array.from({ length: count }, () => 1000);

/** Four votes fill the window of a master, and `next` comes behind them. */
async function crowded(next: (node: RedisNode) => Promise<Answer>[], connection = new SilentConnection()) {
  const started = start(connection, { window: 4 });
  for (let count = 0; count < 4; count += 1)
    void ask(started.node).vote(claimOf(`t${count}`, `full${count}`));
  await settle();
  const answers = next(started.node);
  await settle();
  started.time.pass(1);
  return { ...started, answers };
}

describe("where more is asked than may be in flight", () => {
  test("releases go first when there is room, then requests, each in the order of the calls", async () => {
    const { connection, sent } = await crowded((node) => [
      ask(node).vote(claimOf("v0", "v0")),
      ask(node).release(["r0"], "t"),
      ask(node).enqueue({ ...claimOf("v1.1", "v1"), ticket: 1, entryTtl: 1 }),
      ask(node).release(["r1"], "t"),
    ]);
    expect(sent()).toHaveLength(1);
    await reply(connection, 0, oneEach(4));
    expect(sent()[1]!.slice(2, 8)).toEqual([4, "r0", "r1", "v0", "v1", "2l1,0;v1,1000;q1,1000,1,1;"]);
  });

  test("a release stays behind a vote of its own that waits and is not given up", async () => {
    const { connection, sent } = await crowded((node) => [
      ask(node).vote(claimOf("v0", "v0")),
      ask(node).release(["v0"], "v0"),
      ask(node).release(["r1"], "t"),
    ]);
    await reply(connection, 0, oneEach(4));
    expect(sent()[1]!.slice(2, 7)).toEqual([3, "r1", "v0", "v0", "l1,0;v1,1000;l1,0;"]);
  });

  test("what comes later does not get in before what waits", async () => {
    const { connection, node, sent, time } = await crowded((first) => [
      ask(first).release(["r0"], "t"),
      ask(first).vote(claimOf("v0", "v0")),
      ask(first).vote(claimOf("v1", "v1")),
    ]);
    // In the moment of the answer, before what waits is sent.
    void ask(node).vote(claimOf("v2", "v2"));
    void ask(node).release(["r1"], "t");
    await reply(connection, 0, oneEach(4));
    expect(sent()[1]!.slice(2, 7)).toEqual([4, "r0", "r1", "v0", "v1"]);
    await reply(connection, 1, [1, 1, 1000, 1000]);
    time.pass(1);
    expect(sent()[2]!.slice(0, 3)).toEqual(["SET", "v2", "v2"]);
  });

  test("what waits for room is not sent on the next connection", async () => {
    const { connection, answers, sent } = await crowded((node) => [
      ask(node).vote(claimOf("v", "v")),
      ask(node).release(["r"], "t"),
      ...Array.from({ length: 5 }, (_, index) => ask(node).extend(claimOf("e", `e${index}`), true)),
    ]);
    connection.replace();
    await settle();
    for (const index of [0, 1, 6]) expect(await answers[index]).toMatchObject(unreachable);
    expect(sent().slice(2)).toEqual([["TIME"]]);
  });

  test("nothing of it is given up while it is being found out where the connection leads", async () => {
    const { connection, sent, answers } = await crowded((node) => [ask(node).release(["r"], "t")]);
    connection.isReady = false;
    connection.isOpen = true;
    await reply(connection, 0, oneEach(4));
    expect(sent()[1]).toEqual(["EVALSHA", releaseAndGrantScript.sha1, 1, "r", "t"]);
    await reply(connection, 1, 1);
    expect(await answers[0]).toEqual({ is: "done" });
  });

  test("all of it is sent at the end", async () => {
    const { node, sent } = await crowded((first) => [
      ask(first).vote(claimOf("v", "v")),
      ask(first).release(["r"], "t"),
      ...Array.from({ length: 5 }, (_, index) => ask(first).extend(claimOf("e", `e${index}`), true)),
    ]);
    void ask(node).release(["last"], "t");
    await node.close();
    expect(sent().slice(2).flat()).toEqual(expect.arrayContaining(["e4", "r", "v", "last"]));
  });

  test("no release is refused, however many there are, and no extension", async () => {
    const { connection, node, sent } = start();
    const releases = Array.from({ length: 20_000 }, () => ask(node).release(["r"], "t"));
    const extensions = Array.from({ length: 20_000 }, () => ask(node).extend(claimOf("t", "e"), true));
    await settle();
    for (let index = 0; index < connection.sent.length; index += 1) {
      const count = sent()[index]![2] as number;
      const isRelease = (sent()[index]![3] as string) === "r";
      connection.sent[index]!.reply(Array.from({ length: count }, () => (isRelease ? 1 : 1000)));
      await Promise.resolve();
      await Promise.resolve();
      if (index === connection.sent.length - 1) await settle();
    }
    for (const answer of await Promise.all(releases)) expect(answer).toEqual({ is: "done" });
    for (const answer of await Promise.all(extensions)) expect(answer).toEqual(yes);
  });

  test("a master that works it off says when it did so last", async () => {
    const { connection, node, time } = await crowded((first) => [ask(first).release(["r"], "t")]);
    expect(node.drainedAt).toBe(Number.NEGATIVE_INFINITY);
    time.pass(9);
    await reply(connection, 0, oneEach(4));
    expect(node.drainedAt).toBe(10);
    // The release had to wait; what comes behind it had not.
    time.pass(10);
    void ask(node).release(["r"], "t");
    await settle();
    time.pass(1);
    await reply(connection, 1, 1);
    expect(node.drainedAt).toBe(21);
    time.pass(10);
    await reply(connection, 2, 1);
    expect(node.drainedAt).toBe(21);
  });
});

/** Answers the command with this place among those that were sent. */
async function reply(connection: SilentConnection, index: number, value: unknown): Promise<void> {
  const { reply, fail } = connection.sent[index]!;
  if (value instanceof Error) fail(value);
  else reply(value);
  await settle();
}

describe("while something is in flight", () => {
  test("nothing waits for longer than 1 ms: a distant master's answer takes its time", async () => {
    const { sent, time } = await gathered((node) => [ask(node).vote(claimOf("t1", "r1"))]);
    time.pass(0.9);
    expect(sent()).toHaveLength(1);
    time.pass(0.1);
    expect(sent()[1]).toEqual(["SET", "r1", "t1", "NX", "PX", 1000]);
    expect(time.timers).toBe(0);
  });

  test("a release does not wait behind a vote of its waiter: on the next connection it might overtake it", async () => {
    const { node, sent } = start();
    for (const round of [2, 3]) {
      void ask(node).enqueue({ ...claimOf(`t.${round}`, "r"), ticket: 1, entryTtl: 1 });
      await settle();
    }
    void ask(node).release(["r"], "t.4");
    await settle();
    expect(sent()[2]).toEqual(["EVALSHA", releaseAndGrantScript.sha1, 1, "r", "t.4"]);
  });

  test("a batch has at most 128 questions, and a full one does not wait", async () => {
    const { sent } = await gathered((node) =>
      Array.from({ length: 130 }, (_, index) => ask(node).release([`r${index}`], "t")),
    );
    expect(sent().map((words) => words[2])).toEqual(["t0", 128, 2]);
  });

  test("the owner of an abandoned claim may post more questions: those wait for their turn", async () => {
    let hasAsked = false;
    const { connection, answers, sent } = await gathered((node) => [
      ask(node).extend(
        {
          ...claimOf("t1", "r1"),
          get abandoned() {
            // (As a lease ends once, however often it is looked at.)
            if (!hasAsked) void ask(node).release(["r1"], "t1");
            hasAsked = true;
            return true;
          },
        },
        true,
      ),
      ask(node).vote(claimOf("t2", "r2")),
    ]);
    await reply(connection, 0, "OK");
    expect(await answers[0]).toMatchObject(givenUp);
    await reply(connection, 1, "OK");
    expect(sent().map((words) => words.slice(0, 2))).toEqual([
      ["SET", "r0"],
      ["SET", "r2"],
      ["EVALSHA", releaseAndGrantScript.sha1],
    ]);
  });

  test("what was given up in a turn is left out of it, and the order of the calls stays", async () => {
    const { connection, sent, answers } = await gathered((node) => [
      ask(node).vote({ ...claimOf("t1", "r1"), abandoned: true }),
      ask(node).release(["r1"], "t1"),
      ask(node).enqueue({ ...claimOf("v.1", "r2"), ticket: 1, entryTtl: 1 }),
      ask(node).release(["r2"], "t2"),
      ask(node).extend(claimOf("t3", "r3"), false),
    ]);
    await reply(connection, 0, "OK");
    expect(await Promise.all(answers.slice(0, 2))).toMatchObject([givenUp, { is: "missed" }]);
    expect(sent()[1]!.slice(2, 7)).toEqual([3, "r2", "r2", "r3", "q1,1000,1,1;l1,0;e1,1000;"]);
  });

  test("a question that is lost leaves it open whether the vote is there", async () => {
    const { connection, first } = await gathered(() => []);
    await reply(connection, 0, null);
    await reply(connection, 1, new ReplyError("NOSCRIPT No matching script."));
    connection.isReady = false;
    await reply(connection, 2, new Error("Connection is closed."));
    expect(await first).toMatchObject({ is: "fault", sent: true });
  });

  test("a refusal on a connection that is gone leaves it open as well", async () => {
    const { connection, first, sent } = await gathered(() => []);
    connection.isReady = false;
    await reply(connection, 0, null);
    expect(await first).toMatchObject({ is: "fault", sent: true, error: { reason: "UNREACHABLE" } });
    expect(sent()).toHaveLength(1);
  });
});

describe("in a batch", () => {
  test("that is refused for one key's sake each goes out alone, as nothing was done", async () => {
    const { connection, answers, sent } = await gathered((node) => [
      ask(node).vote(claimOf("t1", "a1")),
      ask(node).vote(claimOf("t2", "b2")),
    ]);
    const refused = new ReplyError("NOPERM No permissions to access a key");
    await reply(connection, 0, "OK");
    await reply(connection, 1, refused);
    expect(sent().slice(2)).toEqual([
      ["SET", "a1", "t1", "NX", "PX", 1000],
      ["SET", "b2", "t2", "NX", "PX", 1000],
    ]);
    await reply(connection, 2, refused);
    await reply(connection, 3, "OK");
    expect(await answers[0]).toMatchObject({ is: "fault", error: { reason: "NOPERM" } });
    expect(await answers[1]).toEqual(yes);
  });

  test("an unknown script: questions abandoned meanwhile are left out", async () => {
    const given = { ...claimOf("t1", "r1"), abandoned: false };
    const { connection, answers, sent } = await gathered((node) => [
      ask(node).vote(given),
      ask(node).release(["r2"], "t2"),
    ]);
    await reply(connection, 0, "OK");
    given.abandoned = true;
    await reply(connection, 1, new ReplyError("NOSCRIPT No matching script."));
    expect(sent()[2]).toEqual(["EVALSHA", releaseAndGrantScript.sha1, 1, "r2", "t2"]);
    expect(await answers[0]).toMatchObject(givenUp);
  });
});

describe("a connection that is lost", () => {
  test("is the end of all that waits: nothing goes out on the next one", async () => {
    const { connection, first, answers, sent } = await gathered((node) => [
      ask(node).vote(claimOf("t1", "r1")),
      ask(node).release(["r2"], "t2"),
    ]);
    connection.isReady = false;
    await reply(connection, 0, new Error("Connection is closed."));
    expect(await first).toMatchObject({ is: "fault", sent: true, error: { reason: "UNREACHABLE" } });
    for (const answer of await Promise.all(answers)) expect(answer).toMatchObject(unreachable);
    connection.replace();
    await settle();
    expect(sent().slice(1)).toEqual([["TIME"]]);
  });

  test("a script that it did not know is not sent as text on the next one", async () => {
    const { connection, node, sent } = start();
    const releasing = ask(node).release(["r"], "t");
    await settle();
    connection.replace();
    await reply(connection, 0, new ReplyError("NOSCRIPT No matching script."));
    expect(await releasing).toMatchObject({ is: "fault", sent: true, error: { reason: "NOSCRIPT" } });
    expect(sent().slice(1)).toEqual([["TIME"]]);
  });

  test("what was asked for before it was lost, in the same turn, is not sent", async () => {
    const { connection, node, sent } = start();
    const voting = ask(node).vote(claimOf("t", "r"));
    node.disconnect();
    expect(await voting).toMatchObject(unreachable);
    expect(sent()).toEqual([]);
    expect(connection.isReady).toBe(false);
  });
});

test("a key is read without a queue by a claim of nobody, which no guard refuses", async () => {
  const { node, sent } = start(undefined, { queue: false });
  node.watchGuard({ terms: () => "terms", refused: () => {}, extendedInQuarantine: () => {} });
  void ask(node).inspect("r");
  await settle();
  expect(sent()).toEqual([["EVALSHA", claimScript.sha1, 1, "r", "-", 1, 0]]);
});

test("a send that throws is a connection that fails, and leaves nothing in flight", async () => {
  const { connection, node, sent } = start();
  const send = connection.send.bind(connection);
  connection.send = () => {
    throw new Error("broken");
  };
  expect(await ask(node).vote(claimOf("t", "r"))).toMatchObject({ is: "fault", sent: true });
  connection.send = send;
  void ask(node).vote(claimOf("t1", "r1"));
  await settle();
  expect(sent()).toEqual([["SET", "r1", "t1", "NX", "PX", 1000]]);
});

/** For 2501 ms: an abandoned vote, and its release behind it. */
async function silent() {
  const started = start();
  const claim = { ...claimOf("t0", "r0"), abandoned: false };
  const vote = ask(started.node).vote(claim);
  await settle();
  claim.abandoned = true;
  const release = ask(started.node).release(["r0"], "t0");
  await settle();
  started.time.pass(2501);
  return { ...started, vote, release };
}

describe("a master that does not answer", () => {
  test("has at most 4096 waiting requests, without abandoned ones: the others are given up", async () => {
    const { node } = start();
    const given = { ...claimOf("t0", "r0"), abandoned: false };
    const votes = Array.from({ length: 512 + 4096 }, () => ask(node).vote(given));
    await settle();
    const crowdedOut = ask(node).vote(claimOf("t1", "r1"));
    const late = Array.from({ length: 127 }, () => ask(node).vote(claimOf("t1", "r1")));
    await settle();
    for (const answer of await Promise.all([crowdedOut, ...late])) expect(answer).toMatchObject(givenUp);
    given.abandoned = true;
    const wanted = Array.from({ length: 128 }, () => ask(node).vote(claimOf("t2", "r2")));
    await settle();
    for (const answer of await Promise.all(votes.slice(512))) expect(answer).toMatchObject(givenUp);
    expect(await Promise.race([wanted[0], Promise.resolve("waits")])).toBe("waits");
  });

  test("is asked for no vote: the answer to a question in flight shows that it is back", async () => {
    const { node, sent, time } = await silent();
    const [voting, extending, inspecting] = [
      ask(node).vote(claimOf("t1", "r1")),
      ask(node).extend(claimOf("t2", "r2"), true),
      ask(node).inspect("r3"),
    ];
    time.pass(1);
    for (const answer of [voting, extending, inspecting]) expect(await answer).toMatchObject(unreachable);
    expect(sent()).toHaveLength(2);
  });

  test("has its clean-ups kept, in order, until it answers", async () => {
    const { connection, node, sent, time, vote } = await silent();
    const releases = ["r1", "r2"].map((resource) => ask(node).release([resource], "t"));
    time.pass(1000);
    expect(sent()).toHaveLength(2);
    await reply(connection, 0, "OK");
    expect(await vote).toEqual(yes);
    await reply(connection, 1, 1);
    expect(sent()[2]).toEqual(["EVALSHA", releaseBatchScript.sha1, 2, "r1", "r2", "t", "t"]);
    await reply(connection, 2, [1, 0]);
    expect(await Promise.all(releases)).toEqual([{ is: "done" }, { is: "missed" }]);
    // That was no backlog: a call behind it has one time-out.
    expect(node.drainedAt).toBe(Number.NEGATIVE_INFINITY);
  });

  test("is still sent the release of a vote in flight, immediately", async () => {
    const { connection, node, sent, time } = start();
    const claims = ["a", "b"].map((name) => ({ ...claimOf(`t${name}`, name), abandoned: false }));
    for (const claim of claims) void ask(node).vote(claim);
    await settle();
    time.pass(2501);
    for (const claim of claims) claim.abandoned = true;
    void ask(node).release(["other"], "t");
    void ask(node).release(["b"], "tb");
    await settle();
    expect(sent()[1]).toEqual(["EVALSHA", releaseAndGrantScript.sha1, 1, "b", "tb"]);
    expect(connection.sent).toHaveLength(2);
  });

  test("is sent questions as long as a caller waits for it: the timeout may be longer", async () => {
    const { node, sent, time } = await gathered(() => []);
    time.pass(2501);
    void ask(node).vote(claimOf("t1", "r1"));
    time.pass(1);
    await settle();
    expect(sent()).toHaveLength(2);
  });

  test.each([
    [9000, 4500],
    [600_000, 10_000],
  ])(
    "has half of the ttl where locks last long, %i ms, but no longer than 10 s: %i",
    async (ttl, silence) => {
      const { node, sent, time } = start();
      const claim = { ...claimOf("t0", "r0"), ttl, abandoned: false };
      void ask(node).vote(claim);
      await settle();
      claim.abandoned = true;
      time.pass(silence - 1);
      void ask(node).vote(claimOf("t1", "r1"));
      await settle();
      time.pass(1);
      expect(sent()).toHaveLength(2);
      const refused = ask(node).vote(claimOf("t2", "r2"));
      time.pass(1);
      expect(await refused).toMatchObject(unreachable);
    },
  );
});

test("a server of a Cluster that does not answer is no reason to spare the others", async () => {
  const { node, sent, time } = start(new ClusterConnection());
  const claim = { ...claimOf("t1", "a1"), abandoned: false };
  void ask(node).vote(claim);
  await settle();
  claim.abandoned = true;
  time.pass(2501);
  void ask(node).vote(claimOf("t2", "b1"));
  await settle();
  expect(sent()[1]!.slice(0, 3)).toEqual(["SET", "b1", "t2"]);
});

test("the clock of a master is read three times on each connection, and the most exact reading counts", async () => {
  const { connection, node, time, sent } = start();
  connection.replace();
  connection.replace();
  // An answer on an earlier connection is not of this one's server.
  await reply(connection, 0, ["100", "0"]);
  expect(node.clock.best).toBeUndefined();
  for (const [index, wait] of [40, 2, 20].entries()) {
    time.pass(wait);
    await reply(connection, 1 + index, ["200", "0"]);
  }
  expect(sent()).toHaveLength(4);
  expect(node.clock.best?.ofMonotonic).toBe(200_000 - 41);
});
