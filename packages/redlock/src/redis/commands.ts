import type { Answer, Guard, GuardState, KeyState, Outcome, Question, Sink, Verb } from "../protocol/node.ts";
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
import type { Args, Message } from "./connection.ts";
import { claimedTimeIn, counterIn, countIn, epochIn, ticketIn, timeIn, timeLeftIn } from "./reply-numbers.ts";
import { companionsOf, isSharable } from "./sharable-keys.ts";

/** The letters that the batch script uses for the verbs. */
export const verbLetters: Readonly<Record<Verb, string>> = {
  vote: "v",
  voteUnless: "u",
  repair: "p",
  extend: "e",
  delete: "r",
  release: "l",
  enqueue: "q",
  inspect: "i",
  mark: "m",
  guardState: "h",
  restoreCounters: "f",
  time: "c",
};

/**
 * `keep`: for a lease that is held. `release`: gives one back. `request`: requests a new one, or only reads.
 * Questions that cannot all be sent go in this order (PROTOCOL 12.7).
 */
export type Purpose = "keep" | "release" | "request";

/** A question on its way to one master, with what is only for that one. */
export interface Posted {
  readonly question: Question;
  /** Goes back to the sink with the answer. */
  readonly place: number;
  readonly sink: Sink;
  readonly purpose: Purpose;
  /** Whether it is sent immediately in a command of its own, instead of with the others that wait. */
  readonly isUnbatched: boolean;
  readonly guard: Guard | undefined;
  /** Called right before each send. */
  readonly onSend: (() => void) | undefined;
}

/** Whether the question may be removed before it is sent. The check may read the clocks and end a lease. */
export function isAbandoned({ claim }: Question): boolean {
  return claim?.abandoned === true;
}

/** Whether no caller waits for the answer any more, as far as is known. */
export function isUnawaited({ claim }: Question): boolean {
  return claim === undefined || claim.abandoned;
}

/** Whether it deletes or grants keys, and therefore must reach the master, even late. */
export function isRelease({ verb }: Question): boolean {
  return verb === "release" || verb === "delete";
}

export function purposeOf({ verb }: Question): Purpose {
  if (verb === "vote" || verb === "voteUnless" || verb === "enqueue" || verb === "mark") return "request";
  if (verb === "release" || verb === "delete") return "release";
  return verb === "inspect" || verb === "time" ? "request" : "keep";
}

/** Whether the two cannot be in one batch: locks that may be shared have a script of their own. */
export function needsOtherScript({ keys: [key] }: Question, { keys: [other] }: Question): boolean {
  return key !== undefined && other !== undefined && isSharable(key) !== isSharable(other);
}

/** The questions of one batch, encoded as one command, once for all masters with the same questions. */
export interface EncodedBatch extends Message {
  /** As they were posted for the first of the masters. */
  readonly posted: readonly Posted[];
  /** `undefined` for a SET. */
  readonly script: Script | undefined;
}

/**
 * The command for the questions of one batch. All masters are asked in one turn, mostly with the same batches, so the
 * latest encoding usually fits the next master as well (PROTOCOL 12.1).
 */
export function encoded(posted: readonly Posted[]): EncodedBatch {
  if (!latestEncoded || !areEqual(latestEncoded.posted, posted)) latestEncoded = encodeAnew(posted);
  return latestEncoded;
}

let latestEncoded: EncodedBatch | undefined;

/** Drops the cached encoding: a master has answered, so the others have been sent theirs. */
export function forgetEncoded(batch: EncodedBatch): void {
  if (latestEncoded === batch) latestEncoded = undefined;
}

function areEqual(batch: readonly Posted[], posted: readonly Posted[]): boolean {
  if (batch.length !== posted.length) return false;
  for (let index = 0; index < batch.length; index += 1) {
    const { question, guard } = batch[index]!;
    if (posted[index]!.question !== question || posted[index]!.guard !== guard) return false;
  }
  return true;
}

