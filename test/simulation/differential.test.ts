import { setTimeout as sleep } from "node:timers/promises";
import { Random } from "@quorlock/simulation";
import { startMasters } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
// The package has no name for the inside of a master: this test is for just that.
import { type Entry, Keyspace } from "../../packages/simulation/src/master/keyspace.ts";
import { RedisModel } from "../../packages/simulation/src/master/redis-model.ts";
import { ReplyError } from "../../packages/simulation/src/master/reply.ts";
import { clientScripts } from "../../packages/simulation/src/master/script-twins.ts";

// The model against a real redis-server: random command sequences, equal replies and equal expiry times. Each
// command goes out between two TIMEs in one packet. The model is asked for every millisecond that may have been
// the server's while it ran (nearly always one): one of them must give the same reply and leave every key with
// the same absolute expiry. There is no tolerance for a wrong model to hide in.

const sequences = 3000;
const commandsInOne = 14;
const keys = ["a", "b", "c"] as const;
const [claim, release] = clientScripts.map(({ sha1 }) => sha1) as [string, string];

type Line = readonly [string, ...(string | number)[]];

function token(random: Random): string {
  return random.pick(["t1", "t2", "t3"]);
}

/** Mostly what a client would send, sometimes what none should. Not beyond 2^53, where JavaScript ends. */
function ttl(random: Random): string | number {
  if (random.chance(0.04)) return random.pick(["0", "-1", "1.5", "x", "", "007", "-7"]);
  return random.chance(0.4) ? random.integer(1, 4) : random.integer(5, 60_000);
}

function someKeys(random: Random): readonly string[] {
  const first = random.integer(0, 2);
  return random.chance(0.6) ? [keys[first]!] : [keys[first]!, keys[(first + 1) % 3]!];
}

function scriptLine(random: Random): Line {
  const script = random.pick(clientScripts);
  const names = someKeys(random);
  const args =
    script.sha1 === claim
      ? [token(random), ttl(random), random.pick([0, 1, "1", ""])]
      : [token(random), token(random)];
  // Some counts that none should send: `args` are two or three more.
  const count = random.chance(0.04) ? random.pick([-1, "x", names.length + 4]) : names.length;
  if (random.chance(0.2)) return ["EVAL", script.source, count, ...names, ...args];
  return ["EVALSHA", random.chance(0.1) ? script.sha1.toUpperCase() : script.sha1, count, ...names, ...args];
}

function line(random: Random): Line {
  const key = random.pick(keys);
  const choice = random.integer(0, 19);
  if (choice < 5) return ["SET", key, token(random), "NX", "PX", ttl(random)];
  if (choice < 12) return scriptLine(random);
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
    ["SCRIPT", "EXISTS", claim, release.toUpperCase(), "0".repeat(40)],
    ["SCRIPT", "LOAD", random.pick(clientScripts).source],
    ["PING"],
    ["INCR", key],
    ["DECR", key],
    ["SET", key, random.integer(-3, 3), "PX", ttl(random)],
    ["NONSENSE", key, "x".repeat(random.integer(0, 150)), token(random)],
  ];
  return random.pick(rare);
}

/** What can be compared: of an error's text the part that does not quote the server's own line numbers. */
function comparable(reply: unknown, isScript: boolean): string {
  if (reply instanceof Error)
    return isScript ? `error ${reply.message.split(" ")[0]}` : `error ${reply.message}`;
  return JSON.stringify(reply);
}

interface Observation {
  readonly from: number;
  readonly to: number;
  readonly reply: unknown;
  /** PEXPIRETIME of each key: -2 is no key, -1 no expiry. */
  readonly expiries: readonly number[];
  /** When they had been asked for. On a busy machine that may be long after the command. */
  readonly until: number;
}

async function observe(redis: Redis, [command, ...args]: Line): Promise<Observation> {
  const pipeline = redis
    .pipeline()
    .call("TIME")
    .call(command, ...args)
    .call("TIME");
  for (const key of keys) pipeline.call("PEXPIRETIME", key);
  pipeline.call("TIME");
  const results = (await pipeline.exec())!.map(([error, result]) => error ?? result);
  const [before, reply, after, ...expiries] = results.slice(0, -1);
  return {
    from: milliseconds(before),
    to: milliseconds(after),
    reply,
    expiries: expiries as number[],
    until: milliseconds(results.at(-1)),
  };
}

