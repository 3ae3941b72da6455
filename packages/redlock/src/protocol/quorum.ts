import type { Answer } from "./node.ts";

/** Votes that make a lock, out of `members` masters: any two such sets share a master. */
export function quorumOf(members: number): number {
  return Math.floor(members / 2) + 1;
}

/**
 * How many masters may fail to say yes before a quorum is out of reach. With an even number of masters this is
 * less than a quorum: comparing both counts with the quorum would leave a tie undecided for ever (PROTOCOL 2.3).
 */
export function spareOf(members: number): number {
  return members - quorumOf(members);
}

export type Verdict = "won" | "failed" | "open";

/** Decides as soon as the votes that are in can decide; `against` counts refusals and masters not heard. */
export function decide(members: number, yes: number, against: number): Verdict {
  if (yes >= quorumOf(members)) return "won";
  return against > spareOf(members) ? "failed" : "open";
}

/** The answers of one round so far, a place for each master. */
export type Ballot = ReadonlyArray<Answer | undefined>;

export function verdictOf(ballot: Ballot): Verdict {
  let yes = 0;
  let against = 0;
  for (const answer of ballot) {
    if (answer?.vote === "yes") yes += 1;
    else if (answer) against += 1;
  }
  return decide(ballot.length, yes, against);
}

/** Whether so many masters refuse that no quorum can hold the token. */
export function isRefused(ballot: Ballot): boolean {
  return ballot.filter((answer) => answer?.vote === "no").length > spareOf(ballot.length);
}

/** The tokens that refuse. */
export function ownersIn(ballot: Ballot): readonly string[] {
  return ballot.flatMap((answer) => (answer?.vote === "no" && answer.owner ? [answer.owner] : []));
}

/** Why a round was not won, as far as the answers tell. */
export interface Contention {
  /**
   * - `locked`: somebody holds, or may hold, a quorum. Waiting helps.
   * - `split`: rivals took so many votes from each other that none has a quorum. Asking again soon helps.
   * - `unavailable`: too few masters answered for anyone to win.
   */
  readonly kind: "locked" | "split" | "unavailable";
  /** What is refused; `undefined` where nothing is. */
  readonly resource: string | undefined;
  /** Whether answers that are still missing could turn `locked` into `split`. */
  readonly open: boolean;
  /** When a quorum is free at the latest if nobody extends, ms from the answers; `Infinity` where unknown. */
  readonly freeIn: number;
}

export function contentionIn(ballot: Ballot): Contention {
  const refusals = ballot.filter((answer) => answer?.vote === "no");
  const unheard = ballot.filter((answer) => isUnheard(answer)).length;
  const faults = ballot.filter((answer) => answer?.vote === "none" && !isUnheard(answer)).length;
  const resource = refusals[0]?.resource;
  const longest = Math.max(0, ...refusals.map((refusal) => refusal.remaining));
  if (resource === undefined || faults > spareOf(ballot.length)) {
    return { kind: "unavailable", resource, open: false, freeIn: longest };
  }
  const votesOf = new Map<string, number>();
  for (const owner of ownersIn(ballot)) votesOf.set(owner, (votesOf.get(owner) ?? 0) + 1);
  const most = Math.max(0, ...votesOf.values());
  const quorum = quorumOf(ballot.length);
  const kind = most + faults + unheard >= quorum ? "locked" : "split";
  const open = kind === "locked" && most + faults < quorum;
  return { kind, resource, open, freeIn: quorumFreeIn(ballot, longest) };
}

/** Not asked to the end, since the round was decided before: nothing is known of such a master. */
function isUnheard(answer: Answer | undefined): boolean {
  return answer === undefined || (answer.vote === "none" && answer.error.reason === "ABANDONED");
}

/** A master that was not heard is taken to be free when the last of the others is. */
function quorumFreeIn(ballot: Ballot, unheard: number): number {
  const waits = ballot.map((answer) => {
    if (answer === undefined || isUnheard(answer)) return unheard;
    if (answer.vote === "yes") return 0;
    return answer.vote === "no" ? answer.remaining : Number.POSITIVE_INFINITY;
  });
  return waits.sort((a, b) => a - b)[quorumOf(ballot.length) - 1] ?? Number.POSITIVE_INFINITY;
}
