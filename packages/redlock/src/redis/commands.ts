import type {
  Answer,
  Fault,
  Guard,
  GuardState,
  Holding,
  Question,
  QueueEntry,
  ReleaseAnswer,
} from "../protocol/node.ts";
import type { Args } from "./connection.ts";
import {
  batchScript,
  claimScript,
  enqueueScript,
  guardedClaimScript,
  guardedLeaveScript,
  leaveScript,
  releaseBatchScript,
  releaseScript,
  type Script,
  voteBatchScript,
} from "./lua/scripts.ts";
import { claimedTimeIn, counterIn, countIn, epochIn, ticketIn, timeIn, timeLeftIn } from "./reply-numbers.ts";

/** What a master's clock shows, ms since the epoch. */
export interface Time {
  readonly time: number;
}

/** One thing that a master is asked to do, alone or among others in a batch: a {@link Question}, or something of one master. */
export interface Operation extends Omit<Question, "kind" | "hear"> {
  /** `delete`: a release where the masters keep no queue. */
  readonly kind: keyof typeof letters;
  /** Whether it is sent by itself at once, or with what else there is. Default: with what else there is. */
  readonly isAlone?: boolean;
  /** The restart guard of this one master. */
  readonly guard?: Guard | undefined;
  /** Where it is not what its kind tells: it goes with another one. */
  readonly purpose?: Purpose | undefined;
  /** Called right before it is sent, each time it is; only for the time. */
  readonly onSend?: (() => void) | undefined;
  /** Called once for each master that it is posted to. */
  hear(client: object, answer: Answer | ReleaseAnswer | Holding | GuardState | Time | Fault): void;
}

/** The kinds of operations, as the batch script knows them. */
export const letters = {
  vote: "v",
  repair: "p",
  extend: "e",
  delete: "r",
  release: "l",
  transfer: "s",
  enqueue: "q",
  inspect: "i",
  guardState: "h",
  restoreCounters: "f",
  time: "c",
} as const;

/** Only what claims something may be taken out before it is sent. Reads the clocks, perhaps, and ends a hold. */
export function isAbandoned({ claim }: Operation): boolean {
  return claim?.abandoned === true;
}

/** Whether nobody waits for its answer any more, as far as is known. */
export function isOver({ claim }: Operation): boolean {
  return claim === undefined || claim.abandoned;
}

/** Whether it takes keys away or gives them on, and so must reach the master, late rather than never. */
export function isRelease({ kind }: Operation): boolean {
  return kind === "release" || kind === "delete";
}

/**
 * What is done for a lease that is held; what gives one back; what asks for a new one, or only looks. Where not all can be
 * sent, they go in this order (PROTOCOL 12.7).
 */
export type Purpose = "keep" | "release" | "request";

export function purposeOf({ kind, purpose }: Operation): Purpose {
  if (purpose) return purpose;
  if (kind === "vote" || kind === "enqueue" || kind === "inspect") return "request";
  return kind === "release" || kind === "delete" ? "release" : "keep";
}

/** The operations of one batch as one command: made once for all masters that are asked the same. */
export interface Cohort {
  readonly operations: readonly Operation[];
  readonly command: "SET" | "EVALSHA";
  readonly args: Args;
  /** `undefined` for a SET. */
  readonly script: Script | undefined;
}

/**
 * The command for `operations`. All masters are asked the same in one turn, and mostly in the same batches: what one of them
 * is sent serves the next as it stands (PROTOCOL 12.1).
 */
export function cohortOf(operations: readonly Operation[]): Cohort {
  if (!latest || !areSame(latest.operations, operations)) latest = encode(operations);
  return latest;
}

let latest: Cohort | undefined;

/** A master has answered it: the others have been sent theirs. */
export function forget(cohort: Cohort): void {
  if (latest === cohort) latest = undefined;
}

function areSame(some: readonly Operation[], others: readonly Operation[]): boolean {
  if (some.length !== others.length) return false;
  for (let index = 0; index < some.length; index += 1) if (some[index] !== others[index]) return false;
  return true;
}

function encode(operations: readonly Operation[]): Cohort {
  const [first] = operations as [Operation];
  const { kind, keys, words, claim, guard, ttl } = first;
  if (
    operations.length === 1 &&
    kind === "vote" &&
    keys.length === 1 &&
    !guard &&
    claim?.proposal === undefined
  ) {
    // For one resource the bare command, so that a lone lock costs no more than that.
    const args = [keys[0]!, words[0]!, "NX", "PX", Math.ceil(ttl)];
    return { operations, command: "SET", args, script: undefined };
  }
  const { script, args } = operations.length === 1 ? aloneIn(first) : togetherIn(operations);
  return { operations, command: "EVALSHA", args: [script.sha1, ...args], script };
}

