import { DefaultMap } from "../default-map.ts";
import type { Process } from "../engine/process.ts";
import { questionsIn, repliedIn } from "../master/batch-list.ts";
import { knownScript, type ScriptName } from "../master/known-scripts.ts";
import type { Master } from "../master/master.ts";
import type { Moment } from "../plan/fault.ts";

/** The processes that a moment concerns. */
export interface Place {
  readonly client: Process;
  readonly master?: Master;
}

export type MomentListener = (place: Place) => void;

type Args = readonly (string | number)[];

/**
 * The purpose of a question, as far as moments need it. An `enqueue` is a vote that joins the queue if it is
 * refused.
 */
type Purpose = "vote" | "enqueue" | "extension" | "release";

/** The purpose of a script. A `claim` votes, extends and verifies; a `batch` carries questions of all kinds. */
type ScriptPurpose = Purpose | "claim" | "guarded claim" | "votes" | "releases" | "batch";

const sentMoments: readonly Moment[] = ["vote sent", "extension sent", "release sent"];

/** Of a mutant's scripts as well, which have the names of the client's; and of redlock 5's. */
const purposes: Readonly<Partial<Record<string, ScriptPurpose>>> = {
  claimScript: "claim",
  enqueueScript: "enqueue",
  releaseScript: "release",
  leaveScript: "release",
  guardedClaimScript: "guarded claim",
  guardedLeaveScript: "release",
  voteBatchScript: "votes",
  releaseBatchScript: "releases",
  batchScript: "batch",
  sharedBatchScript: "batch",
  "redlock5.acquireScript": "vote",
  "redlock5.extendScript": "extension",
  "redlock5.releaseScript": "release",
} satisfies Partial<Record<ScriptName | `redlock5.${string}`, ScriptPurpose>>;

/** `script`: its digest, or its text. */
function purposeOf(script: unknown): ScriptPurpose | undefined {
  return purposes[knownScript(String(script))?.name ?? ""];
}

/** Notifies listeners of the moments of a run. Costs almost nothing without listeners. */
export class TriggerPoints {
  readonly #listeners = new DefaultMap<Moment, MomentListener[]>(() => []);
  /** Tokens of locks that were granted: a claim with one of them extends. */
  readonly #granted = new Set<unknown>();

  /** Called in the turn in which it happens. */
  on(moment: Moment, listener: MomentListener): void {
    this.#listeners.get(moment).push(listener);
  }

  /** `client` has a lock, with this token in the masters' keys. */
  granted(client: Process, token: string): void {
    if (this.#listeners.size > 0) this.#granted.add(token);
    this.raise("granted", { client });
  }

  /** A command is on its way. */
  sent(place: Place, command: string, args: Args): void {
    // (Nobody reads a command that no fault waits for.)
    if (!sentMoments.some((moment) => this.#listeners.has(moment))) return;
    for (const purpose of this.#purposesOf(command, args)) {
      if (purpose) this.raise(`${purpose === "enqueue" ? "vote" : purpose} sent`, place);
    }
  }

  /** A master has executed a command. */
  executed(place: Place, command: string, args: Args, reply: unknown): void {
    if (!this.#listeners.has("vote applied") && !this.#listeners.has("enrolled")) return;
    const of = this.#purposesOf(command, args);
    const replies: readonly unknown[] = isOfMany(args) && Array.isArray(reply) ? reply : of.map(() => reply);
    for (const [index, purpose] of of.entries()) {
      const itsReply = replies[index];
      if (purpose !== "vote" && purpose !== "enqueue") continue;
      if (isYes(itsReply)) this.raise("vote applied", place);
      else if (purpose === "enqueue" && isRefusal(itsReply)) this.raise("enrolled", place);
    }
  }

  raise(moment: Moment, place: Place): void {
    if (!this.#listeners.has(moment)) return;
    for (const listener of this.#listeners.get(moment)) listener(place);
  }

  /** Of each question that the command carries, in order. */
  #purposesOf(command: string, args: Args): readonly (Purpose | undefined)[] {
    if (command === "SET") return ["vote"];
    const purpose = command.startsWith("EVAL") ? purposeOf(args[0]) : undefined;
    if (purpose === "claim") return [this.#purposeOfClaim(args)];
    if (purpose === "guarded claim") {
      const [kind, token, ttl] = args.slice(2 + Number(args[1])).map(String);
      return [this.#purposeOf(kind!, token, ttl)];
    }
    if (purpose === "batch") return this.#purposesOfBatch(args);
    if (purpose === "votes" || purpose === "releases") return this.#purposesOfAlike(purpose, args);
    return [purpose];
  }

  #purposesOfBatch(args: Args): readonly (Purpose | undefined)[] {
    const [list, ...others] = args.slice(2 + Number(args[1]));
    const questions = repliedIn(questionsIn(String(list), [], others.map(String)));
    return questions.map(({ kind, args: [token], numbers: [ttl] }) => this.#purposeOf(kind, token, ttl));
  }

  /** Each has one key and one token; behind the keys of votes their ttl comes first. */
  #purposesOfAlike(purpose: "votes" | "releases", args: Args): readonly (Purpose | undefined)[] {
    const count = Number(args[1]);
    const words = args.slice(2 + count).map(String);
    if (purpose === "releases") return words.map(() => "release");
    const [ttl, ...tokens] = words;
    return tokens.map((token) => this.#purposeOf("v", token, ttl));
  }

  /** `kind`: as the batch script knows it. */
  #purposeOf(kind: string, token: string | undefined, ttl: string | undefined): Purpose | undefined {
    if (kind === "r" || kind === "l") return "release";
    if (this.#granted.has(token)) return ttl === "1" ? undefined : "extension";
    if (kind === "q") return "enqueue";
    return kind === "v" || kind === "u" || kind === "p" ? "vote" : undefined;
  }

  /** KEYS, then token, ttl, and whether free keys are set. */
  #purposeOfClaim(args: Args): "vote" | "extension" | undefined {
    const [token, ttl, create] = args.slice(2 + Number(args[1]));
    if (this.#granted.has(token)) return ttl === 1 ? undefined : "extension";
    // Without setting it is the question after a refused vote.
    return create === 1 ? "vote" : undefined;
  }
}

/** Whether a command asks for the master's time, beside whatever else. */
export function asksForTime(command: string, args: Args): boolean {
  if (command === "TIME") return true;
  if (!isBatch(args)) return false;
  const list = String(args[2 + Number(args[1])]);
  return questionsIn(list, [], []).some(({ kind }) => kind === "c");
}

function isBatch([script]: Args): boolean {
  return purposeOf(script) === "batch";
}

/** Whether a reply that is a list has one for each question. */
function isOfMany(args: Args): boolean {
  const purpose = purposeOf(args[0]);
  return isBatch(args) || purpose === "votes" || purpose === "releases";
}

/** Of a claim: which key refuses, and more. (A question that failed begins with 0.) */
function isRefusal(reply: unknown): boolean {
  return Array.isArray(reply) && reply[0] > 0;
}

/** `OK`, the remaining time of a claim, or the number of keys that a peer's script has set. (A fenced claim has more.) */
function isYes(reply: unknown): boolean {
  if (Array.isArray(reply)) return reply[0] === -1;
  return reply === "OK" || (typeof reply === "number" && reply > 0);
}
