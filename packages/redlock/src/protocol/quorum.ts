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
