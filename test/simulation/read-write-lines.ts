import { readWriteScripts } from "@quorlock/redlock/read-write-lock";
import type { Random } from "@quorlock/simulation";
// The package has no name for the inside of a master.
import { knowReadWriteScripts } from "../../packages/simulation/src/read-write/twins.ts";

knowReadWriteScripts(readWriteScripts);

// Calls of the scripts of readers and writers, drawn at random. Only the client composes these calls, so their
// numbers are valid.

type Line = readonly [string, ...(string | number)[]];

const [writer, readers, intent] = ["write", "readers", "intent"].map((what) => `quorlock:rw:{a}:${what}`);
const keys = [writer!, readers!, intent!];

/** Few, so that they meet. */
const token = (random: Random): string => random.pick(["t1", "t2", "t3"]);

const ttl = (random: Random): number =>
  random.chance(0.4) ? random.integer(1, 4) : random.integer(5, 60_000);

const how = (random: Random): string => random.pick(["vote", "vote", "repair", "renew"]);

const argumentsOf: Readonly<Record<keyof typeof readWriteScripts, (random: Random) => Line[number][]>> = {
  read: (random) => [token(random), ttl(random), how(random)],
  write: (random) => [
    token(random),
    ttl(random),
    random.chance(0.2) ? "wait" : how(random),
    random.pick([0, ttl(random)]),
    random.pick(["w1", "w2"]),
  ],
  release: (random) => (random.chance(0.5) ? [token(random)] : [token(random), token(random)]),
  withdraw: (random) => [random.pick(["w1", "w2"])],
};

/** A call of one of the scripts, or now and then a command of those that they are made of. */
export function readWriteLine(random: Random): Line {
  if (random.chance(0.1)) return sortedSetLine(random);
  const name = random.pick<keyof typeof readWriteScripts>([
    "read",
    "read",
    "read",
    "write",
    "write",
    "release",
    "withdraw",
  ]);
  const { source, sha1 } = readWriteScripts[name];
  const script: Line = random.chance(0.5) ? ["EVAL", source] : ["EVALSHA", sha1];
  return [...script, keys.length, ...keys, ...argumentsOf[name](random)];
}

function sortedSetLine(random: Random): Line {
  const bound = (): string => random.pick(["-inf", "+inf", "(0", "1", "(x", "", `(${random.integer(1, 3)}`]);
  return random.pick<Line>([
    ["ZSCORE", readers!, token(random)],
    ["ZSCORE", random.pick([writer!, intent!]), token(random)],
    ["ZREMRANGEBYSCORE", readers!, bound(), bound()],
    ["ZREMRANGEBYSCORE", writer!, "-inf", bound()],
    ["ZADD", random.pick([readers!, intent!]), random.integer(1, 3), token(random)],
    ["PEXPIRE", readers!, ttl(random)],
    ["SET", random.pick([writer!, readers!]), token(random)],
  ]);
}