/** The script that does it alone, with its arguments. */
function aloneIn(operation: Operation): { script: Script; args: Args } {
  const { kind, keys, words, ttl, claim, guard } = operation;
  if (!hasScript(operation)) return { script: batchScript, args: batchOf([operation]) };
  const count = keys.length;
  // (A release for which nobody waits takes nothing that the guard would have to look at.)
  if (kind === "delete") return { script: releaseScript, args: [count, ...keys, ...words] };
  if (kind === "release" && guard) {
    return { script: guardedLeaveScript, args: [count, ...keys, guard.terms, ...words] };
  }
  if (kind === "release") return { script: leaveScript, args: [count, ...keys, ...words] };
  const [token = "", other = ""] = words;
  const proposal = claim?.proposal ?? "";
  const wholeTtl = Math.ceil(ttl);
  if (guard) {
    const previous = kind === "transfer" ? [other] : [];
    const args = [count, ...keys, letters[kind], token, wholeTtl, proposal, guard.terms, ...previous];
    return { script: guardedClaimScript, args };
  }
  const args = [count, ...keys, token, wholeTtl];
  if (kind === "enqueue") {
    const { ticket, entryTtl } = claim as QueueEntry;
    args.push(Math.ceil(ticket), Math.ceil(entryTtl), proposal, other);
    return { script: enqueueScript, args };
  }
  args.push(kind === "extend" ? 0 : 1);
  if (kind === "transfer") args.push(proposal, other);
  else if (proposal !== "") args.push(proposal);
  return { script: claimScript, args };
}

/** Whether there is a script for it alone: all that claim or give up have one, but for a guarded enrolment. */
function hasScript({ kind, guard }: Operation): boolean {
  return (guard ? "vpesrl" : "vpesqrl").includes(letters[kind]);
}

/** The script that does all of them, with its arguments: one of its own where all vote, or all release. */
export function togetherIn(operations: readonly Operation[]): { script: Script; args: Args } {
  const script = ownScriptOf(operations);
  if (!script) return { script: batchScript, args: batchOf(operations) };
  const args: (string | number)[] = [operations.length];
  for (const { keys } of operations) args.push(keys[0]!);
  if (script === voteBatchScript) args.push(Math.ceil(operations[0]!.ttl));
  for (const { words } of operations) args.push(words[0]!);
  return { script, args };
}

/** The reply to each operation of a cohort, in their order. With one too few or too many nobody knows whose is whose: none. */
export function repliesIn({ operations, script }: Cohort, reply: unknown): readonly unknown[] {
  if (operations.length === 1 && script !== batchScript) return [reply];
  if (Array.isArray(reply)) return reply.length === operations.length ? reply : [];
  // In short: all of it was done.
  if (reply !== operations.length || script === batchScript) return [];
  return operations.map(({ kind, ttl }) => (kind === "vote" ? Math.ceil(ttl) : 1));
}

function ownScriptOf(operations: readonly Operation[]): Script | undefined {
  const first = operations[0]!;
  const { kind, keys, words, claim, guard } = first;
  if (keys.length > 1 || words.length > 1 || guard || claim?.proposal !== undefined) return undefined;
  const script = kind === "vote" ? voteBatchScript : kind === "release" ? releaseBatchScript : undefined;
  return script && operations.every((_, index) => alikeIn(operations, index, first)) ? script : undefined;
}

/** The arguments of the batch script for all of them. */
export function batchOf(operations: readonly Operation[]): Args {
  const args: (string | number)[] = [0];
  const words: string[] = [];
  let list = "";
  let guard: Guard | undefined;
  for (let index = 0; index < operations.length; ) {
    const operation = operations[index]!;
    if (operation.guard !== guard) {
      list += "g0,0;";
      words.push(operation.guard?.terms ?? "0");
    }
    guard = operation.guard;
    // Mostly many are alike: then it is said how many.
    let times = 0;
    for (let next: Operation | undefined = operation; next; next = alikeIn(operations, index, operation)) {
      for (const key of next.keys) args.push(key);
      if (next.kind !== "restoreCounters") for (const word of next.words) words.push(word);
      times += 1;
      index += 1;
    }
    list += `${times > 1 ? times : ""}${letters[operation.kind]}${operation.keys.length},${numbersOf(operation)};`;
  }
  args[0] = args.length - 1;
  args.push(list);
  for (const word of words) args.push(word);
  return args;
}

/** The operation at `index`, where the script is told of it in the same words as of `other`. */
function alikeIn(operations: readonly Operation[], index: number, other: Operation): Operation | undefined {
  const next = operations[index];
  const isAlike =
    next !== undefined &&
    next.kind === other.kind &&
    next.keys.length === other.keys.length &&
    next.words.length === other.words.length &&
    next.ttl === other.ttl &&
    next.guard === other.guard &&
    next.claim?.proposal === other.claim?.proposal;
  // Of an enrolment and of a floor more is told.
  return isAlike && next.kind !== "enqueue" && next.kind !== "restoreCounters" ? next : undefined;
}

