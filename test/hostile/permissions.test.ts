import { Redlock, type RedlockOptions } from "@quorlock/redlock";
import { RedisNode } from "@quorlock/redlock/internal";
import { lead } from "@quorlock/redlock/lead";
import { once } from "@quorlock/redlock/once";
import { ReadWriteLock } from "@quorlock/redlock/read-write-lock";
import { Semaphore } from "@quorlock/redlock/semaphore";
import { withoutScripts } from "@quorlock/redlock/without-scripts";
import { type Masters, startMasters } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
// The package makes nodes of clients and exports no function for it.
import { connectionOf } from "../../packages/redlock/src/adapters/client-libraries.ts";
import { ask } from "../contract/ask.ts";
import {
  documentedRule,
  documentedRuleOfReaders,
  documentedRuleWithoutQueues,
  documentedRuleWithoutScripts,
} from "../contract/permissions.ts";

// PROTOCOL 1.8, 13.2.

// The rule in the README, and what breaks when a word of it is taken away: all of it is needed.
let masters: Masters;
let admin: Redis;
beforeAll(async () => {
  masters = await startMasters(1, { say: () => {} });
  admin = new Redis(masters.urls[0]!);
  // As with Redis 6.2, where a new user may hear all channels: the rule has to do there as well.
  await admin.config("SET", "acl-pubsub-default", "allchannels");
});
afterEach(() => vi.restoreAllMocks());
afterAll(async () => {
  admin?.disconnect();
  await masters?.stop();
});

const ttl = 20_000;
/** Of the pattern in the README. */
const keyPrefix = "lock:";

/** The messages about permissions during every operation of the client, with the lines of the console. */
async function complaintsUnder(
  rule: readonly string[],
  { db = 0, scripts = true } = {},
): Promise<readonly string[]> {
  await admin.flushall();
  // A master that knows no script is sent its text.
  await admin.script("FLUSH");
  await admin.acl("SETUSER", "locks", "reset", "on", ">password", ...rule);
  await admin.acl("LOG", "RESET");
  const complaints: string[] = [];
  vi.spyOn(console, "warn").mockImplementation((line: string) => void complaints.push(line));
  const client = new Redis(masters.urls[0]!, { username: "locks", password: "password", keyPrefix, db });
  // A vote that is late would end the calls before they need each right: a busy machine has a quarter of the ttl.
  const settings = { retryCount: 0, nodeTimeout: ttl / 4 };
  const redlock = new Redlock(scripts ? [client] : withoutScripts([client]), settings);
  client.on("error", (error) => complaints.push(error.message));
  redlock.on("error", (error) => complaints.push(error.message));
  for (const resources of [["a"], ["b", "c"]]) {
    const lock = await redlock.acquire(resources, ttl).catch(() => undefined);
    await redlock.tryAcquire(resources, ttl).catch(() => {});
    // By more than it may still have: a key that lasts long enough is not set to expire later.
    await lock?.extend(2 * ttl).catch(() => {});
    await lock?.verify().catch(() => {});
    await lock?.release();
  }
  const together = await Promise.all(
    ["d", "e"].map((name) => redlock.acquire(name, ttl).catch(() => undefined)),
  );
  await Promise.all(together.flatMap((lock) => lock?.release() ?? []));
  const [inspection] = await redlock.inspect("a");
  if (inspection!.unreachable) complaints.push(inspection!.unreachable.message);
  if (scripts) complaints.push(...(await complaintsOfWaiting(client)));
  client.disconnect();
  complaints.push(...(await refusalsInLog()));
  // (A transaction that must not be discarded stays open, and the next one tells that.)
  return complaints.filter((line) => /NOPERM|permission|inside (MULTI|a transaction)/.test(line));
}

/** The commands that were refused, even if the client or a script found another way. */
async function refusalsInLog(): Promise<readonly string[]> {
  const entries = (await admin.acl("LOG")) as readonly unknown[];
  return entries.map((entry) => `no permission: ${Object.values(entry as object).join(" ")}`);
}

/** The messages while a client waits in the queue and is granted the key. */
async function complaintsOfWaiting(client: Redis): Promise<readonly string[]> {
  const complaints: string[] = [];
  const node = new RedisNode(connectionOf(client), { onFault: (error) => complaints.push(error.message) });
  await ask(node).listen("quorlock:inbox:test");
  const entryTtl = ttl / 4;
  const claim = { resources: ["waited for"], ttl, abandoned: false, ticket: 1, entryTtl };
  const answers = [
    await ask(node).vote({ ...claim, token: "holder.1" }),
    await ask(node).enqueue({ ...claim, token: "waiter.1" }),
    await ask(node).release(["waited for"], "holder.1"),
  ];
  for (const answer of answers) if (answer.is === "fault") complaints.push(answer.error.message);
  // Where the ACL forbids PUBLISH, the key is only reserved for the lifetime of the waiter's entry.
  const holding = await ask(node).inspect("waited for");
  if (holding.is !== "state" || holding.remaining <= entryTtl)
    complaints.push("no permission to tell the one who waits");
  await ask(node).release(["waited for"], "waiter.1");
  return complaints;
}

