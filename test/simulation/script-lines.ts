import type { Random } from "@quorlock/simulation";
// The package has no name for the inside of a master: this is for just that.
import { clientScripts, type ScriptName } from "../../packages/simulation/src/master/known-scripts.ts";

// Calls of the client's scripts, drawn at random: mostly what a client would send, sometimes what none should.

type Line = readonly [string, ...(string | number)[]];

/** The first has a subscriber, the second has none, and the last is no inbox. */
export const inboxes: readonly string[] = ["heard", "unheard", "-"];

/** Of earlier and later rounds of the same waiters, and some without rounds. */
export function token(random: Random): string {
  return random.pick(["t1", "t2", "w1.1", "w1.2", "w1.10", "w2.1", "w2.2", "w3.1"]);
}

/** Not beyond 2^53, where JavaScript ends. */
export function ttl(random: Random): string | number {
  if (random.chance(0.04)) return random.pick(["0", "-1", "1.5", "x", "", "007", "-7"]);
  return random.chance(0.3) ? random.integer(1, 4) : random.integer(5, 60_000);
}

/** Of a fencing token: small, usual, and too large. */
function proposal(random: Random): number {
  return random.pick([7, 1_700_000_000_000_000, 9_007_199_254_740_991]);
}

/** A call of one of the scripts. */
export function scriptLine(random: Random, someKeys: (random: Random) => readonly string[]): Line {
  const name = random.pick<keyof typeof argumentsOf>([
    "claimScript",
    "enqueueScript",
    "releaseScript",
    "leaveScript",
    "guardedClaimScript",
    "guardedLeaveScript",
    "voteBatchScript",
    "releaseBatchScript",
    "batchScript",
    "batchScript",
  ]);
  return callOf(name, random, someKeys);
}

/** A call of a script that concerns no lock. */
export function otherScriptLine(random: Random, someKeys: (random: Random) => readonly string[]): Line {
  return callOf(random.pick(["ownerScript", "waitersScript"]), random, someKeys);
}

function callOf(
  name: keyof typeof argumentsOf,
  random: Random,
  someKeys: (random: Random) => readonly string[],
): Line {
  const { source, sha1 } = clientScripts[name];
  const { keys, args } = argumentsOf[name](random, () => someKeys(random));
  // Some counts that none should send.
  const count = random.chance(0.02) ? random.pick([-1, "x", keys.length + args.length + 1]) : keys.length;
  if (random.chance(0.2)) return ["EVAL", source, count, ...keys, ...args];
  return ["EVALSHA", random.chance(0.1) ? sha1.toUpperCase() : sha1, count, ...keys, ...args];
}

/** Releases keys that are held, by their tokens; and perhaps claims them again in the same script. */
export function givingUpLine(random: Random, held: ReadonlyArray<readonly [string, string]>): Line {
  const [key, owner] = random.pick(held);
  const name = random.pick([
    ...(["leaveScript", "guardedLeaveScript", "releaseBatchScript", "batchScript", "batchScript"] as const),
  ]);
  const { source } = clientScripts[name];
  if (name === "releaseBatchScript") return ["EVAL", source, ...allOf(random, held)];
  if (name === "leaveScript") return ["EVAL", source, 1, key, owner];
  if (name === "guardedLeaveScript") return ["EVAL", source, 1, key, terms(random), owner];
  const given = `${random.pick(["l", "r"])}1,0;`;
  const taken = random.chance(0.5) ? [] : [question(random, [key])];
  const list = given + taken.map(({ text }) => text).join("");
  const keys = [key, ...taken.flatMap((one) => one.keys)];
  return ["EVAL", source, keys.length, ...keys, list, owner, ...taken.flatMap(({ args }) => args)];
}

/** The count of keys, those of all that is held or of some of it, perhaps one twice, and the token of each. */
function allOf(random: Random, held: ReadonlyArray<readonly [string, string]>): readonly (string | number)[] {
  const some = held.slice(random.integer(0, held.length - 1));
  if (random.chance(0.2)) some.push(random.pick(held));
  return [some.length, ...some.map(([key]) => key), ...some.map(([, owner]) => owner)];
}

interface Arguments {
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
}

const argumentsOf: Readonly<
  Record<
    Exclude<ScriptName, "sharedBatchScript">,
    (random: Random, keys: () => readonly string[]) => Arguments
  >
