import { batchScript, releaseBatchScript, voteBatchScript } from "@quorlock/redlock/internal";
import { type Masters, startMasters } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

// PROTOCOL 12.5.

// The batch script executes consecutive votes, or releases, of one key and token each in bulk; a batch of only such
// questions has its own script. The outcome must be the same as one by one.

const count = 64;
const minute = 60_000;
const inbox = "heard";

let masters: Masters;
let redis: Redis;
let listener: Redis;
/** The notifications that waiters have received until now. */
const heard: string[] = [];

beforeAll(async () => {
  masters = await startMasters(1, { say: () => {} });
  redis = new Redis(masters.urls[0]!);
  listener = redis.duplicate();
  listener.on("message", (_, message: string) => void heard.push(message));
  await listener.subscribe(inbox);
});
afterAll(async () => {
  redis?.disconnect();
  listener?.disconnect();
  await masters?.stop();
});

interface Hold {
  readonly key: string;
  readonly token: string;
}

const release = "l1,0;";
const vote = `v1,${10 * minute};`;

/** `count` keys, each with its own token. */
const holds: readonly Hold[] = Array.from({ length: count }, (_, index) => ({
  key: `lock:r${index}`,
  token: `t${index}`,
}));

/** `holds` but for the one in this place. */
function holdsWith(index: number, changed: Partial<Hold>): readonly Hold[] {
  return holds.with(index, { ...holds[index]!, ...changed });
}

async function batch(
  list: string,
  all: readonly Hold[],
  by = redis,
  guard?: string,
): Promise<readonly unknown[]> {
  const keys = all.map(({ key }) => key);
  const tokens = all.map(({ token }) => token);
  const args = guard === undefined ? [list, ...tokens] : [`g0,0;${list}`, guard, ...tokens];
  return (await by.eval(batchScript.source, keys.length, ...keys, ...args)) as unknown[];
}

/** The same by the script for votes, or for releases, alone: without a list. */
async function alone(list: string, all: readonly Hold[], by = redis): Promise<readonly unknown[]> {
  const keys = all.map(({ key }) => key);
  const tokens = all.map(({ token }) => token);
  const [, ttl] = /^v1,(\d+);/.exec(list) ?? [];
  const replied = await (ttl === undefined
    ? by.eval(releaseBatchScript.source, keys.length, ...keys, ...tokens)
    : by.eval(voteBatchScript.source, keys.length, ...keys, ttl, ...tokens));
  // In short: all of it was done.
  if (typeof replied === "number") expect(replied).toBe(all.length);
  return typeof replied === "number" ? all.map(() => Number(ttl ?? 1)) : (replied as unknown[]);
}

/** Adds a waiter for the key, which is subscribed to its grant. */
async function wait(key: string, token = "w.1", told = inbox): Promise<void> {
  const args = ["q1,1200000,1,600000;", token, told];
  await redis.eval(batchScript.source, 1, key, ...args);
}

interface Outcome {
  readonly replies: readonly unknown[];
  /** Each key that is left with its value and its lifetime in whole minutes. */
  readonly left: ReadonlyArray<readonly [string, unknown, number]>;
  readonly heard: readonly string[];
}

async function outcomeOf(
  prepare: () => Promise<unknown>,
  run: () => Promise<readonly unknown[]>,
): Promise<Outcome> {
  await redis.flushall();
  await prepare();
  heard.length = 0;
  const replies = await run();
  // Earlier messages are on their way before the answer.
  await listener.ping();
  const left: Array<readonly [string, unknown, number]> = [];
  for (const key of (await redis.keys("*")).toSorted()) {
    const value = (await redis.type(key)) === "string" ? await redis.get(key) : await redis.type(key);
    left.push([key, value, minutesOf(await redis.pttl(key))]);
  }
  return { replies, left, heard: [...heard] };
}

/** However long the test takes; -1 for a key that never expires. */
function minutesOf(lifetime: number): number {
  return lifetime < 0 ? -1 : Math.ceil(lifetime / minute);
}