/** What a reply says; `undefined` where it is no answer to the operation. */
export function answerIn(
  operation: Operation,
  reply: unknown,
): Answer | ReleaseAnswer | Holding | GuardState | Time | undefined {
  const { kind, keys } = operation;
  if (kind === "release" || kind === "delete") {
    const released = countIn(reply, keys.length);
    if (released === undefined) return undefined;
    return released === keys.length ? releasedAll : releasedLess;
  }
  if (kind === "restoreCounters") {
    const seeded = countIn(reply, 1);
    if (seeded === undefined) return undefined;
    return seeded === 1 ? releasedAll : releasedLess;
  }
  if (kind === "time") {
    const time = timeIn(reply);
    return time === undefined ? undefined : { time };
  }
  if (kind === "inspect") return Array.isArray(reply) ? holdingIn(reply) : undefined;
  if (kind === "guardState") return Array.isArray(reply) ? findingsIn(reply) : undefined;
  return claimAnswerIn(operation, reply);
}

/** What a claim of whatever kind is answered. */
function claimAnswerIn({ keys, ttl }: Operation, reply: unknown): Answer | undefined {
  if (!Array.isArray(reply)) {
    const remaining = claimedTimeIn(reply, ttl);
    return remaining === undefined ? undefined : { vote: "yes", remaining };
  }
  const [kind, time, counted] = reply as readonly unknown[];
  if (kind !== -1 && kind !== -2) return refusalIn(keys, reply);
  const remaining = claimedTimeIn(time, ttl);
  if (remaining === undefined) return undefined;
  if (kind === -2) return { vote: "yes", remaining, inQuarantine: true };
  const counter = counterIn(counted);
  return counter === undefined ? undefined : { vote: "yes", remaining, counter };
}

/** The error in a reply of the batch script, if it is one. */
export function errorIn(reply: unknown): string | undefined {
  if (!Array.isArray(reply) || reply[0] !== 0) return undefined;
  return typeof reply[1] === "string" ? reply[1] : undefined;
}

/** What is in a key: value, PTTL, and how many wait for it. */
export function holdingIn([value, pttl, waiting]: readonly unknown[]): Holding | undefined {
  const remaining = timeLeftIn(pttl);
  const queueLength = countIn(waiting);
  if (remaining === undefined || queueLength === undefined) return undefined;
  return { owner: typeof value === "string" ? value : undefined, remaining, queueLength };
}

const releasedAll: ReleaseAnswer = { vote: "yes" };
const releasedLess: ReleaseAnswer = { vote: "no" };

function refusalIn(keys: readonly string[], reply: readonly unknown[]): Answer | undefined {
  const [index, value, pttl, ticket] = reply;
  const resource = typeof index === "number" ? keys[index - 1] : undefined;
  const remaining = timeLeftIn(pttl);
  if (resource === undefined || remaining === undefined) return undefined;
  const owner = typeof value === "string" ? value : undefined;
  if (ticket === undefined || ticket === null) return { vote: "no", resource, owner, remaining };
  const latestTicket = ticketIn(ticket);
  return latestTicket === undefined ? undefined : { vote: "no", resource, owner, remaining, latestTicket };
}

function findingsIn(reply: readonly unknown[]): GuardState | undefined {
  const maxTtl = countIn(reply[0]);
  const quarantine = timeLeftIn(reply[1]);
  const epoch = epochIn(reply[2]);
  const state = countIn(reply[3], 2);
  const floor = counterIn(reply[4]);
  if (maxTtl === undefined || quarantine === undefined || epoch === undefined) return undefined;
  if (state === undefined || floor === undefined) return undefined;
  // What another memory has said is no longer true.
  const isCurrent = reply[5] === 1;
  return { maxTtl, quarantine, epoch: Number(epoch), isCurrent, isReady: isCurrent && state === 0, floor };
}

/** Whole ones: the list is read digit by digit. */
function numbersOf({ kind, words, ttl, claim }: Operation): string {
  if (kind === "release" || kind === "delete") return `${words.length}`;
  if (kind === "restoreCounters") return words.join();
  const fence = claim?.proposal === undefined ? "" : `,${claim.proposal}`;
  if (kind === "enqueue") {
    const { ticket, entryTtl } = claim as QueueEntry;
    return `${Math.ceil(ttl)},${Math.ceil(ticket)},${Math.ceil(entryTtl)}${fence}`;
  }
  return fence === "" ? `${Math.ceil(ttl)}` : `${Math.ceil(ttl)},0,0${fence}`;
}