function encodeAnew(posted: readonly Posted[]): EncodedBatch {
  const { question, guard } = posted[0]!;
  const { verb, keys, words, ttl, proposal } = question;
  const keyed = posted.find((one) => one.question.keys.length > 0)?.question.keys[0];
  if (keyed !== undefined && isSharable(keyed)) {
    // PROTOCOL 12.6.
    const companions = posted.flatMap((one) => one.question.keys.flatMap(companionsOf));
    const args = [sharedBatchScript.sha1, ...batchArgs(posted, companions)];
    return { posted, command: "EVALSHA", args, script: sharedBatchScript, wire: undefined };
  }
  if (posted.length === 1 && verb === "vote" && keys.length === 1 && !guard && proposal === undefined) {
    // A plain SET for one resource, so that a single lock costs no script call (PROTOCOL 13.1).
    const args = [keys[0]!, words[0]!, "NX", "PX", Math.ceil(ttl)];
    return { posted, command: "SET", args, script: undefined, wire: undefined };
  }
  const { script, args } = posted.length === 1 ? singleCommand(posted[0]!) : batchCommand(posted);
  return { posted, command: "EVALSHA", args: [script.sha1, ...args], script, wire: undefined };
}

/** The script for one question, with its arguments. */
function singleCommand(posted: Posted): { script: Script; args: Args } {
  const { question, guard } = posted;
  const { verb, keys, words, ttl, proposal = "", entry } = question;
  if (!hasOwnScript(posted)) return { script: batchScript, args: batchArgs([posted]) };
  const count = keys.length;
  // Without a queue, a release grants no key, so the guard has nothing to check.
  if (verb === "delete") return { script: releaseScript, args: [count, ...keys, ...words] };
  if (verb === "release" && guard) {
    return { script: guardedReleaseScript, args: [count, ...keys, guard.terms(question), ...words] };
  }
  if (verb === "release") return { script: releaseAndGrantScript, args: [count, ...keys, ...words] };
  const [token = "", inbox = ""] = words;
  const wholeTtl = Math.ceil(ttl);
  if (guard) {
    const args = [count, ...keys, verbLetters[verb], token, wholeTtl, proposal, guard.terms(question)];
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

/** Whether the question has a script of its own: all claims and releases do, except a guarded queue entry. */
function hasOwnScript({ question: { verb }, guard }: Posted): boolean {
  return (guard ? "vperl" : "vpeqrl").includes(verbLetters[verb]);
}

/** The script for several questions, with its arguments: a special one if all are votes or all are releases. */
export function batchCommand(posted: readonly Posted[]): { script: Script; args: Args } {
  const script = homogeneousScript(posted);
  if (!script) return { script: batchScript, args: batchArgs(posted) };
  const args: (string | number)[] = [posted.length];
  for (const { question } of posted) args.push(question.keys[0]!);
  if (script === voteBatchScript) args.push(Math.ceil(posted[0]!.question.ttl));
  for (const { question } of posted) args.push(question.words[0]!);
  return { script, args };
}

/**
 * The reply to each question of a batch, in order. With too few or too many replies they cannot be assigned:
 * then none (PROTOCOL 12.3).
 */
export function repliesIn({ posted, script }: EncodedBatch, reply: unknown): readonly unknown[] {
  const isBatch = script === batchScript || script === sharedBatchScript;
  if (posted.length === 1 && !isBatch) return [reply];
  if (Array.isArray(reply)) return reply.length === posted.length ? reply : [];
  // The short form: every question succeeded.
  if (reply !== posted.length || isBatch) return [];
  return posted.map(({ question }) => (question.verb === "vote" ? Math.ceil(question.ttl) : 1));
}

function homogeneousScript(posted: readonly Posted[]): Script | undefined {
  const first = posted[0]!;
  const { verb, keys, proposal } = first.question;
  if (keys.length > 1 || first.guard || proposal !== undefined) return undefined;
  const script = verb === "vote" ? voteBatchScript : verb === "release" ? releaseBatchScript : undefined;
  return script && posted.every((_, index) => sameShapeAt(posted, index, first)) ? script : undefined;
}

/** The arguments of the batch script. `companions`: further keys to declare. */
export function batchArgs(posted: readonly Posted[], companions: readonly string[] = []): Args {
  const args: (string | number)[] = [0];
  const values: string[] = [];
  let list = "";
  let latest: Guard | Question | undefined;
  for (let index = 0; index < posted.length; ) {
    const first = posted[index]!;
    const { question, guard } = first;
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
      if (!isListed.has(verb)) for (const word of next.question.words) values.push(word);
      times += 1;
      index += 1;
    }
    list += `${times > 1 ? times : ""}${verbLetters[verb]}${question.keys.length},${numbersOf(question)};`;
  }
  args.push(...companions);
  args[0] = args.length - 1;
  args.push(list);
  for (const word of values) args.push(word);
  return args;
}

/** The posted question at `index`, if the batch list describes it in the same way as `other`. */
function sameShapeAt(posted: readonly Posted[], index: number, other: Posted): Posted | undefined {
  const next = posted[index];
  if (next === undefined || next.guard !== other.guard) return undefined;
  const { question: one } = next;
  const { verb, keys, ttl, proposal } = other.question;
  const isAlike =
    one.verb === verb &&
    one.keys.length === keys.length &&
    // A question keeps its own ttl (PROTOCOL 12.4).
    one.ttl === ttl &&
    one.proposal === proposal;
  // Queue entries and restored counters carry further numbers, and a reading of the guard state its own terms.
  return isAlike && verb !== "enqueue" && !isListed.has(verb) ? next : undefined;
}

/** The verbs whose words are no values of the batch: they are in its list, or in the terms of the guard. */
const isListed: ReadonlySet<Verb> = new Set(["restoreCounters", "guardState"]);

/** The meaning of a reply; `undefined` if it is not a valid answer to the question. */
export function answerIn(question: Question, reply: unknown): Answer | undefined {
  const { verb, keys } = question;
  if (verb === "release" || verb === "delete" || verb === "restoreCounters" || verb === "mark") {
    const all = verb === "restoreCounters" || verb === "mark" ? 1 : keys.length;
    // The usual reply, without a look at what else it may be.
    if (reply === all) return done;
    return countIn(reply, all) === undefined ? undefined : missed;
  }
  if (verb === "time") {
    const time = timeIn(reply);
    return time === undefined ? undefined : { is: "time", time };
  }
  if (verb === "inspect") return Array.isArray(reply) ? keyStateIn(reply) : undefined;
  if (verb === "guardState") return Array.isArray(reply) ? guardStateIn(reply) : undefined;
  return claimAnswerIn(question, reply);
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
  const nextTicket = next === undefined ? undefined : ticketIn(next);
  if (next !== undefined && nextTicket === undefined) return undefined;
  const behind = nextTicket === undefined ? undefined : { nextTicket };
  if (kind === -3) return { is: "yes", remaining, ...behind };
  const counter = counterIn(third);
  return counter === undefined ? undefined : { is: "yes", remaining, counter, ...behind };
}

/** The error in a reply of the batch script, if it is an error. */
export function errorIn(reply: unknown): string | undefined {
  if (!Array.isArray(reply) || reply[0] !== 0) return undefined;
  return typeof reply[1] === "string" ? reply[1] : undefined;
}

/** The state of a key, from its masked value, PTTL and queue length. */
export function keyStateIn([value, pttl, waiting]: readonly unknown[]): KeyState | undefined {
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
  const latestTicket = ticketIn(ticket);
  return latestTicket === undefined ? undefined : { is: "no", resource, owner, remaining, latestTicket };
}

function guardStateIn(reply: readonly unknown[]): GuardState | undefined {
  const maxTtl = countIn(reply[0]);
  const quarantine = timeLeftIn(reply[1]);
  const epoch = epochIn(reply[2]);
  const state = countIn(reply[3], 2);
  const floor = counterIn(reply[4]);
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