/** Sent in a row, and one by one: each comes to the same, which is returned. `guard`: the terms of a restart guard. */
async function bothWays(
  question: string,
  all: readonly Hold[],
  prepare: () => Promise<unknown>,
  guard?: string,
): Promise<Outcome> {
  const inRow = await outcomeOf(prepare, () => batch(`${all.length}${question}`, all, redis, guard));
  const oneByOne = await outcomeOf(prepare, async () => {
    const replies: unknown[] = [];
    for (const each of all) replies.push(...(await batch(question, [each], redis, guard)));
    return replies;
  });
  expect(inRow).toEqual(oneByOne);
  if (guard === undefined) expect(await outcomeOf(prepare, () => alone(question, all))).toEqual(oneByOne);
  return inRow;
}

/** Of releases, where all of `holds` are held. */
function released(
  all: readonly Hold[],
  prepare: () => Promise<unknown> = async () => {},
  guard?: string,
): Promise<Outcome> {
  const holdAll = async () => {
    for (const { key, token } of holds) await redis.set(key, token, "PX", 10 * minute);
    await prepare();
  };
  return bothWays(release, all, holdAll, guard);
}

/** Of votes, where nothing is. */
function voted(all: readonly Hold[], prepare: () => Promise<unknown> = async () => {}): Promise<Outcome> {
  return bothWays(vote, all, prepare);
}

/** How often the master has executed a command, in scripts as well. */
async function calls(command: string): Promise<number> {
  const stats = await redis.info("commandstats");
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
}

const ones = Array.from({ length: count }, () => 1);

describe(`${count} releases in a row`, () => {
  it("of held keys release all of them", async () => {
    expect(await released(holds)).toEqual({ replies: ones, left: [], heard: [] });
  });

  it.each([
    ["among others", batch],
    ["alone", alone],
  ])("are looked at for waiters, and deleted, all at once: %s", async (_, run) => {
    for (const { key, token } of holds) await redis.set(key, token, "PX", 10 * minute);
    const names = ["get", "mget", "exists", "del"];
    const before = await Promise.all(names.map(calls));
    expect(await run(`${count}l1,0;`, holds)).toEqual(ones);
    const after = await Promise.all(names.map(calls));
    expect(after.map((number, index) => number - before[index]!)).toEqual([0, 1, 1, 1]);
  });

  it.each([0, 31, count - 1])("of which number %i is not held", async (index) => {
    const replies = ones.with(index, 0);
    const foreign = await released(holdsWith(index, { token: "not mine" }));
    const [key, value] = [holds[index]!.key, holds[index]!.token];
    expect(foreign).toEqual({ replies, left: [[key, value, 10]], heard: [] });
    expect(await released(holds, () => redis.del(key))).toEqual({ replies, left: [], heard: [] });
  });

  it.each([0, 31, count - 1])("of which number %i has a waiter: it is granted", async (index) => {
    const { key } = holds[index]!;
    const outcome = await released(holds, () => wait(key));
    expect(outcome).toEqual({ replies: ones, left: [[key, "w.1", 20]], heard: ["w.1 - -"] });
  });

  it("of which one has a dead waiter, or one without a subscription", async () => {
    expect(await released(holds, () => wait("lock:r7", "w.1", "unheard"))).toMatchObject({
      left: [],
      heard: [],
    });
    const deaf = await released(holds, () => wait("lock:r7", "w.1", "-"));
    expect(deaf.left).toContainEqual(["lock:r7", "w.1", 10]);
  });

  it("with one key twice: the second finds no key, whichever token it has", async () => {
    const replies = [...ones.slice(0, -1), 0];
    const twice = holdsWith(count - 1, holds[5]!);
    const left = [["lock:r63", "t63", 10]];
    expect(await released(twice)).toEqual({ replies, left, heard: [] });
    const another = holdsWith(count - 1, { key: "lock:r5" });
    expect(await released(another)).toEqual({ replies, left, heard: [] });
  });

  it("with one key twice, whose waiter has the second token: it is released again", async () => {
    const twice = holdsWith(count - 1, { key: "lock:r5", token: "w.1" });
    const outcome = await released(twice, () => wait("lock:r5"));
    expect(outcome).toEqual({ replies: ones, left: [["lock:r63", "t63", 10]], heard: ["w.1 - -"] });
  });

  it("of which one is held by an earlier round of the same waiter", async () => {
    const outcome = await released(holdsWith(9, { token: "w.2" }), () =>
      redis.set("lock:r9", "w.1", "PX", minute),
    );
    expect(outcome).toEqual({ replies: ones, left: [], heard: [] });
  });

  it("of which one is no lock: only that key is left", async () => {
    const outcome = await released(holds, async () => {
      await redis.del("lock:r9");
      await redis.rpush("lock:r9", "x");
    });
    expect(outcome.replies.with(9, 1)).toEqual(ones);
    expect(outcome.replies[9]).toBe(0);
    expect(outcome.left).toEqual([["lock:r9", "list", -1]]);
  });

  it("in quarantine grant nothing", async () => {
    const quarantined = await released(holds, () => wait("lock:r7"), "60000,11,0,1,1700000000000,0,0");
    expect(quarantined).toMatchObject({ replies: ones, heard: [] });
    expect(quarantined.left.filter(([key]) => key === "lock:r7")).toEqual([]);
    expect(await redis.exists("quorlock:quarantine")).toBe(1);
    // A master that is declared new grants.
    const declare = async () => {
      await redis.set("quorlock:guard:new:11", "");
      await wait("lock:r7");
    };
    const sound = await released(holds, declare, "60000,11,0,2,1700000000000,0,0");
    expect(sound).toMatchObject({ replies: ones, heard: ["w.1 - -"] });
    expect(sound.left).toContainEqual(["lock:r7", "w.1", 20]);
  });
});