/** The denying rules only shorten the list. */
const isRight = (word: string): boolean => word !== "resetchannels";

describe("the rule in the README", () => {
  it.each([
    ["with scripts", documentedRule],
    ["without scripts", documentedRuleWithoutScripts],
  ])("is accepted word for word, %s", async (_, rule) => {
    await admin.acl("DELUSER", "locks");
    expect(await admin.acl("SETUSER", "locks", "on", ">password", ...rule)).toBe("OK");
    const [line] = (await admin.acl("LIST")).filter((user) => user.startsWith("user locks "));
    expect(line).not.toMatch(/ &\*| allchannels| ~\*| \+@all/);
    await admin.acl("DELUSER", "locks");
    const words = rule.filter(isRight);
    // Without it, and for this default, the pattern would be refused, or all channels heard.
    const accepted = await admin.acl("SETUSER", "locks", "on", ">password", ...words).catch(() => "refused");
    const all = (await admin.acl("LIST")).some((user) => /^user locks .*&\*/.test(user));
    expect(accepted === "refused" || all).toBe(true);
  });

  it("is enough for all that the client does", async () => {
    expect(await complaintsUnder(documentedRule)).toEqual([]);
  });

  it("is enough for each primitive, with what readers add", async () => {
    const rule = [...documentedRule, ...documentedRuleOfReaders];
    await admin.acl("SETUSER", "locks", "reset", "on", ">password", ...rule);
    await admin.acl("LOG", "RESET");
    const client = new Redis(masters.urls[0]!, { username: "locks", password: "password", keyPrefix });
    const redlock = new Redlock([client], { owner: "all", fencing: true });
    const told: string[] = [];
    redlock.on("error", ({ message }) => told.push(message));
    const semaphore = new Semaphore(redlock, "api", 2);
    const [one, two] = await Promise.all([semaphore.acquire(ttl), semaphore.acquire(ttl)]);
    const third = semaphore.acquire(ttl);
    await one.extend(2 * ttl);
    await one.release();
    await semaphore.inspect();
    await Promise.all([two.release(), (await third).release()]);
    const report = new ReadWriteLock(redlock, "report");
    const writing = await report.write(ttl);
    const reading = report.read(ttl);
    await report.inspect();
    await writing.release();
    await (await reading).release();
    for (const keepOnError of [false, true])
      await once(redlock, `job ${keepOnError}`, { ttl, keepFor: 2 * ttl, keepOnError }, async () => {
        throw new Error("of the job");
      }).catch(() => {});
    const term = new AbortController();
    await lead(redlock, "leader", ttl, async () => term.abort(), { signal: term.signal });
    await (await redlock.acquire("fenced", ttl)).release();
    await redlock.using(["a", "b"], ttl, async () => {});
    await redlock.quit();
    client.disconnect();
    expect({ told, refused: await refusalsInLog() }).toEqual({ told: [], refused: [] });
  });

  it("grants commands one by one, and keys by a pattern", () => {
    for (const word of documentedRule.filter(isRight)) {
      expect(word).toMatch(/^(\+[a-z]+(\|[a-z]+)?|[~&][^*].*)$/);
    }
  });

  it.each(documentedRule.filter(isRight))("needs %s", async (word) => {
    expect(await complaintsUnder(documentedRule.filter((other) => other !== word))).not.toEqual([]);
  });

  it("needs +select as well where the client has another database than 0", async () => {
    expect(await complaintsUnder(documentedRule, { db: 3 })).not.toEqual([]);
    expect(await complaintsUnder([...documentedRule, "+select"], { db: 3 })).toEqual([]);
  });

  it.each(["%R", "%W"])("needs its keys both to read and to write: %s alone is not enough", async (kind) => {
    const half = documentedRule.map((word) => (word.startsWith("~") ? `${kind}${word}` : word));
    // (Before Redis 7 the two cannot be told apart.)
    const isKnown = await admin.acl("SETUSER", "locks", "reset", `${kind}~a`).catch((error: Error) => error);
    if (isKnown instanceof Error) expect(isKnown.message).toMatch(/Error in ACL SETUSER modifier '%[RW]~a'/);
    else expect(await complaintsUnder(half)).not.toEqual([]);
  });
});

