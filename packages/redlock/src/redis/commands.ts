import type { Answer, Guard, GuardState, KeyState, Outcome, Question, Verb } from "../protocol/node.ts";
import {
  batchScript,
  claimScript,
  enqueueScript,
  guardedClaimScript,
  guardedReleaseScript,
  releaseAndGrantScript,
  releaseBatchScript,
  releaseScript,
  type Script,
  sharedBatchScript,
  voteBatchScript,
} from "../scripts.generated.ts";
import type { Posted, Purpose } from "./batch.ts";
import type { Args, Message } from "./connection.ts";
import { claimedTimeIn, countIn, digitsIn, epochIn, timeLeftIn } from "./reply-numbers.ts";

interface Row {
  /** In the list of the batch script. */
  readonly letter: string;
  readonly purpose: Purpose;
  /** Whether its words are no values of the batch: they are in its list, or in the terms of the guard. */
  readonly isListed?: true;
  /** The answer in a reply; `undefined` if it is no valid answer to the question. */
  readonly answerIn: (question: Question, reply: unknown) => Answer | undefined;
}

/** All that the wire of scripts knows of each verb. */
export const verbs: Readonly<Record<Verb, Row>> = {
  vote: { letter: "v", purpose: "request", answerIn: claimAnswerIn },
  voteUnless: { letter: "u", purpose: "request", answerIn: claimAnswerIn },
  repair: { letter: "p", purpose: "keep", answerIn: claimAnswerIn },
  extend: { letter: "e", purpose: "keep", answerIn: claimAnswerIn },
  release: { letter: "l", purpose: "release", answerIn: ({ keys }, reply) => outcomeIn(reply, keys.length) },
  enqueue: { letter: "q", purpose: "request", answerIn: claimAnswerIn },
  inspect: { letter: "i", purpose: "request", answerIn: keyStateIn },
  mark: { letter: "m", purpose: "request", answerIn: (_, reply) => outcomeIn(reply, 1) },
  guardState: { letter: "h", purpose: "keep", isListed: true, answerIn: guardStateIn },
  restoreCounters: {
    letter: "f",
    purpose: "keep",
    isListed: true,
    answerIn: (_, reply) => outcomeIn(reply, 1),
  },
  time: { letter: "c", purpose: "request", answerIn: () => undefined },
};

/** Without a queue, a release only deletes. */
function letterOf({ question: { verb }, asker }: Posted): string {
  return verb === "release" && asker.inbox === undefined ? "r" : verbs[verb].letter;
}

/**
 * The keys of locks whose claims may be shared begin so: many readers or one writer (PROTOCOL 10.3). A script of their own has
 * their questions: see lua/shared.
 */
const sharedPrefix = "quorlock:rw:";

/** The keys of the claims on a lock that may be shared; a claim on one of them is exclusive or shared. */
export function claimKeysOf(name: string): { readonly exclusive: string; readonly shared: string } {
  return { exclusive: `${sharedPrefix}{${name}}:write`, shared: `${sharedPrefix}{${name}}:readers` };
}

/** Users cannot name a resource so: names with the prefix of the library's own keys are refused. */
function isSharable(key: string): boolean {
  return key.startsWith(sharedPrefix);
}

/** The other keys that a question on `key` reads or writes: a Cluster has to know them while the slot moves. */
function companionsOf(key: string): readonly string[] {
  const lock = key.slice(0, key.lastIndexOf(":"));
  return sharedParts.map((part) => `${lock}:${part}`).filter((other) => other !== key);
}

const sharedParts = ["write", "readers", "rounds", "marks"];

/** Whether the two cannot be in one batch: locks that may be shared have a script of their own. */
export function needsOtherScript({ keys: [key] }: Question, { keys: [other] }: Question): boolean {
  return key !== undefined && other !== undefined && isSharable(key) !== isSharable(other);
}

/** The questions of one batch, encoded as one command, once for all masters with the same questions. */
export interface Encoded extends Message {
  /** As they were posted for the first of the masters. */
  readonly posted: readonly Posted[];
  /** Their inboxes, which may be others by the time that the next master is sent them. */
  readonly inboxes: ReadonlyArray<string | undefined>;
  /** `undefined` for a SET. */
  readonly script: Script | undefined;
  /** The number of questions without the readings of the clock, which are last and share one reply behind the others. */
  readonly count: number;
  readonly readsTime: boolean;
}

