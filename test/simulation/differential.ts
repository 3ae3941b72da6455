import { setTimeout as sleep } from "node:timers/promises";
import { Random } from "@quorlock/simulation";
import type { Redis } from "ioredis";
import { expect } from "vitest";
// The package has no name for the inside of a master: this test is for just that.
import { Channels } from "../../packages/simulation/src/master/channels.ts";
import type { Entry } from "../../packages/simulation/src/master/entries.ts";
import { Keyspace } from "../../packages/simulation/src/master/keyspace.ts";
import { clientScripts } from "../../packages/simulation/src/master/known-scripts.ts";
import { RedisModel } from "../../packages/simulation/src/master/redis-model.ts";
import { ReplyError } from "../../packages/simulation/src/master/reply.ts";
import { scoreText } from "../../packages/simulation/src/master/sorted-set.ts";

import { type WriteRefusal, writeRefusals } from "../../packages/simulation/src/master/write-refusal.ts";
import { readWriteLine } from "./read-write-lines.ts";
import { RefusingMaster } from "./refusing-master.ts";
import { givingUpLine, inboxes, otherScriptLine, scriptLine, token, ttl } from "./script-lines.ts";

// The model against a real redis-server: random command sequences, equal replies, equal keys with equal expiry times,
// and equal messages to those who listen. Some servers refuse to write for a while, by each of the errors that Redis has
// for that. Each command goes out between two TIMEs in one packet. The model is asked
// for every millisecond that may have been the server's while it ran (nearly always one): one of them must give the
// same reply and leave every key with the same value and absolute expiry. There is no tolerance for a wrong model to
// hide in. Only where a new millisecond began in the middle of a script, which Redis 7.0 notices and the model does
// not, and they differ, the sequence is broken off; that must be the exception.

const commandsInOne = 14;
const keys = ["a", "b", "c"] as const;
const scripts = Object.values(clientScripts);

type Line = readonly [string, ...(string | number)[]];

function someKeys(random: Random): readonly string[] {
  const first = random.integer(0, 2);
  return random.chance(0.6) ? [keys[first]!] : [keys[first]!, keys[(first + 1) % 3]!];
}

const line: Draw = (random, isContended, held) => {
  if (held.length > 0 && random.chance(0.5)) return givingUpLine(random, held);
  if (isContended && random.chance(0.9)) return scriptLine(random, () => ["a"]);
  const key = random.pick(keys);
  const choice = random.integer(0, 21);
  if (choice < 4) return ["SET", key, token(random), "NX", "PX", ttl(random)];
  if (choice < 12) return scriptLine(random, someKeys);
  if (choice > 19) return sortedSetLine(random);
  if (choice === 12) return ["GET", key];
  if (choice === 13) return ["PTTL", key];
  if (choice === 14) return ["DEL", ...someKeys(random)];
  if (choice === 15) return ["PEXPIRE", key, ttl(random)];
  if (choice === 16) return ["EXISTS", ...keys, key];
  const rare: readonly Line[] = [
    ["SET", key, token(random)],
    ["SET", key, token(random), "XX", "PX", ttl(random)],
    ["SET", key, token(random), "EX", random.integer(1, 3)],
    ["SET", key, token(random), "NX", "XX"],
    ["SET", key, token(random), "PX"],
    ["RPUSH", key, "x", "y"],
    ["FLUSHALL"],
    ["SCRIPT", "FLUSH"],
    ["SCRIPT", "EXISTS", scripts[0]!.sha1, scripts[1]!.sha1.toUpperCase(), "0".repeat(40)],
    ["SCRIPT", "LOAD", random.pick(scripts).source],
    ["PUBLISH", random.pick(inboxes), token(random)],
    ["PUBSUB", "NUMSUB", ...inboxes],
    ["PING"],
    ["INCR", key],
    ["DECR", key],
    ["SET", key, random.integer(-3, 3), "PX", ttl(random)],
    otherScriptLine(random, someKeys),
    ["NONSENSE", key, "x".repeat(random.integer(0, 150)), token(random)],
  ];
  return random.pick(rare);
};

/** Draws a command. `held`: locks by key and token, where what is held is to be given up. */
type Draw = (random: Random, isContended: boolean, held: ReadonlyArray<readonly [string, string]>) => Line;

