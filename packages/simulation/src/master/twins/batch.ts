import { type Reply, ReplyError } from "../reply.ts";
import { claim, masked, release } from "./claims.ts";
import { exclusiveOnly, type Family, ownerOf, SharedClaims } from "./family.ts";
import { checkProposal, fenced } from "./fence.ts";
import { bar, type Guarded, guardState, inQuarantine, restoreCounters, watch } from "./guard.ts";
import { Queue, type QueueEntry, queueOf } from "./queue.ts";
import type { Rules } from "./rules.ts";
import type { Call } from "./twin.ts";

/** One operation of a batch. */
interface Operation {
  readonly kind: string;
  readonly keys: readonly string[];
  /** Its tokens, or its token and what comes behind it. */
  readonly args: readonly string[];
  readonly numbers: readonly [number: string, ticket: string, patience: string];
  /** The fencing token that is proposed; empty for none. */
  readonly proposal: string;
}

/** `sharedBatchScript`: the same for locks that may be shared. */
export function sharedBatch(
  rules: Rules,
  call: Call,
  keys: readonly string[],
  args: readonly string[],
): Reply {
  return batch(rules, call, keys, args, new SharedClaims(rules, call));
}

/** Operation after operation; one that fails is answered by an error. */
export function batch(
  rules: Rules,
  call: Call,
  keys: readonly string[],
  [list = "", ...args]: readonly string[],
  family: Family = exclusiveOnly(call),
): Reply {
  let guarded: Guarded | undefined;
  const replies: Reply[] = [];
  for (const operation of operationsIn(list, keys, args)) {
    const { kind, numbers } = operation;
    try {
      if (kind === "g") guarded = watch(rules, call, operation.args[0] ?? "");
      else if (kind === "f") {
        const seeded = restoreCounters(rules, call, guarded, numbers[0], numbers[1]);
        guarded = seeded ?? guarded;
        replies.push(seeded ? 1 : 0);
      } else replies.push(run(rules, call, operation, guarded, family));
    } catch (error) {
      if (!(error instanceof ReplyError)) throw error;
      if (kind === "g") guarded = { wanted: "", now: 0, why: error.message };
      else replies.push([0, error.message]);
    }
  }
  return replies;
}

/** `voteBatchScript`: returns the number of votes if one command granted each. */
export function voteBatch(
  rules: Rules,
  call: Call,
  keys: readonly string[],
  [ttl = "", ...tokens]: readonly string[],
): Reply {
  let set = 0;
  const replies = keys.map((key, index) =>
    replyOf(() => {
      if (call("SET", key, tokens[index]!, "NX", "PX", ttl) === null)
        return claim(rules, call, [key], tokens[index]!, ttl, { create: true });
      set += 1;
      return Number(ttl);
    }),
  );
  return set === keys.length ? set : replies;
}

/** `releaseBatchScript`: returns the number of releases if all keys are deleted at once. */
export function releaseBatch(
  rules: Rules,
  call: Call,
  keys: readonly string[],
  tokens: readonly string[],
): Reply {
  const gone = replyOf(() => releaseAllUnwaited(call, keys, tokens));
  if (typeof gone === "number") return gone;
  return keys.map((key, index) => replyOf(() => leave(rules, call, [key], [tokens[index]!])));
}

/** Nothing where one of them is not held, or waited for. */
function releaseAllUnwaited(call: Call, keys: readonly string[], tokens: readonly string[]): Reply {
  if (new Set(keys).size < keys.length) return null;
  const isPlain = keys.every(
    (key, index) => ownerOf(call, key) === tokens[index] && call("EXISTS", queueOf(key)) === 0,
  );
  return isPlain ? call("DEL", ...keys) : null;
}

/** Of one operation among others: that it failed is its reply. */
function replyOf(run: () => Reply): Reply {
  try {
    return run();
  } catch (error) {
    if (error instanceof ReplyError) return [0, error.message];
    throw error;
  }
}