/** Whether the command is that for these questions as well: the masters add the same to them. */
export function isEncodingOf({ posted: batch, inboxes }: Encoded, posted: readonly Posted[]): boolean {
  if (batch.length !== posted.length) return false;
  for (let index = 0; index < batch.length; index += 1) {
    const [one, other] = [batch[index]!, posted[index]!];
    if (one.question !== other.question || one.readsTime !== other.readsTime) return false;
    const { guard, inbox } = other.asker;
    if (one.asker.guard !== guard || inboxes[index] !== inbox) return false;
  }
  return true;
}

/** The command for the questions of one batch. */
export function encode(all: readonly Posted[]): Encoded {
  let count = all.length;
  while (count > 0 && all[count - 1]!.question.verb === "time") count -= 1;
  const posted = count === all.length ? all : all.slice(0, count);
  const readsTime = all.some((one) => one.readsTime);
  const { script, args: own } = commandOf(posted, readsTime);
  const command = script ? "EVALSHA" : "SET";
  const args = script ? [script.sha1, ...own] : own;
  const inboxes = all.map(({ asker }) => asker.inbox);
  return { posted: all, inboxes, count, readsTime, command, args, script, wire: undefined };
}

type Command = Pick<Encoded, "script" | "args">;

function commandOf(posted: readonly Posted[], readsTime: boolean): Command {
  const keyed = posted.find((one) => one.question.keys.length > 0)?.question.keys[0];
  if (keyed !== undefined && isSharable(keyed)) {
    // PROTOCOL 12.6.
    const companions = posted.flatMap((one) => one.question.keys.flatMap(companionsOf));
    return { script: sharedBatchScript, args: batchArgs(posted, readsTime, companions) };
  }
  // A reading of the clock is the last of a batch, in one step with the claims before it (PROTOCOL 11.4).
  if (readsTime) return { script: batchScript, args: batchArgs(posted, readsTime) };
  return posted.length === 1 ? singleCommand(posted[0]!) : batchCommand(posted);
}

/** The command for one question. */
function singleCommand(posted: Posted): Command {
  const { question, asker } = posted;
  const { guard, inbox = noInbox } = asker;
  const { verb, keys, words, ttl, proposal = "", entry } = question;
  const [token = ""] = words;
  const wholeTtl = Math.ceil(ttl);
  // A plain SET for one resource, so that a single lock costs no script call (PROTOCOL 2.2).
  if (verb === "vote" && keys.length === 1 && !guard && proposal === "")
    return { script: undefined, args: [keys[0]!, token, "NX", "PX", wholeTtl] };
  const letter = letterOf(posted);
  // All claims and releases have a script of their own, but `voteUnless` and a guarded queue entry.
  if (!(guard ? "vperl" : "vpeqrl").includes(letter))
    return { script: batchScript, args: batchArgs([posted]) };
  const count = keys.length;
  // Without a queue, a release grants no key, so the guard has nothing to check.
  if (letter === "r") return { script: releaseScript, args: [count, ...keys, ...words] };
  if (letter === "l" && guard)
    return { script: guardedReleaseScript, args: [count, ...keys, guard.terms(question), ...words] };
  if (letter === "l") return { script: releaseAndGrantScript, args: [count, ...keys, ...words] };
  if (guard) {
    const args = [count, ...keys, letter, token, wholeTtl, proposal, guard.terms(question)];
    return { script: guardedClaimScript, args };
  }
  const args = [count, ...keys, token, wholeTtl];
  if (entry) {
    args.push(Math.ceil(entry.ticket), Math.ceil(entry.ttl), proposal, inbox);
    return { script: enqueueScript, args };
  }
  args.push(verb === "extend" ? 0 : 1);
  if (proposal !== "") args.push(proposal);
  return { script: claimScript, args };
}