/** A queue, or a lock's key: either may be what the other should be. */
function sortedSetLine(random: Random): Line {
  const key = random.pick(["quorlock:queue:{a}", "quorlock:queue:{b}", random.pick(keys)]);
  const name = random.pick(["w1", "w2", "w3"]);
  const score = random.chance(0.1)
    ? random.pick(["x", "", "inf", "-inf", " 1", "0x10"])
    : random.integer(1, 4);
  const place = (): number | string => (random.chance(0.05) ? "x" : random.integer(-3, 3));
  return random.pick<Line>([
    ["ZADD", key, score, name],
    ["ZADD", key, score, name, random.integer(1, 4), "w2"],
    ["ZADD", key, score, name, 5],
    ["ZRANGE", key, place(), place()],
    ["ZRANGE", key, place(), place(), random.pick(["WITHSCORES", "x"])],
    ["ZREM", key, name, "w1"],
    ["ZCARD", key],
    ["DEL", key],
    ["PEXPIRE", key, ttl(random)],
    ["PTTL", `${key}:${name}`],
    ["DEL", `${key}:${name}`],
  ]);
}

/** The comparable part of a reply: of an error, the text without the server's own line numbers. */
function comparable(reply: unknown, isScript: boolean): string {
  if (reply instanceof Error)
    return isScript ? `error ${reply.message.split(" ")[0]}` : `error ${reply.message}`;
  // In a batch an error is its own reply: Lua's are told with the line.
  return JSON.stringify(reply, (_, part: unknown) =>
    typeof part === "string" && part.includes("user_script") ? "a script's error" : part,
  );
}

/** Everything there is: by key its value and PEXPIRETIME (-1 is no expiry). */
type Dump = ReadonlyMap<string, { readonly value: string; readonly expiry: number }>;

const dumpScript = `
local all = {}
for _, key in ipairs(redis.call("KEYS", "*")) do
  local kind, value = redis.call("TYPE", key).ok
  if kind == "zset" then value = redis.call("ZRANGE", key, 0, -1, "WITHSCORES")
  elseif kind == "list" then value = redis.call("LRANGE", key, 0, -1)
  else value = redis.call("GET", key) end
  all[#all + 1] = {key, value, redis.call("PEXPIRETIME", key)}
end
return all`;

function dumpOf(entries: readonly (readonly [string, Entry])[]): Dump {
  return new Map(
    entries.map(([key, { value, expiresAt = -1 }]) => [
      key,
      { value: JSON.stringify(shown(value)), expiry: expiresAt },
    ]),
  );
}

/** As the dump of a server tells it. */
function shown(value: Entry["value"]): string | readonly string[] {
  if (typeof value === "string") return value;
  if ("list" in value) return value.list;
  return value.sorted.flatMap(({ name, score }) => [name, scoreText(score)]);
}

interface Observation {
  readonly from: number;
  readonly to: number;
  readonly reply: unknown;
  readonly dump: Dump;
  /**
   * When it was made; on a busy machine that may be long after the command. A PEXPIRE reads the clock twice: what it makes to end
   * in the millisecond that it ends in itself, it deletes.
   */
  readonly until: number;
}

async function observe(redis: Redis, [command, ...args]: Line): Promise<Observation> {
  const pipeline = redis
    .pipeline()
    .call("TIME")
    .call(command, ...args)
    .call("TIME")
    .call("EVAL", dumpScript, 0)
    .call("TIME");
  const results = (await pipeline.exec())!.map(([error, result]) => error ?? result);
  const [before, reply, after, dump, until] = results;
  const rows = dump as readonly (readonly [string, unknown, number])[];
  return {
    from: milliseconds(before),
    to: milliseconds(after),
    reply,
    dump: new Map(rows.map(([key, value, expiry]) => [key, { value: JSON.stringify(value), expiry }])),
    until: Math.max(milliseconds(until), command === "PEXPIRE" ? milliseconds(after) + 1 : 0),
  };
}

function milliseconds(time: unknown): number {
  const [seconds, microseconds] = time as [string, string];
  return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
}

interface Candidate {
  readonly now: number;
  readonly entries: readonly (readonly [string, Entry])[];
  readonly reply: unknown;
  /** The messages to subscribers. */
  readonly messages: readonly string[];
}

type Keys = ReadonlyMap<string, Entry>;