/** What `ready` says under a rule, and the reasons of the events meanwhile. */
async function readinessUnder(
  rule: readonly string[],
  { prefix = keyPrefix, ...options }: RedlockOptions & { readonly prefix?: string } = {},
  open: (url: URL) => Redis = (url) =>
    new Redis(Number(url.port), url.hostname, { ...user, keyPrefix: prefix }),
  nodesOf: (client: Redis) => ConstructorParameters<typeof Redlock>[0] = (client) => client,
): Promise<{ readonly said: string; readonly told: readonly string[] }> {
  await admin.acl("SETUSER", "locks", "reset", "on", ">password", ...rule);
  const client = open(new URL(masters.urls[0]!));
  client.on("error", () => {});
  const redlock = new Redlock(nodesOf(client), options);
  const told: string[] = [];
  redlock.on("error", ({ message }) => told.push(message));
  const said = await redlock.ready({ timeout: 900 }).then(
    () => "ready",
    (error: Error) => error.message,
  );
  await redlock.quit();
  return { said, told };
}

const user = { username: "locks", password: "password" };

/** Without them waiters poll, or more commands are needed, or nothing is known of owners and of servers. */
const isForMore = (word: string): boolean => /mget|publish|pubsub|ping|subscribe|time|info|&/.test(word);
const rights = documentedRule.filter(isRight);

describe("ready", () => {
  beforeEach(() => vi.spyOn(console, "warn").mockImplementation(() => {}));

  it.each(rights.filter((word) => !isForMore(word) && word !== "~lock:*"))(
    "rejects without %s, which it names, and an event does so once",
    async (word) => {
      const { said, told } = await readinessUnder(documentedRule.filter((other) => other !== word));
      expect(said).toContain(`lacks ${word}`);
      expect(told).toEqual([expect.stringContaining(`lacks ${word}`)]);
    },
  );

  it.each(rights.filter(isForMore))("resolves without %s", async (word) => {
    const rule = documentedRule.filter((other) => other !== word);
    const told = word === "+info" ? [expect.stringContaining("INFO tells no run_id")] : [];
    expect(await readinessUnder(rule)).toEqual({ said: "ready", told });
  });

  it("resolves for a user who may only lock some of the names, and with the shorter rule without a queue", async () => {
    const some = documentedRule.map((word) => (word === "~lock:*" ? "~lock:jobs:*" : word));
    expect((await readinessUnder(some)).said).toBe("ready");
    for (const prefix of ["", keyPrefix])
      expect(await readinessUnder(documentedRuleWithoutQueues, { queue: false, prefix })).toEqual({
        said: "ready",
        told: [],
      });
  });

  it("rejects without the keys of queues, with and without a prefix", async () => {
    const rule = documentedRule.filter((word) => word !== "~quorlock:*");
    for (const prefix of ["", keyPrefix])
      expect((await readinessUnder(rule, { prefix })).said).toContain("lacks ~quorlock:*");
  });

  it("rejects where a command has no such name, and names it", async () => {
    for (const command of ["EVALSHA", "EVAL", "DEL", "PEXPIRE"]) {
      await using other = await startMasters(1, { say: () => {}, config: ["--rename-command", command, ""] });
      const { said } = await readinessUnder(documentedRule, {}, () => new Redis(other.urls[0]!));
      expect(said.toUpperCase()).toContain(`UNKNOWN COMMAND '${command}'`);
    }
  });
});

const readiness = (rule: readonly string[], open?: (url: URL) => Redis) =>
  readinessUnder(rule, {}, open, (client) => withoutScripts([client]));

describe("the rule in the README for a user without scripts", () => {
  const without = { scripts: false };

  it("is enough for all that the client does, and has no script in it", async () => {
    expect(await complaintsUnder(documentedRuleWithoutScripts, without)).toEqual([]);
    expect(documentedRuleWithoutScripts.join(" ")).not.toMatch(/eval|script|@/);
  });

  const needed = documentedRuleWithoutScripts.filter((word) => isRight(word) && !isForMore(word));

  it("is enough for ready, which rejects without each of its commands, and names it", async () => {
    expect(await readiness(documentedRuleWithoutScripts)).toEqual({ said: "ready", told: [] });
    for (const word of needed.filter((one) => !one.startsWith("~"))) {
      const { said, told } = await readiness(documentedRuleWithoutScripts.filter((one) => one !== word));
      expect(said).toContain(`lacks ${word}`);
      expect(told).toEqual([expect.stringContaining(`lacks ${word}`)]);
    }
  });

  it("is not enough where a command has no such name: ready rejects, and names it", async () => {
    for (const command of ["WATCH", "EXEC", "DEL"]) {
      await using other = await startMasters(1, { say: () => {}, config: ["--rename-command", command, ""] });
      const { said } = await readiness(documentedRuleWithoutScripts, () => new Redis(other.urls[0]!));
      expect(said.toUpperCase()).toContain(`UNKNOWN COMMAND '${command}'`);
    }
  });

  it.each(documentedRuleWithoutScripts.filter(isRight))("needs %s", async (word) => {
    const rule = documentedRuleWithoutScripts.filter((other) => other !== word);
    expect(await complaintsUnder(rule, without)).not.toEqual([]);
  });
});