/** The command for several questions: a special script if all are votes or all are releases. */
export function batchCommand(posted: readonly Posted[]): Command {
  const script = homogeneousScript(posted);
  if (!script) return { script: batchScript, args: batchArgs(posted) };
  const args: (string | number)[] = [posted.length];
  for (const { question } of posted) args.push(question.keys[0]!);
  if (script === voteBatchScript) args.push(Math.ceil(posted[0]!.question.ttl));
  for (const { question } of posted) args.push(question.words[0]!);
  return { script, args };
}

/**
 * The reply to each question of a batch, in order, and behind them that of the clock. With too few or too many replies they
 * cannot be assigned: then none (PROTOCOL 12.3).
 */
export function repliesIn({ posted, count, readsTime, script }: Encoded, reply: unknown): readonly unknown[] {
  const isBatch = script === batchScript || script === sharedBatchScript;
  if (posted.length === 1 && !isBatch) return [reply];
  if (Array.isArray(reply)) return reply.length === count + Number(readsTime) ? reply : [];
  // The short form: every question succeeded.
  if (reply !== posted.length || isBatch) return [];
  return posted.map(({ question }) => (question.verb === "vote" ? Math.ceil(question.ttl) : 1));
}

function homogeneousScript(posted: readonly Posted[]): Script | undefined {
  const first = posted[0]!;
  const { verb, keys, proposal } = first.question;
  if (keys.length > 1 || first.asker.guard || proposal !== undefined) return undefined;
  const grants = verb === "release" && first.asker.inbox !== undefined;
  const script = verb === "vote" ? voteBatchScript : grants ? releaseBatchScript : undefined;
  return script && posted.every((_, index) => sameShapeAt(posted, index, first)) ? script : undefined;
}

/** The arguments of the batch script; `readsTime`: with the clock at the end. `companions`: further keys to declare. */
export function batchArgs(
  posted: readonly Posted[],
  readsTime = false,
  companions: readonly string[] = [],
): Args {
  const args: (string | number)[] = [0];
  const values: string[] = [];
  let list = "";
  let latest: Guard | Question | undefined;
  for (let index = 0; index < posted.length; ) {
    const first = posted[index]!;
    const { question, asker } = first;
    const { guard, inbox = noInbox } = asker;
    const { verb } = question;
    // The terms of a guard are the same for all but a question that says which.
    const terms = verb === "guardState" && question.words.length > 0 ? question : guard;
    if (terms !== latest) {
      list += "g0,0;";
      values.push(guard?.terms(question) ?? "0");
    }
    latest = terms;
    // Equal questions in a row are written once, with a count.
    let times = 0;
    for (let next: Posted | undefined = first; next; next = sameShapeAt(posted, index, first)) {
      for (const key of next.question.keys) args.push(key);
      if (!verbs[verb].isListed) for (const word of next.question.words) values.push(word);
      if (verb === "enqueue") values.push(inbox);
      times += 1;
      index += 1;
    }
    list += `${times > 1 ? times : ""}${letterOf(first)}${question.keys.length},${numbersOf(question)};`;
  }
  if (readsTime) list += "c0,0;";
  args.push(...companions);
  args[0] = args.length - 1;
  args.push(list);
  for (const word of values) args.push(word);
  return args;
}

/** The posted question at `index`, if the batch list describes it in the same way as `other`. */
function sameShapeAt(posted: readonly Posted[], index: number, other: Posted): Posted | undefined {
  const next = posted[index];
  if (next === undefined || next.asker.guard !== other.asker.guard) return undefined;
  const { question: one } = next;
  const { verb, keys, ttl, proposal } = other.question;
  const isAlike =
    one.verb === verb &&
    letterOf(next) === letterOf(other) &&
    one.keys.length === keys.length &&
    // A question keeps its own ttl (PROTOCOL 12.4).
    one.ttl === ttl &&
    one.proposal === proposal;
  // Queue entries and restored counters carry further numbers, and a reading of the guard state its own terms.
  return isAlike && verb !== "enqueue" && !verbs[verb].isListed ? next : undefined;
}

/** The inbox of a queue entry without a working subscription. */
export const noInbox = "-";

/** The meaning of a reply; `undefined` if it is not a valid answer to the question. */
export function decode(question: Question, reply: unknown): Answer | undefined {
  return verbs[question.verb].answerIn(question, reply);
}