/** Writes that came while the model refused to write: refused, or let through behind an earlier one of their script. */
const writesMet = { refused: 0, "let through": 0 };

/** A server of which only the first inbox is listened to, and in some sequences everything by a pattern. */
class Model {
  #messages: string[] = [];
  readonly #model: RedisModel;
  readonly #channels = new Channels();

  constructor(replId: string) {
    this.#model = new RedisModel(
      new Keyspace(),
      replId,
      (channel, message) => this.#channels.publish(channel, message),
      (channel) => this.#channels.count(channel),
    );
    this.#model.writes.onWrite = (isRefused) => {
      writesMet[isRefused ? "refused" : "let through"] += 1;
    };
    this.#channels.subscribe(inboxes[0]!, { push: (_, message) => void this.#messages.push(message) });
  }

  refuse(refusal: WriteRefusal | undefined): void {
    this.#model.writes.refusal = refusal;
  }

  /** The ids of the server's replication: it may have been a replica in between. */
  follow(replication: string): void {
    const [, replId] = /master_replid:(\w+)/.exec(replication)!;
    const [, formerId] = /master_replid2:(\w+)/.exec(replication)!;
    this.#model.promote(this.#model.keyspace, replId!, formerId!);
  }

  monitor(): void {
    this.#channels.subscribe("*", { push: () => {} }, "pattern");
  }

  /** The result of `line` at `now`, from these keys; scripts are kept. */
  try(entries: Keys, [command, ...args]: Line, now: number): Candidate {
    this.#messages = [];
    this.#model.replaceKeyspace(new Keyspace(entries));
    let reply: unknown;
    try {
      reply = this.#model.execute(command, args, now);
    } catch (error) {
      if (!(error instanceof ReplyError)) throw error;
      reply = error;
    }
    this.#model.keyspace.sweep(now);
    return { now, entries: this.#model.keyspace.entries(), reply, messages: this.#messages };
  }
}

/**
 * The server looked at the keys a little later than at the command: by then one more may be over. And in a script
 * that a new millisecond began in, a later SET counts from there (Redis 7.0).
 */
function agrees({ now, entries, reply }: Candidate, seen: Observation, isScript: boolean): boolean {
  if (comparable(reply, isScript) !== comparable(seen.reply, isScript)) return false;
  const dump = dumpOf(entries);
  for (const key of seen.dump.keys()) if (!dump.has(key)) return false;
  for (const [key, { value, expiry }] of dump) {
    const real = seen.dump.get(key);
    if (!real) {
      if (expiry < 0 || expiry >= seen.until) return false;
      continue;
    }
    const isLater = isScript && expiry > 0 && real.expiry > expiry && real.expiry <= expiry + seen.to - now;
    if (real.value !== value || (real.expiry !== expiry && !isLater)) return false;
  }
  return true;
}

/** The candidate's keys with the expiries that the server gave them. */
function adopted({ entries }: Candidate, { dump }: Observation): Keys {
  return new Map(
    entries.map(([key, entry]): [string, Entry] => {
      const real = dump.get(key)?.expiry ?? -1;
      return [key, real > 0 ? { ...entry, expiresAt: real } : entry];
    }),
  );
}

/** The server that the model is held against. */
interface Real {
  readonly redis: Redis;
  readonly master: RefusingMaster;
  /** A connection that listens to every channel, where it is told to. */
  readonly monitor: Redis;
}

async function real(redis: Redis): Promise<Real> {
  return { redis, master: await RefusingMaster.of(redis), monitor: redis.duplicate() };
}

/** For which commands of a sequence a server refuses to write, and by which error. */
function refusalsOf(random: Random): readonly (WriteRefusal | undefined)[] {
  // Full memory refuses least, and so it has the most ways to be got wrong.
  const refusal = random.chance(1 / 2) ? "OOM" : random.pick(writeRefusals);
  const begin = random.chance(1 / 2) ? random.integer(3, commandsInOne - 1) : commandsInOne;
  const end = begin + random.integer(1, 6);
  return Array.from({ length: commandsInOne }, (_, index) =>
    index >= begin && index < end ? refusal : undefined,
  );
}

function heldIn(entries: Keys): ReadonlyArray<readonly [string, string]> {
  return keys.flatMap((key) => {
    const value = entries.get(key)?.value;
    return typeof value === "string" ? [[key, value] as const] : [];
  });
}

