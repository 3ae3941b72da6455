import type {
  Answer,
  Guard,
  GuardState,
  KeyState,
  Operation,
  OperationKind,
  Outcome,
  Purpose,
  QueueEntry,
} from "../protocol/node.ts";
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

/** The letters that the batch script uses for the kinds of operations. */
export const kindLetters: Readonly<Record<OperationKind, string>> = {
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

/** An operation on its way to one master. `index` goes back with the answer. */
export interface Posted {
  readonly operation: Operation;
  readonly index: number;
}

/**
 * Whether the operation may be removed before it is sent. Only claims can be abandoned. The check may read
 * the clocks and end a lease.
 */
export function isAbandoned({ claim }: Operation): boolean {
  return claim?.abandoned === true;
}

/** Whether no caller waits for the answer any more, as far as is known. */
export function isUnawaited({ claim }: Operation): boolean {
  return claim === undefined || claim.abandoned;
}

/** Whether it deletes or grants keys, and therefore must reach the master, even late. */
export function isRelease({ kind }: Operation): boolean {
  return kind === "release" || kind === "delete";
}

/** Its place among operations that cannot all be sent (PROTOCOL 12.7). */
export function purposeOf({ kind, purpose }: Operation): Purpose {
  if (purpose) return purpose;
  if (kind === "vote" || kind === "voteUnless" || kind === "enqueue" || kind === "inspect" || kind === "mark")
    return "request";
  return kind === "release" || kind === "delete" ? "release" : "keep";
}

/** Whether the two cannot be in one batch: locks that may be shared have a script of their own. */
export function needsOtherScript({ keys: [key] }: Operation, { keys: [other] }: Operation): boolean {
  return key !== undefined && other !== undefined && isSharable(key) !== isSharable(other);
}

/** The operations of one batch, encoded as one command, once for all masters with the same operations. */
export interface EncodedBatch extends Message {
  readonly operations: readonly Operation[];
  /** `undefined` for a SET. */
  readonly script: Script | undefined;
}

/**
 * The command for operations of one batch. All masters are asked in one turn, mostly with the same batches, so the
 * latest encoding usually fits the next master as well (PROTOCOL 12.1).
 */
export function encoded(posted: readonly Posted[]): EncodedBatch {
  if (!latestEncoded || !areEqual(latestEncoded.operations, posted))
    latestEncoded = encodeAnew(posted.map(({ operation }) => operation));
  return latestEncoded;
}

let latestEncoded: EncodedBatch | undefined;

/** Drops the cached encoding: a master has answered, so the others have been sent theirs. */
export function forgetEncoded(batch: EncodedBatch): void {
  if (latestEncoded === batch) latestEncoded = undefined;
}

function areEqual(operations: readonly Operation[], posted: readonly Posted[]): boolean {
  if (operations.length !== posted.length) return false;
  for (let place = 0; place < operations.length; place += 1)
    if (operations[place] !== posted[place]!.operation) return false;
  return true;
}

function encodeAnew(operations: readonly Operation[]): EncodedBatch {
  const [first] = operations as [Operation];
  const { kind, keys, values, claim, guard, ttl } = first;
  const shared = operations.find((operation) => operation.keys.length > 0)?.keys[0];
  if (shared !== undefined && isSharable(shared)) {
    // PROTOCOL 12.6.
    const companions = operations.flatMap(({ keys: all }) => all.flatMap(companionsOf));
    const args = [sharedBatchScript.sha1, ...batchArgs(operations, companions)];
    return { operations, command: "EVALSHA", args, script: sharedBatchScript, wire: undefined };
  }
  if (
    operations.length === 1 &&
    kind === "vote" &&
    keys.length === 1 &&
    !guard &&
    claim?.proposal === undefined
  ) {
    // A plain SET for one resource, so that a single lock costs no script call (PROTOCOL 13.1).
    const args = [keys[0]!, values[0]!, "NX", "PX", Math.ceil(ttl)];
    return { operations, command: "SET", args, script: undefined, wire: undefined };
  }
  const { script, args } = operations.length === 1 ? singleCommand(first) : batchCommand(operations);
  return { operations, command: "EVALSHA", args: [script.sha1, ...args], script, wire: undefined };
}

/** The script for one operation, with its arguments. */
function singleCommand(operation: Operation): { script: Script; args: Args } {
  const { kind, keys, values, ttl, claim, guard } = operation;
  if (!hasOwnScript(operation)) return { script: batchScript, args: batchArgs([operation]) };
  const count = keys.length;
  // Without a queue, a release grants no key, so the guard has nothing to check.
  if (kind === "delete") return { script: releaseScript, args: [count, ...keys, ...values] };
  if (kind === "release" && guard) {
    return { script: guardedReleaseScript, args: [count, ...keys, guard.terms, ...values] };
  }
  if (kind === "release") return { script: releaseAndGrantScript, args: [count, ...keys, ...values] };
  const [token = "", inbox = ""] = values;
  const proposal = claim?.proposal ?? "";
  const wholeTtl = Math.ceil(ttl);
  if (guard) {
    const args = [count, ...keys, kindLetters[kind], token, wholeTtl, proposal, guard.terms];
    return { script: guardedClaimScript, args };
  }
  const args = [count, ...keys, token, wholeTtl];
  if (kind === "enqueue") {
    const { ticket, entryTtl } = claim as QueueEntry;
    args.push(Math.ceil(ticket), Math.ceil(entryTtl), proposal, inbox);
    return { script: enqueueScript, args };
  }
  args.push(kind === "extend" ? 0 : 1);
  if (proposal !== "") args.push(proposal);
  return { script: claimScript, args };
}

/**
 * Whether the operation has a script of its own: all claims and releases do, except a guarded queue entry.
 */
function hasOwnScript({ kind, guard }: Operation): boolean {
  return (guard ? "vperl" : "vpeqrl").includes(kindLetters[kind]);
}

/**
 * The script for several operations, with its arguments: a special one if all are votes or all are releases.
 */
export function batchCommand(operations: readonly Operation[]): { script: Script; args: Args } {
  const script = homogeneousScript(operations);
  if (!script) return { script: batchScript, args: batchArgs(operations) };
  const args: (string | number)[] = [operations.length];
  for (const { keys } of operations) args.push(keys[0]!);
  if (script === voteBatchScript) args.push(Math.ceil(operations[0]!.ttl));
  for (const { values } of operations) args.push(values[0]!);
  return { script, args };
}

/**
 * The reply to each operation of a batch, in order. With too few or too many replies they cannot be assigned:
 * then none (PROTOCOL 12.3).
 */
export function repliesIn({ operations, script }: EncodedBatch, reply: unknown): readonly unknown[] {
  const isBatch = script === batchScript || script === sharedBatchScript;
  if (operations.length === 1 && !isBatch) return [reply];
  if (Array.isArray(reply)) return reply.length === operations.length ? reply : [];
  // The short form: every operation succeeded.
  if (reply !== operations.length || isBatch) return [];
  return operations.map(({ kind, ttl }) => (kind === "vote" ? Math.ceil(ttl) : 1));
}

function homogeneousScript(operations: readonly Operation[]): Script | undefined {
  const first = operations[0]!;
  const { kind, keys, values, claim, guard } = first;
  if (keys.length > 1 || values.length > 1 || guard || claim?.proposal !== undefined) return undefined;
  const script = kind === "vote" ? voteBatchScript : kind === "release" ? releaseBatchScript : undefined;
  return script && operations.every((_, index) => sameShapeAt(operations, index, first)) ? script : undefined;
}

/** The arguments of the batch script. `companions`: further keys to declare. */
export function batchArgs(operations: readonly Operation[], companions: readonly string[] = []): Args {
  const args: (string | number)[] = [0];
  const values: string[] = [];
  let list = "";
  let guard: Guard | undefined;
  for (let index = 0; index < operations.length; ) {
    const operation = operations[index]!;
    if (operation.guard !== guard) {
      list += "g0,0;";
      values.push(operation.guard?.terms ?? "0");
    }
    guard = operation.guard;
    // Equal operations in a row are written once, with a count.
    let times = 0;
    for (
      let next: Operation | undefined = operation;
      next;
      next = sameShapeAt(operations, index, operation)
    ) {
      for (const key of next.keys) args.push(key);
      if (next.kind !== "restoreCounters") for (const word of next.values) values.push(word);
      times += 1;
      index += 1;
    }
    list += `${times > 1 ? times : ""}${kindLetters[operation.kind]}${operation.keys.length},${numbersOf(operation)};`;
  }
  args.push(...companions);
  args[0] = args.length - 1;
  args.push(list);
  for (const word of values) args.push(word);
  return args;
}

/** The operation at `index`, if the batch list describes it in the same way as `other`. */
function sameShapeAt(
  operations: readonly Operation[],
  index: number,
  other: Operation,
): Operation | undefined {
  const next = operations[index];
  const isAlike =
    next !== undefined &&
    next.kind === other.kind &&
    next.keys.length === other.keys.length &&
    next.values.length === other.values.length &&
    // An operation keeps its own ttl (PROTOCOL 12.4).
    next.ttl === other.ttl &&
    next.guard === other.guard &&
    next.claim?.proposal === other.claim?.proposal;
  // Queue entries and restored counters carry further numbers.
  return isAlike && next.kind !== "enqueue" && next.kind !== "restoreCounters" ? next : undefined;
}

/** The meaning of a reply; `undefined` if it is not a valid answer to the operation. */
export function answerIn(operation: Operation, reply: unknown): Answer | undefined {
  const { kind, keys } = operation;
  if (kind === "release" || kind === "delete") {
    // The usual reply, without a look at what else it may be.
    if (reply === keys.length) return done;
    return countIn(reply, keys.length) === undefined ? undefined : missed;
  }
  if (kind === "restoreCounters" || kind === "mark") {
    const restored = countIn(reply, 1);
    if (restored === undefined) return undefined;
    return restored === 1 ? done : missed;
  }
  if (kind === "time") {
    const time = timeIn(reply);
    return time === undefined ? undefined : { is: "time", time };
  }
  if (kind === "inspect") return Array.isArray(reply) ? keyStateIn(reply) : undefined;
  if (kind === "guardState") return Array.isArray(reply) ? guardStateIn(reply) : undefined;
  return claimAnswerIn(operation, reply);
}

/** The answer to a claim of any kind. */
function claimAnswerIn({ keys, ttl }: Operation, reply: unknown): Answer | undefined {
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
function numbersOf({ kind, values, ttl, claim }: Operation): string {
  if (kind === "release" || kind === "delete") return `${values.length}`;
  if (kind === "restoreCounters") return values.join();
  const fence = claim?.proposal === undefined ? "" : `,${claim.proposal}`;
  if (kind === "enqueue") {
    const { ticket, entryTtl } = claim as QueueEntry;
    return `${Math.ceil(ttl)},${Math.ceil(ticket)},${Math.ceil(entryTtl)}${fence}`;
  }
  return fence === "" ? `${Math.ceil(ttl)}` : `${Math.ceil(ttl)},0,0${fence}`;
}