/** Of each operation in the list of a batch: its kind, and what in `keys` and `args` is its own. */
export function operationsIn(
  list: string,
  keys: readonly string[],
  args: readonly string[],
): readonly Operation[] {
  let key = 0;
  let arg = 0;
  const entries = [...list.matchAll(/(\d*)([A-Za-z])(\d+),(\d+),?(\d*),?(\d*),?(\d*);/g)];
  return entries
    .flatMap((entry) => Array.from({ length: Number(entry[1] || 1) }, () => entry))
    .map((entry): Operation => {
      const [, , kind = "", count, number = "", ticket = "", patience = "", proposal = ""] = entry;
      const from = { key, arg };
      key += Number(count);
      if (kind === "r" || kind === "l") arg += Number(number);
      else if (kind === "q") arg += 2;
      else if ("vupegm".includes(kind)) arg += 1;
      return {
        kind,
        keys: keys.slice(from.key, key),
        args: args.slice(from.arg, arg),
        numbers: [number, ticket, patience],
        proposal,
      };
    });
}

/** Those that have a reply: the restart guard only watches. */
export function repliedIn(operations: readonly Operation[]): readonly Operation[] {
  return operations.filter(({ kind }) => kind !== "g");
}

function run(
  rules: Rules,
  call: Call,
  operation: Operation,
  guarded: Guarded | undefined,
  family: Family,
): Reply {
  const { kind, keys, args, proposal } = operation;
  if (kind === "h") return guardState(call, guarded);
  if (kind === "c") return call("TIME");
  if (kind === "m" && family.shared)
    return family.shared.mark(keys[0]!, args[0]!, Number(operation.numbers[0]));
  const isQuarantined = inQuarantine(guarded);
  if (kind === "r" || (kind === "l" && isQuarantined && !rules.handsOverInQuarantine))
    return release(rules, call, keys, args, family);
  const queue = new Queue(rules, call, isSeeded(guarded), family);
  if (kind === "l")
    return family.shared ? queue.leave(keys, args) : leave(rules, call, keys, args, isSeeded(guarded));
  if (kind === "i") return inspection(call, keys[0]!, family);
  checkProposal(proposal);
  if (kind === "q" && isQuarantined && rules.handsOverInQuarantine)
    queue.stand(keys, queueEntryIn(operation));
  if (guarded) bar(rules, call, guarded, { kind, ttl: operation.numbers[0], proposal });
  if (kind === "u") return voteUnless(rules, call, operation, guarded, family);
  return claimedIn(rules, call, operation, guarded, family);
}

function inspection(call: Call, key: string, family: Family): Reply {
  const queue = queueOf(family.exclusive(key));
  const owner = family.shared
    ? family.ownerFor(family.exclusive(key), "")
    : (call("GET", key) as string | null);
  return [masked(owner), family.leftOf(key), call("ZCARD", queue)];
}

/** A vote for all keys but the last, if nobody has that one. */
function voteUnless(
  rules: Rules,
  call: Call,
  operation: Operation,
  guarded: Guarded | undefined,
  family: Family,
): Reply {
  const last = operation.keys.at(-1)!;
  const owner = ownerOf(call, last);
  if (owner !== null) return [operation.keys.length, masked(owner), call("PTTL", last)];
  const vote = { ...operation, kind: "v", keys: operation.keys.slice(0, -1) };
  return claimedIn(rules, call, vote, guarded, family);
}

function claimedIn(
  rules: Rules,
  call: Call,
  operation: Operation,
  guarded: Guarded | undefined,
  family: Family,
): Reply {
  const { kind, keys, proposal } = operation;
  const isQuarantined = inQuarantine(guarded);
  let { reply, next } = claimed(rules, call, operation, isSeeded(guarded), family);
  const { shared } = family;
  if (shared?.joined !== undefined) {
    const { joined } = shared;
    shared.joined = undefined;
    if (!isQuarantined) new Queue(rules, call, isSeeded(guarded), family).give(joined);
  }
  if (isQuarantined && typeof reply === "number" && !rules.votesInQuarantine) return [-2, reply];
  if (typeof reply !== "number" && kind === "e" && proposal !== "" && rules.writesBackAnyway)
    reply = Number(operation.numbers[0]);
  return withNext(
    rules,
    call,
    keys.map((key) => family.exclusive(key)),
    reply,
    proposal,
    next,
  );
}

