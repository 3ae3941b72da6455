// The verdict that the answers of the masters allow on one key. A master that gave no answer may have any token.

/** The key on one master that answered. */
export interface Key {
  /** Equal on two masters if the token is; `undefined`: no client has the key. */
  readonly digest: string | undefined;
  /** The type of a key that is no lock: nobody can take the lock there. */
  readonly otherType: string | undefined;
  /** Why the master would refuse a vote, although the key is free; "QUARANTINE?" if it may. */
  readonly refusal: string | undefined;
}

/**
 * - `held`: a quorum has one token.
 * - `free`: a quorum has none, so a client can take the lock.
 * - `no-quorum`: nobody holds it, and nobody can take it before the keys expire that too few masters have, or while masters refuse.
 * - `unknown`: too few masters answered to tell, or some have restarted and may have forgotten it, or be in quarantine.
 */
export type Verdict = "held" | "free" | "no-quorum" | "unknown";

/** Of all masters, `undefined` for one that gave no answer. */
export function verdictOf(keys: readonly (Key | undefined)[]): Verdict {
  const quorum = Math.floor(keys.length / 2) + 1;
  const silent = keys.filter((key) => !key).length;
  const most = Math.max(0, ...countsOf(keys).values());
  if (most >= quorum) return "held";
  // One that is in quarantine may have forgotten a token on which a holder relies.
  const forgetful =
    most === 0 ? [] : keys.filter((key) => key?.refusal?.startsWith("QUARANTINE") && !key.digest);
  if (most + silent + forgetful.length >= quorum) return "unknown";
  const free = keys.filter((key) => key && !(key.digest ?? key.otherType ?? key.refusal)).length;
  if (free >= quorum) return "free";
  const doubtful = keys.filter((key) => key?.refusal === "QUARANTINE?" && !(key.digest ?? key.otherType));
  return free + doubtful.length + silent >= quorum ? "unknown" : "no-quorum";
}

/** The tokens that have, or with the silent masters may have, a quorum. */
export function possibleTokens(keys: readonly (Key | undefined)[]): readonly string[] {
  const silent = keys.filter((key) => !key).length;
  const isPossible = (count: number): boolean => count + silent > keys.length / 2;
  return [...countsOf(keys)].filter(([, count]) => isPossible(count)).map(([digest]) => digest);
}

/** The token that most masters have. */
export function commonestToken(keys: readonly (Key | undefined)[]): string | undefined {
  return [...countsOf(keys)].sort(([, one], [, other]) => other - one)[0]?.[0];
}

function countsOf(keys: readonly (Key | undefined)[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const key of keys)
    if (key?.digest !== undefined) counts.set(key.digest, (counts.get(key.digest) ?? 0) + 1);
  return counts;
}
