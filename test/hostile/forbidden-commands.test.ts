import { type Answer, RedisNode } from "@quorlock/redlock/internal";
import { type Masters, startMasters } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
// The package makes nodes of clients and exports no function for it.
import { connectionOf } from "../../packages/redlock/src/adapters/client-libraries.ts";
import { ask } from "../contract/ask.ts";
import { documentedRule, documentedRuleOfReaders } from "../contract/permissions.ts";

// PROTOCOL 7.5.

// An ACL that lacks one command of the documented rule. A script that is refused this command has the effect and the
// answer that it has with the whole rule, or none and an error: a release that frees the key and does not reach the
// waiter would leave the waiter without the key.

let masters: Masters;
let admin: Redis;
let opened: Redis;
/** Whether scripts can ask for their commands first. Before Redis 7, the beginning of an operation on a queue can take effect. */
let canAsk: boolean;

beforeAll(async () => {
  masters = await startMasters(1, { say: () => {} });
  admin = new Redis(masters.urls[0]!);
  opened = new Redis(masters.urls[0]!);
  canAsk = (await admin.eval("return redis.acl_check_cmd and 1 or 0", 0)) === 1;
});
afterAll(async () => {
  admin?.disconnect();
  opened?.disconnect();
  await masters?.stop();
});

const ttl = 60_000;
const keyPrefix = "lock:";
type Node = ReturnType<typeof ask>;

const claim = (token: string, resources: readonly string[]) => ({
  resources: resources.map((name) => keyPrefix + name),
  token,
  ttl,
  abandoned: false,
  ticket: 2,
  entryTtl: ttl / 4,
});
const names = (...resources: readonly string[]) => resources.map((name) => keyPrefix + name);

interface Case {
  readonly prepare: (free: Node) => Promise<unknown>;
  readonly act: (bound: Node) => Promise<unknown>;
}

const held =
  (...resources: readonly string[]) =>
  (free: Node) =>
    free.vote(claim("holder.1", resources));
const waitedFor =
  (resources: readonly string[], waiters = ["waiter"]) =>
  async (free: Node) => {
    await held(...resources)(free);
    for (const [ticket, waiter] of waiters.entries())
      await free.enqueue({ ...claim(`${waiter}.1`, resources), ticket });
  };
const release =
  (...resources: readonly string[]) =>
  (bound: Node) =>
    bound.release(names(...resources), "holder.1");

const cases: Record<string, Case> = {
  "a vote": { prepare: async () => {}, act: (bound) => bound.vote(claim("mine.1", ["a"])) },
  "a refused vote": { prepare: held("a"), act: (bound) => bound.vote(claim("mine.1", ["a"])) },
  "a vote for two keys": { prepare: async () => {}, act: (bound) => bound.vote(claim("mine.1", ["a", "b"])) },
  "an extension": {
    prepare: held("a", "b"),
    act: (bound) => bound.extend(claim("holder.1", ["a", "b"]), true),
  },
  "a release": { prepare: held("a"), act: release("a") },
  "a release of two keys": { prepare: held("a", "b"), act: release("a", "b") },
  "a release with a waiter": { prepare: waitedFor(["a"]), act: release("a") },
  "a release with a waiter that is notified": {
    prepare: async (free) => {
      await free.listen("quorlock:inbox:test");
      await waitedFor(["a"])(free);
    },
    act: release("a"),
  },
  "a release of two keys with a waiter": { prepare: waitedFor(["a", "b"]), act: release("a", "b") },
  "a release with a dead waiter ahead of a live one": {
    prepare: async (free) => {
      await waitedFor(["a"], ["dead", "live"])(free);
      await admin.del("quorlock:queue:{lock:a}:dead");
    },
    act: release("a"),
  },
  "a release with a waiter, in one batch with another release": {
    prepare: async (free) => {
      await held("other")(free);
      await waitedFor(["a"])(free);
    },
    act: async (bound) => (await Promise.all([release("other")(bound), release("a")(bound)]))[1],
  },
  "a queue entry": { prepare: held("a"), act: (bound) => bound.enqueue(claim("waiter.1", ["a"])) },
  "the heartbeat of a queue entry": {
    prepare: waitedFor(["a"]),
    act: (bound) => bound.enqueue(claim("waiter.2", ["a"])),
  },
  "a queue entry for a free key that another waiter is to get": {
    prepare: async (free) => {
      await waitedFor(["a"])(free);
      await admin.del("lock:a");
    },
    act: (bound) => bound.enqueue({ ...claim("second.1", ["a"]), ticket: 9 }),
  },
  "the end of a wait": {
    prepare: waitedFor(["a"]),
    act: (bound) => bound.release(names("a"), "waiter.1"),
  },
};

const [writers, readers] = ["quorlock:rw:{a}:write", "quorlock:rw:{a}:readers"];
const writing = (token: string) => ({ ...claim(token, []), resources: [writers] });
const reading = (token: string) => ({ ...claim(token, []), resources: [readers] });

