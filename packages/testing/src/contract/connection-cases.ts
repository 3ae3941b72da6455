import { type Args, type Connection, releaseScript } from "@quorlock/redlock/internal";
import { type Context, claimOf, long } from "./contract-case.ts";
import { beforeEach, expect, it } from "./framework.ts";
import { turn, until } from "./until.ts";

/** How a command has ended. */
interface Outcome {
  readonly reply?: unknown;
  readonly error?: unknown;
}

type Send = (command: string, ...args: Args) => Promise<Outcome>;

/**
 * The rules of a `Connection` that a `RedisNode` cannot be watched to rely on: it sends few commands at a time. Here many
 * are unanswered at once, each with another reply, by `send` and `ask` in turn.
 */
export function connectionCases(context: Context): void {
  let connection: Connection;
  let send: Send;

  beforeEach(async () => {
    connection = context.connectOnly();
    send = senderOf(connection);
    await untilReady(connection);
  });

  it("gives each of many commands its own answer", async () => {
    const keys = await differentKeys(context);
    context.path.hold();
    const early = keys.slice(0, 30).map(({ key }) => send("GET", key));
    await context.path.held();
    const late = keys.slice(30).map(({ key }) => send("GET", key));
    context.path.deliver();
    expectOwnAnswers(keys, await soon("a GET", early.concat(late)));
  });

  it("gives each of many commands its own answer after commands that were lost with their connection", async () => {
    const keys = await differentKeys(context);
    for (const what of ["requests", "replies"] as const) {
      const lost = await loseWith(context, what, () => keys.toReversed().map(({ key }) => send("GET", key)));
      const answers: Array<Promise<Outcome>> = [];
      const stop = connection.onReady(() => {
        answers.push(...keys.map(({ key }) => send("GET", key)));
        stop();
      });
      await soon("a GET whose connection was lost", lost);
      await until("onReady is called for the next connection", () => answers.length > 0);
      expectOwnAnswers(keys, await soon("a GET of the next connection", answers));
    }
  });

  it("executes many commands in the order of the calls", async () => {
    const [key] = claimOf(1).resources as [string];
    const sent: Array<readonly [command: string, expected: unknown, outcome: Promise<Outcome>]> = [];
    const call = (expected: unknown, command: string, ...args: Args): void => {
      sent.push([command, expected, send(command, ...args)]);
    };
    context.path.hold();
    for (let round = 0; round < 40; round += 1) {
      // Long and short commands: a library may write them in different ways.
      const value = `${round}:${"x".repeat(round % 10 === 3 ? 100_000 : 10)}`;
      call("OK", "SET", key, value, "PX", long);
      call(value, "GET", key);
      call(1, "EVAL", releaseScript.source, 1, key, value);
      call(null, "GET", key);
      if (round % 8 === 7) await turn();
    }
    context.path.deliver();
    const outcomes = await soon(
      "a command",
      sent.map(([, , outcome]) => outcome),
    );
    outcomes.forEach((outcome, index) => {
      const [command, expected] = sent[index]!;
      if (isReply(outcome, expected)) return;
      const [wanted, got] = [textOf({ reply: expected }), textOf(outcome)];
      throw new Error(
        `out of order: ${command}, command ${index + 1} of ${sent.length}, has ${got} instead of ${wanted}`,
      );
    });
  });

  it("executes each command once", async () => {
    const [counter] = claimOf(1).resources as [string];
    const replies = await soon(
      "an INCR",
      Array.from({ length: 20 }, () => send("INCR", counter)),
    );
    // A user who has no more rights than locks need cannot count.
    if (replies.every((outcome) => "error" in outcome && textOf(outcome).includes("NOPERM"))) return;
    const expected = Array.from({ length: 20 }, (_, index) => index + 1);
    const isOnce = replies.every((outcome, index) => isReply(outcome, expected[index]));
    const count = await context.master.get(counter);
    await context.master.remove(counter);
    if (isOnce && count === "20") return;
    throw new Error(`20 INCR of a new key have left it at ${count}, with ${replies.map(textOf).join(", ")}`);
  });

  it("rejects commands that are lost with their connection, and never sends them again", async () => {
    const { resources } = claimOf(20);
    const lost = await loseWith(context, "requests", () =>
      resources.map((key) => send("SET", key, "lost", "NX", "PX", long)),
    );
    for (const outcome of await soon("a SET whose connection was lost", lost)) {
      if (!("error" in outcome))
        throw new Error(`a SET was lost with its connection and has ${textOf(outcome)}`);
    }
    await untilReady(connection);
    await soon("a GET", [send("GET", resources[0]!)]);
    for (const key of resources) {
      const isUnset = (await context.master.get(key)) === null;
      if (!isUnset) throw new Error("a SET was lost with its connection, and sent again on the next one");
    }
  });

  it("rejects at once what is sent without a connection, and never sends it later", async () => {
    const { resources } = claimOf(4);
    await context.path.cut();
    await until("isReady is false after the connection was cut", () => !connection.isReady);
    await until(
      "a command is rejected after the connection was cut",
      async () => "error" in (await soon("a command without a connection", [send("GET", resources[0]!)]))[0]!,
    );
    const calls = resources.map((key) => send("SET", key, "late", "PX", long));
    for (const outcome of await soon("a command without a connection", calls)) {
      if (!("error" in outcome)) throw new Error(`a SET without a connection has ${textOf(outcome)}`);
    }
    await context.path.heal();
    await untilReady(connection);
    await soon("a GET", [send("GET", resources[0]!)]);
    for (const key of resources) {
      const isUnset = (await context.master.get(key)) === null;
      if (!isUnset) throw new Error("a SET was called without a connection, and sent later on the next one");
    }
  });

  it("has a new session number before anything can be sent on the next connection", async () => {
    const [key] = claimOf(1).resources as [string];
    const former = new Set<number>();
    for (let times = 1; times <= 2; times += 1) {
      const { session } = connection;
      former.add(session);
      const atReady: number[] = [];
      const stop = connection.onReady(() => atReady.push(connection.session));
      await soon("a GET", [send("GET", key)]);
      if (connection.session !== session) throw new Error("session has changed on the same connection");
      context.path.reset();
      await until("onReady is called for the next connection", async () => {
        const isFormer = connection.isReady && connection.session === session;
        const [outcome] = await soon("a GET", [send("GET", key)]);
        if (isFormer && !("error" in outcome!)) throw new Error(sameSession(session));
        return atReady.length > 0;
      });
      stop();
      if (former.has(atReady[0]!)) throw new Error(sameSession(atReady[0]!));
    }
  });

  it("settles each command once, and not before the call has returned", async () => {
    const [string, list] = claimOf(2).resources as [string, string];
    await context.master.set(string, "a value", long);
    await context.master.setList(list);
    const counts = Array.from({ length: 20 }, () => 0);
    let isCalling = true;
    counts.forEach((_, index) => {
      const done = (): void => {
        if (isCalling) throw new Error("deliver has called done before it has returned");
        counts[index] = counts[index]! + 1;
      };
      const key = index % 2 === 0 ? string : list;
      if (connection.deliver) connection.deliver({ command: "GET", args: [key] }, done);
      else connection.send("GET", [key]).then(done, done);
    });
    isCalling = false;
    await until("all commands are settled", () => counts.every((count) => count > 0));
    await soon("a GET", [send("GET", string)]);
    await turn();
    expect(new Set(counts)).toEqual(new Set([1]));
  });
}