> = {
  claimScript: (random, keys) => ({
    keys: keys(),
    args: [
      token(random),
      ttl(random),
      random.pick([0, 1, "1", ""]),
      ...(random.chance(0.3) ? [proposal(random)] : []),
    ],
  }),
  enqueueScript: (random, keys) => ({
    keys: keys(),
    args: [
      random.chance(0.9) ? random.pick(["w1.1", "w1.2", "w1.10", "w2.1", "w2.2", "w3.1"]) : "w3.2",
      // (Always a number: where an entry says anything else, the model finds that earlier than the script.)
      random.chance(0.3) ? random.integer(1, 4) : random.integer(5, 60_000),
      random.pick([1, 2, 3, 1_700_000_000_000]),
      random.chance(0.15) ? random.integer(0, 3) : random.integer(4, 60_000),
      random.chance(0.7) ? "" : proposal(random),
      random.pick(inboxes),
    ],
  }),
  ownerScript: (random) => ({
    keys: ["quorlock:owners", "quorlock:owner:1"],
    args: [random.pick(["tag1", "tag2"]), "a record", random.pick([0, 3, 60_000]), random.integer(0, 99)],
  }),
  waitersScript: (_, keys) => ({ keys: keys().slice(0, 1), args: [] }),
  releaseScript: (random, keys) => ({ keys: keys(), args: [token(random)] }),
  leaveScript: (random, keys) => ({ keys: keys(), args: [token(random)] }),
  guardedClaimScript: (random, keys) => {
    const kind = random.pick(["v", "v", "p", "e"]);
    const proposed = random.chance(0.7) ? "" : proposal(random);
    // (Never 0: for a free key that is an error, and which command meets it first is not the same.)
    const wished = Math.max(1, lifetime(random));
    return { keys: keys(), args: [kind, token(random), wished, proposed, terms(random)] };
  },
  guardedLeaveScript: (random, keys) => ({ keys: keys(), args: [terms(random), token(random)] }),
  voteBatchScript: (random, keys) => {
    const all = Array.from({ length: random.integer(1, 4) }, () => keys()[0]!);
    return { keys: all, args: [ttl(random), ...all.map(() => token(random))] };
  },
  releaseBatchScript: (random, keys) => {
    const all = Array.from({ length: random.integer(1, 4) }, () => keys()[0]!);
    return { keys: all, args: all.map(() => token(random)) };
  },
  batchScript: (random, keys) => {
    const first = random.chance(0.25) ? heldAndGivenUp(random, keys) : [];
    const questions = [...first, ...Array.from({ length: random.integer(1, 5) }, () => run(random, keys))];
    return {
      keys: questions.flatMap((one) => one.keys),
      args: [questions.map(({ text }) => text).join(""), ...questions.flatMap(({ args }) => args)],
    };
  },
};

/** Of the restart guard. */
const epochs = [11, 12] as const;

/** The guard's terms of a client; see the guard's script. */
function terms(random: Random): string {
  const maxTtl = random.pick([5, 40_000, 60_000, 60_000, 60_000]);
  const now = random.pick([1_700_000_000_000, 1_700_000_000_001, 1_700_000_000_900, 1_699_000_000_000]);
  const right = random.pick([0, 1, 1, 1, 2, 3, 4]);
  const database = random.pick([0, 0, 0, 7]);
  const after = random.pick([0, 0, 0, 11, 13]);
  return `${maxTtl},${random.pick(epochs)},${random.integer(0, 1)},${right},${now},${database},${after}`;
}

/** A ttl as the client sends it: a number. */
function lifetime(random: Random): number {
  return random.chance(0.2) ? random.integer(0, 4) : random.integer(5, 60_000);
}

export type Listed = Arguments & { readonly text: string };

/** One of a batch; or some in a row that are alike but for their keys, which may be the same, and their tokens. */
function run(random: Random, keys: () => readonly string[]): Listed {
  const first = question(random, keys());
  if (!/^[verpl]/.test(first.text) || random.chance(0.6)) return first;
  const others = Array.from({ length: random.integer(1, 3) }, () => {
    const drawn = keys();
    const isAlike = drawn.length === first.keys.length;
    return { keys: isAlike ? drawn : first.keys, args: first.args.map(() => token(random)) };
  });
  return listed([first, ...others], first.text);
}

/** Votes in a row, and behind them their releases: most of those are done in bulk. */
function heldAndGivenUp(random: Random, keys: () => readonly string[]): readonly Listed[] {
  const holds = Array.from({ length: random.integer(2, 3) }, () => ({
    keys: keys().slice(0, 1),
    args: [token(random)],
  }));
  const between = random.chance(0.5) ? [] : [run(random, keys)];
  return [listed(holds, `v1,${random.integer(5, 60_000)};`), ...between, listed(holds, "l1,0;")];
}

function listed(all: readonly Arguments[], text: string): Listed {
  const keys = all.flatMap((one) => one.keys);
  return { keys, args: all.flatMap(({ args }) => args), text: `${all.length}${text}` };
}

/** One question of a batch. A waiter that enqueues mostly has a round. */
export function question(random: Random, keys: readonly string[]): Listed {
  const kind = random.pick(["v", "u", "p", "e", "r", "l", "l", "i", "q", "q", "q", "q", "g", "g", "h", "f"]);
  const wished = lifetime(random);
  const own = token(random);
  const head = `${kind}${keys.length},`;
  const proposed = random.chance(0.7) ? "" : proposal(random);
  const fence = proposed === "" ? "" : `,0,0,${proposed}`;
  switch (kind) {
    case "r":
    case "l":
      return { keys, args: [own], text: `${head}0;` };
    case "g":
      return { keys: [], args: [random.chance(0.1) ? "0" : terms(random)], text: "g0,0;" };
    case "h":
      return { keys: [], args: [], text: "h0,0;" };
    case "f":
      return {
        keys: [],
        args: [],
        text: `f0,${random.pick(epochs)},${random.pick([3, 1_700_000_000_000_001])};`,
      };
    case "i":
      return { keys, args: [], text: `${head}0;` };
    case "q": {
      const patience = random.chance(0.15) ? random.integer(0, 3) : random.integer(4, 60_000);
      const ticket = random.pick([1, 2, 3, 1_700_000_000_000]);
      const args = [random.chance(0.9) && !own.includes(".") ? "w3.2" : own, random.pick(inboxes)];
      return { keys, args, text: `${head}${wished},${ticket},${patience},${proposed};` };
    }
    default:
      return { keys, args: [own], text: `${head}${wished}${fence};` };
  }
}