const casesOfReaders: Record<string, Case> = {
  "the vote of a writer": { prepare: async () => {}, act: (bound) => bound.vote(writing("mine.1")) },
  "the vote of a reader": { prepare: async () => {}, act: (bound) => bound.vote(reading("mine.1")) },
  "the vote of a second reader": {
    prepare: (free) => free.vote(reading("holder.1")),
    act: (bound) => bound.vote(reading("mine.1")),
  },
  "the extension of a writer": {
    prepare: (free) => free.vote(writing("holder.1")),
    act: (bound) => bound.extend(writing("holder.1"), true),
  },
  "the extension of a reader": {
    prepare: (free) => free.vote(reading("holder.1")),
    act: (bound) => bound.extend(reading("holder.1"), true),
  },
  "a downgrade": {
    prepare: (free) => free.vote(writing("holder.1")),
    act: (bound) => bound.extend(reading("holder.1"), true),
  },
  "the release of a writer": {
    prepare: (free) => free.vote(writing("holder.1")),
    act: (bound) => bound.release([writers], "holder.1"),
  },
  "the release of a reader": {
    prepare: (free) => free.vote(reading("holder.1")),
    act: (bound) => bound.release([readers], "holder.1"),
  },
  "the release of a writer that a reader waits for": {
    prepare: async (free) => {
      await free.vote(writing("holder.1"));
      await free.enqueue(reading("waiter.1"));
    },
    act: (bound) => bound.release([writers], "holder.1"),
  },
  "the queue entry of a writer behind a reader": {
    prepare: (free) => free.vote(reading("holder.1")),
    act: (bound) => bound.enqueue(writing("waiter.1")),
  },
};

/** All keys with their values, and whether they expire. (Each operation of a batch is refused alone.) */
async function contents(): Promise<Record<string, unknown>> {
  const keys = (await admin.keys("*")).filter((key) => key !== "lock:other").toSorted();
  const entries = keys.map(async (key) => {
    const isSet = (await admin.type(key)) === "zset";
    // (The score of a reader is its expiry.)
    const scores = key === readers ? [] : ["WITHSCORES"];
    const value = isSet ? await admin.call("ZRANGE", key, "0", "-1", ...scores) : await admin.get(key);
    return [key, [value, (await admin.pttl(key)) > 0]] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

/** The outcome of `act` under a rule: its answers, and the keys before and after. */
async function outcomeOf({ prepare, act }: Case, rule: readonly string[]) {
  await admin.flushall();
  await prepare(ask(new RedisNode(connectionOf(opened))));
  await admin.acl("SETUSER", "locks", "reset", "on", ">password", ...rule);
  const before = await contents();
  const client = new Redis(masters.urls[0]!, {
    username: "locks",
    password: "password",
    enableReadyCheck: false,
  });
  client.on("error", () => {});
  try {
    const answer = await act(ask(new RedisNode(connectionOf(client))));
    return { before, answer: answer as Answer, after: await contents() };
  } finally {
    client.disconnect();
  }
}

/** Not of scripts, or optional by the page on permissions: without them a waiter finds its grant by polling. */
const optional = ["+publish", "+subscribe", "+pubsub|numsub", "+info", "+evalsha", "+eval"];

/** `isAsked`: whether the script asks for the command before it writes, or writes only once. */
async function isWholeOrNothing(
  each: Case,
  rule: readonly string[],
  word: string,
  isAsked: boolean,
): Promise<void> {
  const whole = await outcomeOf(each, rule);
  expect(whole.answer.is).not.toBe("fault");
  const { before, answer, after } = await outcomeOf(
    each,
    rule.filter((other) => other !== word),
  );
  if (word === "+mget") expect(answer.is).toBe(whole.answer.is);
  if (answer.is === "fault") expect(answer.error.reason).toBe("NOPERM");
  if (isAsked) expect(after).toEqual(answer.is === "fault" ? before : whole.after);
  else for (const key of Object.keys(after)) expect({ ...before, ...whole.after }).toHaveProperty([key]);
}

function commandsIn(rule: readonly string[]): readonly string[] {
  return rule.filter((word) => word.startsWith("+") && !optional.includes(word));
}

describe.each(commandsIn(documentedRule))("without %s", (word) => {
  it.each(Object.entries(cases))("%s is done as a whole or not at all", (name, each) =>
    isWholeOrNothing(each, documentedRule, word, canAsk || !/wait|queue/.test(name)),
  );
});

const ruleOfReaders = [...documentedRule, ...documentedRuleOfReaders];

describe.each(commandsIn(ruleOfReaders))("without %s", (word) => {
  it.each(Object.entries(casesOfReaders))("%s is done as a whole or not at all", (_, each) =>
    isWholeOrNothing(each, ruleOfReaders, word, canAsk),
  );
});

describe.each(["+zadd", "+zrem", "+zscore", "+del", "+pexpire"])("without %s", (word) => {
  it.each(["the vote of a writer", "the vote of a reader"])(
    "%s is refused: what it claims could not be released",
    async (name) => {
      const rule = ruleOfReaders.filter((other) => other !== word);
      const { answer, after } = await outcomeOf(casesOfReaders[name]!, rule);
      if (canAsk) expect([answer.is, after]).toEqual(["fault", {}]);
    },
  );
});
