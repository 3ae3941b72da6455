import * as redlock from "@quorlock/redlock/internal";
import { describe, expect, test } from "vitest";
import { type Command, Paths } from "./paths.ts";

/** The scripts of the client that write. */
const scripts: Readonly<Record<string, redlock.Script>> = {
  claim: redlock.claimScript,
  enqueue: redlock.enqueueScript,
  release: redlock.releaseScript,
  leave: redlock.leaveScript,
  "guarded claim": redlock.guardedClaimScript,
  "guarded leave": redlock.guardedLeaveScript,
  "vote batch": redlock.voteBatchScript,
  "release batch": redlock.releaseBatchScript,
  batch: redlock.batchScript,
  "shared batch": redlock.sharedBatchScript,
  "owner record": redlock.ownerScript,
  waiters: redlock.waitersScript,
};

/** The scripts that claim a key for a client that may have a claim on it already. */
const claims = ["claim", "guarded claim"] as const;

const reads = [
  "GET",
  "MGET",
  "EXISTS",
  "PTTL",
  "TIME",
  "INFO",
  "OBJECT",
  "PUBSUB",
  "ZCARD",
  "ZRANGE",
  "ZSCORE",
];
const sets = ["SET", "SETRANGE", "ZADD"];
const removals = ["DEL", "ZREM"];
const otherWrites = ["PEXPIRE", "ZREMRANGEBYSCORE"];
const writes = [...sets, ...removals, ...otherWrites];

/** The result of `track` for each script, on every path. */
function walk<State>(
  source: string,
  start: State,
  track: (state: State, command: Command, path: readonly string[]) => State,
): void {
  new Paths(source, { start, execute: track }).explore();
}

/** The ways to a message on which nothing was written before. */
function messagesBeforeWrites(source: string): string[] {
  const found = new Set<string>();
  walk(source, { hasWritten: false }, ({ hasWritten }, { name }, path) => {
    if (name === "PUBLISH" && !hasWritten) found.add([...path, name].join(", "));
    return { hasWritten: hasWritten || writes.includes(name) };
  });
  return [...found];
}

/** The ways to a message on which no key was set for it: since the message before, and since a key was given up. */
function messagesAboutNothing(source: string): string[] {
  const found = new Set<string>();
  walk(source, { isSet: false }, ({ isSet }, { name, args }, path) => {
    if (name === "PUBLISH" && !isSet) found.add([...path, name].join(", "));
    if (sets.includes(name)) return { isSet: true };
    // (A key that a text names is no lock, nor is the past floor of a slot.)
    const isGivenUp = name === "DEL" && !/^"|^pastKey$/.test(args[0] ?? "");
    return { isSet: isSet && !isGivenUp && name !== "PUBLISH" };
  });
  return [...found];
}

/** The ways to a claim on which an older one was removed before. */
function removalsBeforeClaims(source: string): string[] {
  const found = new Set<string>();
  walk(source, { hasRemoved: false }, ({ hasRemoved }, { name }, path) => {
    if (sets.includes(name) && hasRemoved) found.add([...path, name].join(", "));
    return { hasRemoved: hasRemoved || removals.includes(name) };
  });
  return [...found];
}

/** Which command can come next behind which, from "begin" on, for each script that was walked for it. */
const orders = new Map<string, ReadonlyMap<string, ReadonlySet<string>>>();

function successors(source: string): ReadonlyMap<string, ReadonlySet<string>> {
  const known = orders.get(source);
  if (known) return known;
  const next = new Map<string, Set<string>>();
  walk(source, { last: "begin" }, ({ last }, { name }) => {
    next.set(last, (next.get(last) ?? new Set()).add(name));
    return { last: name };
  });
  orders.set(source, next);
  return next;
}

/** The order of a script's commands, for people. */
function listing(source: string): string {
  const lines = [...successors(source)].map(([last, next]) => `${last} -> ${[...next].sort().join(" ")}`);
  return ["commands, and what can come next behind them:", ...lines].join("\n");
}

describe.each(Object.entries(scripts))("%s", (_, { source }) => {
  test("runs commands that are known, in an order that can be told", () => {
    const order = successors(source);
    for (const followers of order.values())
      for (const command of followers) expect([...reads, ...writes, "PUBLISH"]).toContain(command);
    expect(order.get("begin")?.size).toBeGreaterThan(0);
  });

  // Redis refuses a script's first write alone (OOM, MISCONF, NOREPLICAS, READONLY): behind one that was executed
  // no other is. A message is no write, and goes out whatever the state of the master.
  test("says nothing before the first write was executed", () => {
    expect(messagesBeforeWrites(source), listing(source)).toEqual([]);
  });

  test("says of a key what the key says already", () => {
    expect(messagesAboutNothing(source), listing(source)).toEqual([]);
  });
});

test.each(claims)("%s removes nothing before the new claim is written", (name) => {
  const { source } = scripts[name]!;
  expect(removalsBeforeClaims(source), listing(source)).toEqual([]);
});

const call = "local call = redis.call\n";

test.each([
  ["straight on", 'call("SET", k, v) call("PUBLISH", c, m)', 0],
  ["the other way round", 'call("PUBLISH", c, m) call("SET", k, v)', 1],
  ["where a condition does not hold", 'if a then call("SET", k, v) end call("PUBLISH", c, m)', 1],
  ["in either branch", 'if a then call("SET", k, v) else call("DEL", k) end call("PUBLISH", c, m)', 0],
  ["behind a return", 'if a then return 1 end call("SET", k, v) call("PUBLISH", c, m)', 0],
  ["behind an and", 'local done = a and call("SET", k, v) call("PUBLISH", c, m)', 1],
  [
    "behind a loop that may not run",
    'for _, k in ipairs(ks) do call("SET", k, v) end call("PUBLISH", c, m)',
    1,
  ],
  [
    "behind a loop that is left early",
    'while true do if a then break end call("SET", k, v) end call("PUBLISH", c, m)',
    1,
  ],
  ["behind a refusal that is caught", 'redis.pcall("SET", k, v) call("PUBLISH", c, m)', 1],
  [
    "behind a function whose failure is caught",
    'local function set() call("SET", k, v) end pcall(set) call("PUBLISH", c, m)',
    1,
  ],
  ["behind a function", 'local function set() call("SET", k, v) end set() call("PUBLISH", c, m)', 0],
  [
    "inside a function, behind an error",
    'local function say() error("no") end say() call("PUBLISH", c, m)',
    0,
  ],
])("a message %s", (_, source, found) => {
  expect(messagesBeforeWrites(call + source)).toHaveLength(found);
});

test.each([
  ["a command without a name", "call(name, k)"],
  ["a function that is not there", "unheard(k)"],
  ["a function that is a value", 'local f = function() call("SET", k, v) end'],
])("%s is not understood", (_, source) => {
  expect(() => successors(call + source)).toThrow();
});