/** The model's messages to subscribers; nothing if the sequence was broken off. */
async function runSequence(
  server: Real,
  random: Random,
  label: string,
  line: Draw,
): Promise<string[] | undefined> {
  try {
    return await messagesOf(server, random, label, line);
  } finally {
    await server.master.refuse(undefined);
  }
}

async function messagesOf(
  { redis, master, monitor }: Real,
  random: Random,
  label: string,
  line: Draw,
): Promise<string[] | undefined> {
  await redis.pipeline().flushall().call("SCRIPT", "FLUSH").exec();
  let entries: Keys = new Map();
  const model = new Model("unknown");
  model.follow(await redis.info("replication"));
  const story: string[] = [];
  const messages: string[] = [];
  // In every third all want the same: what is handed over then is mostly heard.
  const isContended = random.chance(1 / 3);
  const refusals = refusalsOf(random);
  const isMonitored = random.chance(1 / 4);
  if (isMonitored) model.monitor();
  await (isMonitored ? monitor.psubscribe("*") : monitor.punsubscribe("*"));
  for (const [index, refusal] of refusals.entries()) {
    if (random.chance(0.03)) await sleep(random.integer(1, 5));
    if (refusal !== refusals[index - 1]) {
      await master.refuse(refusal);
      model.refuse(refusal);
      model.follow(await redis.info("replication"));
      story.push(refusal === undefined ? "it writes again" : `it refuses to write: ${refusal}`);
    }
    const command = line(random, isContended, refusal === undefined ? [] : heldIn(entries));
    const isScript = command[0].startsWith("EVAL");
    const seen = await observe(redis, command);
    const candidates: Candidate[] = [];
    for (let now = seen.from; now <= seen.to; now += 1) candidates.push(model.try(entries, command, now));
    const matching = candidates.find((candidate) => agrees(candidate, seen, isScript));
    story.push(
      `${command.map((word) => String(word).slice(0, 60)).join(" ")} at ${seen.from}..${seen.to}: ${comparable(seen.reply, isScript)}`,
    );
    if (!matching) {
      if (isScript && seen.from < seen.to) return undefined;
      const told = candidates.map(({ reply, entries }) => [
        comparable(reply, isScript),
        [...dumpOf(entries)],
      ]);
      throw new Error(
        `${label}\n${story.join("\n")}\nserver ${JSON.stringify([...seen.dump])}\nmodel ${JSON.stringify(told)}`,
      );
    }
    messages.push(...matching.messages);
    entries = adopted(matching, seen);
  }
  return messages;
}

/** Runs random sequences of commands on `redis` and in the model, and throws where they differ. */
export async function compareCommands(redis: Redis, sequences: number): Promise<void> {
  await compare(redis, sequences, "differential", line);
  console.log(`${writesMet.refused} writes refused, ${writesMet["let through"]} let through behind others`);
  expect(writesMet.refused).toBeGreaterThan(sequences / 4);
  expect(writesMet["let through"]).toBeGreaterThan(Math.floor(sequences / 200));
}

/** The same for the script of locks that may be shared. */
export async function compareReadWriteScripts(redis: Redis, sequences: number): Promise<void> {
  await compare(redis, sequences, "differential of readers and writers", readWriteLine);
}

async function compare(redis: Redis, sequences: number, seed: string, draw: Draw): Promise<void> {
  const listener = redis.duplicate();
  const heard: string[] = [];
  listener.on("message", (_, message: string) => void heard.push(message));
  await listener.subscribe(inboxes[0]!);
  const server = await real(redis);
  let told = 0;
  let brokenOff = 0;
  for (let sequence = 0; sequence < sequences; sequence += 1) {
    const label = `sequence ${sequence}`;
    const messages = await runSequence(server, new Random(sequence, seed), label, draw);
    // Earlier messages are on their way before the answer.
    await listener.ping();
    if (messages) expect([label, ...heard]).toEqual([label, ...messages]);
    else brokenOff += 1;
    told += heard.length;
    heard.length = 0;
  }
  for (const connection of [listener, server.monitor]) connection.disconnect();
  console.log(`${told} messages; ${brokenOff} sequences broken off by a new millisecond within a script`);
  expect(told).toBeGreaterThan(sequences / 100);
  // On a busy machine more scripts are interrupted.
  expect(brokenOff).toBeLessThan(sequences / 4);
}