function milliseconds(time: unknown): number {
  const [seconds, microseconds] = time as [string, string];
  return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
}

interface Candidate {
  readonly now: number;
  readonly entries: ReadonlyMap<string, Entry>;
  readonly reply: unknown;
  readonly expiries: readonly number[];
}

/** What the model makes of `line` at `now`, from these keys; scripts are kept in `model`. */
function tried(
  model: RedisModel,
  entries: ReadonlyMap<string, Entry>,
  [command, ...args]: Line,
  now: number,
): Candidate {
  model.replaceKeyspace(new Keyspace(entries));
  let reply: unknown;
  try {
    reply = model.execute(command, args, now);
  } catch (error) {
    if (!(error instanceof ReplyError)) throw error;
    reply = error;
  }
  const after = new Map(model.keyspace.entries());
  const expiries = keys.map((key) => {
    const entry = model.keyspace.get(key, now);
    return entry ? (entry.expiresAt ?? -1) : -2;
  });
  return { now, entries: after, reply, expiries };
}

/**
 * The server looked at the expiries a little later than at the command: by then one more may be over. And in a
 * script that a new millisecond began in, a later SET counts from there (Redis 7.0).
 */
function agrees(candidate: Candidate, seen: Observation, isScript: boolean): boolean {
  if (comparable(candidate.reply, isScript) !== comparable(seen.reply, isScript)) return false;
  return candidate.expiries.every((expiry, index) => {
    const real = seen.expiries[index]!;
    if (expiry === real || (real === -2 && expiry > 0 && expiry < seen.until)) return true;
    return isScript && expiry > 0 && real > expiry && real <= expiry + seen.to - candidate.now;
  });
}

/** The candidate's keys with the expiries that the server gave them. */
function adopted({ entries }: Candidate, { expiries }: Observation): ReadonlyMap<string, Entry> {
  const exact = [...entries].map(([key, entry]): [string, Entry] => {
    const real = expiries[keys.indexOf(key as (typeof keys)[number])]!;
    return [key, real > 0 ? { ...entry, expiresAt: real } : entry];
  });
  return new Map(exact);
}

async function runSequence(redis: Redis, random: Random, label: string): Promise<void> {
  await redis.pipeline().flushall().call("SCRIPT", "FLUSH").exec();
  let entries: ReadonlyMap<string, Entry> = new Map();
  const model = new RedisModel(new Keyspace(), "x");
  const story: string[] = [];
  for (let index = 0; index < commandsInOne; index += 1) {
    if (random.chance(0.03)) await sleep(random.integer(1, 5));
    const command = line(random);
    const isScript = command[0].startsWith("EVAL");
    const seen = await observe(redis, command);
    const candidates: Candidate[] = [];
    for (let now = seen.from; now <= seen.to; now += 1) candidates.push(tried(model, entries, command, now));
    const matching = candidates.find((candidate) => agrees(candidate, seen, isScript));
    story.push(`${JSON.stringify(command)} at ${seen.from}..${seen.to}: ${comparable(seen.reply, isScript)}`);
    if (!matching) {
      const model = candidates.map(({ reply, expiries }) => [comparable(reply, isScript), expiries]);
      throw new Error(
        `${label}\n${story.join("\n")}\nserver's expiries ${JSON.stringify(seen.expiries)}\nmodel ${JSON.stringify(model)}`,
      );
    }
    entries = adopted(matching, seen);
  }
}

let masters: Awaited<ReturnType<typeof startMasters>>;
let redis: Redis;

beforeAll(async () => {
  masters = await startMasters(1);
  redis = new Redis(masters.urls[0]!);
}, 60_000);

afterAll(async () => {
  redis?.disconnect();
  await masters?.stop();
});

test(`${sequences} sequences of ${commandsInOne} random commands: the model answers as Redis does`, async () => {
  for (let sequence = 0; sequence < sequences; sequence += 1) {
    await runSequence(redis, new Random(sequence, "differential"), `sequence ${sequence}`);
  }
  expect.assertions(0);
}, 120_000);