function outcomeIn(reply: unknown, all: number): Outcome | undefined {
  // The usual reply, without a look at what else it may be.
  if (reply === all) return done;
  return countIn(reply, all) === undefined ? undefined : missed;
}

/** The answer to a claim of any kind. */
function claimAnswerIn({ keys, ttl }: Question, reply: unknown): Answer | undefined {
  if (!Array.isArray(reply)) {
    const remaining = claimedTimeIn(reply, ttl);
    return remaining === undefined ? undefined : { is: "yes", remaining };
  }
  const [kind, time, third, fourth] = reply as readonly unknown[];
  if (kind !== -1 && kind !== -2 && kind !== -3) return refusalIn(keys, reply);
  const remaining = claimedTimeIn(time, ttl);
  if (remaining === undefined) return undefined;
  if (kind === -2) return { is: "yes", remaining, inQuarantine: true };
  const next = kind === -3 ? third : fourth;
  const nextTicket = next === undefined ? undefined : digitsIn(next);
  if (next !== undefined && nextTicket === undefined) return undefined;
  const behind = nextTicket === undefined ? undefined : { nextTicket };
  if (kind === -3) return { is: "yes", remaining, ...behind };
  const counter = digitsIn(third);
  return counter === undefined ? undefined : { is: "yes", remaining, counter, ...behind };
}

/** The error in a reply of the batch script, if it is an error. */
export function errorIn(reply: unknown): string | undefined {
  if (!Array.isArray(reply) || reply[0] !== 0) return undefined;
  return typeof reply[1] === "string" ? reply[1] : undefined;
}

/** The state of a key, from its masked value, PTTL and queue length. */
function keyStateIn(_: Question, reply: unknown): KeyState | undefined {
  const [value, pttl, waiting] = Array.isArray(reply) ? (reply as readonly unknown[]) : [];
  const remaining = timeLeftIn(pttl);
  const queueLength = countIn(waiting);
  if (remaining === undefined || queueLength === undefined) return undefined;
  return { is: "state", owner: typeof value === "string" ? value : undefined, remaining, queueLength };
}

const done: Outcome = { is: "done" };
const missed: Outcome = { is: "missed" };

function refusalIn(keys: readonly string[], reply: readonly unknown[]): Answer | undefined {
  const [index, value, pttl, ticket] = reply;
  const resource = typeof index === "number" ? keys[index - 1] : undefined;
  const remaining = timeLeftIn(pttl);
  if (resource === undefined || remaining === undefined) return undefined;
  const owner = typeof value === "string" ? value : undefined;
  if (reply[4] === 1) return { is: "no", resource, owner, remaining, isNew: true };
  if (ticket === undefined || ticket === null) return { is: "no", resource, owner, remaining };
  const latestTicket = digitsIn(ticket);
  return latestTicket === undefined ? undefined : { is: "no", resource, owner, remaining, latestTicket };
}

function guardStateIn(_: Question, reply: unknown): GuardState | undefined {
  if (!Array.isArray(reply)) return undefined;
  const maxTtl = countIn(reply[0]);
  const quarantine = timeLeftIn(reply[1]);
  const epoch = epochIn(reply[2]);
  const state = countIn(reply[3], 2);
  const floor = digitsIn(reply[4]);
  if (maxTtl === undefined || quarantine === undefined || epoch === undefined) return undefined;
  if (state === undefined || floor === undefined) return undefined;
  // A reply about an earlier memory of the master no longer applies.
  const isCurrent = reply[5] === 1;
  const isReady = isCurrent && state === 0;
  return { is: "guard", maxTtl, quarantine, epoch: Number(epoch), isCurrent, isReady, floor };
}

/** Integers only: the script reads the list digit by digit. */
function numbersOf({ verb, words, ttl, proposal, entry }: Question): string {
  if (verb === "restoreCounters") return words.join();
  const fence = proposal === undefined ? "" : `,${proposal}`;
  if (entry) return `${Math.ceil(ttl)},${Math.ceil(entry.ticket)},${Math.ceil(entry.ttl)}${fence}`;
  return fence === "" ? `${Math.ceil(ttl)}` : `${Math.ceil(ttl)},0,0${fence}`;
}