function sameSession(session: number): string {
  return `session is ${session} on two connections: it must change before anything can be sent on the next one`;
}

/** Sends by `send` and, if there is one, by `deliver` in turn. */
function senderOf(connection: Connection): Send {
  let count = 0;
  return (command, ...args) => {
    count += 1;
    const { deliver } = connection;
    if (!deliver || count % 2 === 0) {
      return connection.send(command, args).then(
        (reply) => ({ reply }),
        (error: unknown) => ({ error }),
      );
    }
    return new Promise<Outcome>((resolve) => {
      deliver({ command, args }, (reply, error) => resolve(error === undefined ? { reply } : { error }));
    }).catch((error: unknown) => ({ error }));
  };
}

/** Sends commands and resets the connection before they arrive, or before their replies do. */
async function loseWith(
  { path }: Context,
  what: "requests" | "replies",
  sendAll: () => Array<Promise<Outcome>>,
): Promise<Array<Promise<Outcome>>> {
  if (what === "requests") path.hold();
  else path.holdReplies();
  const lost = sendAll();
  await (what === "requests" ? path.held() : path.heldReplies());
  path.reset();
  if (what === "requests") path.deliver();
  else path.deliverReplies();
  return lost;
}

interface Different {
  readonly key: string;
  /** The value; `null` for none, `undefined` for a key that GET refuses. */
  readonly value: string | null | undefined;
}

/** Keys whose GET has different outcomes: another value, nothing, or an error. */
async function differentKeys({ master }: Context): Promise<readonly Different[]> {
  const { resources } = claimOf(60);
  const keys: Different[] = [];
  for (const [index, key] of resources.entries()) {
    const value = index % 7 === 3 ? undefined : index % 5 === 2 ? null : `value ${index + 1}`;
    if (value === undefined) await master.setList(key);
    else if (value !== null) await master.set(key, value, long);
    keys.push({ key, value });
  }
  return keys;
}

function expectOwnAnswers(keys: readonly Different[], outcomes: readonly Outcome[]): void {
  keys.forEach(({ value }, index) => {
    const outcome = outcomes[index]!;
    const isOwn = value === undefined ? String(outcome.error).includes("WRONGTYPE") : isReply(outcome, value);
    if (isOwn) return;
    const wanted = value === undefined ? "the error WRONGTYPE" : textOf({ reply: value });
    throw new Error(
      `command ${index + 1} of ${keys.length} has ${textOf(outcome)} instead of ${wanted}: the answer of another command`,
    );
  });
}

function isReply(outcome: Outcome, expected: unknown): boolean {
  return !("error" in outcome) && outcome.reply === expected;
}

function textOf(outcome: Outcome): string {
  if ("error" in outcome) return `the error ${String(outcome.error)}`;
  const text = JSON.stringify(outcome.reply);
  return `the reply ${text.length > 40 ? `${text.slice(0, 40)}...` : text}`;
}

/** The outcomes; fails if one is missing after ten seconds. */
async function soon(what: string, outcomes: ReadonlyArray<Promise<Outcome>>): Promise<readonly Outcome[]> {
  let settled = 0;
  for (const outcome of outcomes) {
    void outcome.then(() => {
      settled += 1;
    });
  }
  const missing = (): string => `${what} is settled (${settled} of ${outcomes.length} are)`;
  await until(missing, () => settled === outcomes.length);
  return Promise.all(outcomes);
}

async function untilReady(connection: Connection): Promise<void> {
  await connection.connectFirst();
  await until(`the connection to ${connection.name} is ready`, () => connection.isReady);
}
