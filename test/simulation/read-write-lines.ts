import { sharedBatchScript } from "@quorlock/redlock/internal";
import type { Random } from "@quorlock/simulation";
import { inboxes, type Listed, question } from "./script-lines.ts";

// Calls of the script of locks that may be shared, drawn at random. Only the client composes these calls: each
// question has one key, and the numbers are valid.

type Line = readonly [string, ...(string | number)[]];

const parts = ["write", "readers", "rounds", "marks"];
const [writer, readers, rounds, marks] = parts.map((what) => `quorlock:rw:{a}:${what}`);
const keys = [writer!, readers!, rounds!, marks!];
const queue = `quorlock:queue:tagged:${writer}`;

/** Few, so that they meet. */
const token = (random: Random): string => random.pick(["t1", "w1.1", "w1.2", "w2.1", "w3.1"]);

const ttl = (random: Random): number =>
  random.chance(0.4) ? random.integer(1, 4) : random.integer(5, 60_000);

/** A call of the script, or now and then a command of those that it is made of. */
export function readWriteLine(random: Random): Line {
  if (random.chance(0.1)) return sortedSetLine(random);
  const count = random.chance(0.6) ? 1 : random.integer(2, 4);
  const all = Array.from({ length: count }, () => listed(random));
  const list = all.map(({ text }) => text).join("");
  const named = [...all.flatMap((one) => one.keys), ...keys];
  const { source, sha1 } = sharedBatchScript;
  const script: Line = random.chance(0.5) ? ["EVAL", source] : ["EVALSHA", sha1];
  return [...script, named.length, ...named, list, ...all.flatMap(({ args }) => args)];
}

/** Mostly votes, entries and releases of tokens that meet. */
function listed(random: Random): Listed {
  const key = random.pick([writer!, readers!, readers!]);
  const drawn = question(random, [key]);
  // (Only locks with one owner are voted for behind another key.)
  if (random.chance(0.3) && !drawn.text.startsWith("u")) return drawn;
  const own = token(random);
  const kind = random.pick(["v", "v", "q", "q", "p", "e", "l", "l", "l", "r", "i", "m"]);
  if (kind === "q") {
    const [waiter, inbox] = [random.pick(["w1.1", "w2.1", "w3.1"]), random.pick([inboxes[0]!, ...inboxes])];
    return { keys: [key], args: [waiter, inbox], text: `q1,${ttl(random)},${random.integer(1, 3)},60000,;` };
  }
  if (kind === "m") {
    const name = random.pick(["m1", "m2"]);
    return { keys: [key], args: [name], text: `m1,${random.chance(0.3) ? 0 : ttl(random)};` };
  }
  if (kind === "i") return { keys: [key], args: [], text: "i1,0;" };
  if (kind === "l" || kind === "r") return { keys: [key], args: [own], text: `${kind}1,0;` };
  return { keys: [key], args: [own], text: `${kind}1,${ttl(random)};` };
}

function sortedSetLine(random: Random): Line {
  const bound = (): string => random.pick(["-inf", "+inf", "(0", "1", "(x", "", `(${random.integer(1, 3)}`]);
  return random.pick<Line>([
    ["ZSCORE", readers!, random.pick(["w1", "w2", "t1"])],
    ["ZSCORE", random.pick([writer!, rounds!]), "w1"],
    ["ZREMRANGEBYSCORE", readers!, bound(), bound()],
    ["ZREMRANGEBYSCORE", writer!, "-inf", bound()],
    ["ZADD", random.pick([readers!, queue]), random.integer(1, 3), random.pick(["w1", "w2"])],
    ["PEXPIRE", random.pick([readers!, queue]), ttl(random)],
    ["SET", writer!, token(random)],
  ]);
}
