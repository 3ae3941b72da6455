import type { Answer } from "./node.ts";

/** The number of votes that make a lock, out of `members` masters: any two such sets share a master. */
export function quorumOf(members: number): number {
  return Math.floor(members / 2) + 1;
}

/**
 * The number of masters that may fail to say yes before a quorum is out of reach. With an even number of masters this
 * is less than a quorum: comparing both counts with the quorum would leave a tie undecided for ever (PROTOCOL 2.3).
 */
export function toleratedFailures(members: number): number {
  return members - quorumOf(members);
}

export type Verdict = "won" | "failed" | "open";

/** Decides as soon as the votes received suffice; `against` counts refusals and masters without an answer. */
export function decide(members: number, yes: number, against: number): Verdict {
  const quorum = quorumOf(members);
  if (yes >= quorum) return "won";
  return against > members - quorum ? "failed" : "open";
}

/** The answers of one round so far, by the index of the master. */
export type Tally = ReadonlyArray<Answer | undefined>;

export function verdictOf(tally: Tally): Verdict {
  let yes = 0;
  let against = 0;
  for (const answer of tally) {
    if (answer?.is === "yes") yes += 1;
    else if (answer) against += 1;
  }
  return decide(tally.length, yes, against);
}

export function isDecided(tally: Tally): boolean {
  return verdictOf(tally) !== "open";
}

/** Whether enough masters refuse that no quorum can hold the token. */
export function isRefused(tally: Tally): boolean {
  return tally.filter((answer) => answer?.is === "no").length > toleratedFailures(tally.length);
}

/** The tokens that hold the keys on the masters that refuse. */
export function ownersIn(tally: Tally): readonly string[] {
  return tally.flatMap((answer) => (answer?.is === "no" && answer.owner ? [answer.owner] : []));
}

/** Why a round was not won, as far as the answers show. */
export interface Contention {
  /**
   * - `locked`: another client holds, or may hold, a quorum. Waiting helps.
   * - `split`: rivals took votes from each other, and none has a quorum. An immediate retry helps.
   * - `unavailable`: too few masters answered for any client to win.
   */
  readonly kind: "locked" | "split" | "unavailable";
  /** The refused resource; `undefined` if none is. */
  readonly resource: string | undefined;
  /** The token of most of its owners, masked; `undefined` if none is known. */
  readonly owner: string | undefined;
  /** Whether answers that are still missing could turn `locked` into `split`. */
  readonly open: boolean;
  /** When a quorum is free at the latest if no holder extends, ms from the answers; `Infinity` if unknown. */
  readonly freeIn: number;
}

export function contentionIn(tally: Tally): Contention {
  const refusals = tally.filter((answer) => answer?.is === "no");
  const unheard = tally.filter((answer) => isUnheard(answer)).length;
  const faults = tally.filter((answer) => answer?.is === "fault" && !isUnheard(answer)).length;
  const resource = refusals[0]?.resource;
  const longest = Math.max(0, ...refusals.map((refusal) => refusal.remaining));
  if (resource === undefined || faults > toleratedFailures(tally.length)) {
    return { kind: "unavailable", resource, owner: undefined, open: false, freeIn: longest };
  }
  const votesOf = new Map<string, number>();
  for (const owner of ownersIn(tally)) votesOf.set(owner, (votesOf.get(owner) ?? 0) + 1);
  const most = Math.max(0, ...votesOf.values());
  const quorum = quorumOf(tally.length);
  const kind = most + faults + unheard >= quorum ? "locked" : "split";
  const open = kind === "locked" && most + faults < quorum;
  const owner = [...votesOf].find(([, votes]) => votes === most)?.[0];
  return { kind, resource, owner, open, freeIn: quorumFreeIn(tally, longest) };
}

/** Its state is unknown: the round was decided before it answered, or this client has given the question up. */
function isUnheard(answer: Answer | undefined): boolean {
  return answer === undefined || (answer.is === "fault" && answer.error.reason === "ABANDONED");
}

/** A master without an answer is assumed to be free when the last of the others is: in `longest` ms. */
function quorumFreeIn(tally: Tally, longest: number): number {
  const waits = tally.map((answer) => {
    if (answer === undefined || isUnheard(answer)) return longest;
    if (answer.is === "yes") return 0;
    return answer.is === "no" ? answer.remaining : Number.POSITIVE_INFINITY;
  });
  return waits.sort((a, b) => a - b)[quorumOf(tally.length) - 1] ?? Number.POSITIVE_INFINITY;
}