describe(`${count} votes in a row`, () => {
  const granted = ones.map(() => 10 * minute);
  const held = holds
    .toSorted((one, other) => (one.key < other.key ? -1 : 1))
    .map(({ key, token }) => [key, token, 10]);

  it.each([
    ["among others", batch],
    ["alone", alone],
  ])("for free keys are all granted, with a command for each: %s", async (_, run) => {
    expect(await voted(holds)).toEqual({ replies: granted, left: held, heard: [] });
    await redis.flushall();
    const before = await Promise.all(["set", "get"].map(calls));
    await run(run === alone ? vote : `${count}${vote}`, holds);
    const after = await Promise.all(["set", "get"].map(calls));
    expect(after.map((number, index) => number - before[index]!)).toEqual([count, 0]);
  });

  it.each([0, 31, count - 1])(
    "of which number %i is held by another client: it alone is refused",
    async (index) => {
      const { key } = holds[index]!;
      const outcome = await voted(holds, () => redis.set(key, "rival"));
      expect(outcome.replies).toEqual(granted.with(index, [1, "ri***", -1] as never));
      expect(outcome.left).toContainEqual([key, "rival", -1]);
      expect(outcome.left).toHaveLength(count);
    },
  );

  it("of which one is held by an earlier round of the same waiter", async () => {
    const outcome = await voted(holdsWith(9, { token: "w.2" }), () =>
      redis.set("lock:r9", "w.1", "PX", minute),
    );
    expect(outcome.replies).toEqual(granted);
    expect(outcome.left).toContainEqual(["lock:r9", "w.2", 10]);
  });

  it("with one key twice: the second is refused", async () => {
    await redis.flushall();
    const twice = holdsWith(count - 1, { key: "lock:r5" });
    const replies = await batch(`${count}${vote}`, twice);
    await redis.flushall();
    expect(await alone(vote, twice)).toEqual([...granted.slice(0, -1), [1, "t*", expect.any(Number)]]);
    expect(replies).toEqual([...granted.slice(0, -1), [1, "t*", expect.any(Number)]]);
  });

  it("in quarantine are all refused", async () => {
    await redis.flushall();
    const replies = await batch(`${count}${vote}`, holds, redis, "1200000,11,0,1,1700000000000,0,0");
    expect(replies).toEqual(ones.map(() => [0, expect.stringContaining("QUARANTINE")]));
    const written = ["quorlock:guard", "quorlock:guard:memory", "quorlock:quarantine"];
    expect((await redis.keys("*")).toSorted()).toEqual(written);
  });
});