/** The reply to a claim, with the ticket behind a queue entry that is granted. */
export function withNext(
  rules: Rules,
  call: Call,
  keys: readonly string[],
  granted: Reply,
  proposal: string,
  next: string | undefined,
): Reply {
  if (typeof granted !== "number") return granted;
  if (proposal !== "") return fenced(rules, call, keys, granted, proposal, next);
  return next === undefined ? granted : [-3, granted, next];
}

/** `guardedClaimScript`: one operation behind the restart guard. */
export function guardedClaim(
  rules: Rules,
  call: Call,
  keys: readonly string[],
  [kind = "", token = "", ttl = "", proposal = "", terms = ""]: readonly string[],
): Reply {
  const operation = { kind, keys, args: [token], numbers: [ttl, "", ""], proposal } as const;
  checkProposal(proposal);
  return run(rules, call, operation, watch(rules, call, terms), exclusiveOnly(call));
}

/** `guardedLeaveScript`. */
export function guardedLeave(
  rules: Rules,
  call: Call,
  keys: readonly string[],
  [terms = "", ...tokens]: readonly string[],
): Reply {
  const given = releaseUnwaited(call, keys, tokens.at(-1));
  if (given !== undefined) return given;
  let isQuarantined = true;
  let guarded: Guarded | undefined;
  try {
    guarded = watch(rules, call, terms);
    isQuarantined = inQuarantine(guarded);
  } catch (error) {
    if (!(error instanceof ReplyError)) throw error;
  }
  if (isQuarantined && !rules.handsOverInQuarantine) return release(rules, call, keys, tokens);
  return new Queue(rules, call, isSeeded(guarded)).leave(keys, tokens);
}

/** `leaveScript`. */
export function leave(
  rules: Rules,
  call: Call,
  keys: readonly string[],
  tokens: readonly string[],
  hasCounters = true,
): Reply {
  return (
    releaseUnwaited(call, keys, tokens.at(-1)) ?? new Queue(rules, call, hasCounters).leave(keys, tokens)
  );
}

/** `releaseUnwaited` in the scripts: without waiters. */
function releaseUnwaited(call: Call, keys: readonly string[], token: string | undefined): Reply | undefined {
  const isPlain = keys.every((key) => ownerOf(call, key) === token && call("EXISTS", queueOf(key)) === 0);
  return isPlain ? keys.reduce((given, key) => given + (call("DEL", key) as number), 0) : undefined;
}

/** Whether fenced votes may be given. */
function isSeeded(guarded: Guarded | undefined): boolean {
  return guarded?.mark?.state !== "1";
}

function queueEntryIn({ args, numbers, proposal }: Operation): QueueEntry {
  const [token = "", inbox = ""] = args;
  const [ttl, ticket, patience] = numbers;
  return { token, ttl, ticket, patience, proposal, inbox };
}

function claimed(
  rules: Rules,
  call: Call,
  operation: Operation,
  hasCounters: boolean,
  family: Family,
): { readonly reply: Reply; readonly next?: string | undefined } {
  const { kind, keys, args, numbers } = operation;
  const [number] = numbers;
  const [token = ""] = args;
  const queue = new Queue(rules, call, hasCounters, family);
  const isPlain = kind === "v" && !family.shared && keys.length === 1;
  if (isPlain && call("SET", keys[0]!, token, "NX", "PX", number)) return { reply: Number(number) };
  const refusal = kind === "v" ? queue.refusalByWaiters(keys[0]!, token) : undefined;
  if (refusal !== undefined) return { reply: refusal };
  if (kind === "q") return { reply: queue.enqueue(keys, queueEntryIn(operation)), next: queue.next };
  return { reply: claim(rules, call, keys, token, number, { create: kind !== "e", family }) };
}
