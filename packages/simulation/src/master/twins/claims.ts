import type { Reply } from "../reply.ts";
import type { Rules } from "./rules.ts";
import { type Call, luaNumber } from "./twin.ts";

export interface ClaimOptions {
  /** Whether free keys are set. */
  readonly create: boolean;
  /** Whose keys count as the claimant's as well. */
  readonly previous?: string | undefined;
}

/** `claim` in the scripts, of all `keys`. */
export function claim(
  { isMine, isShort, isSet }: Rules,
  call: Call,
  keys: readonly string[],
  token: string,
  ttl: string,
  { create, previous }: ClaimOptions,
): Reply {
  const least = luaNumber(ttl);
  const owners: (string | null)[] = [];
  for (const [index, key] of keys.entries()) {
    const owner = call("GET", key) as string | null;
    owners.push(owner);
    const mine = isMine(owner, token) || (previous !== undefined && isMine(owner, previous));
    if (!mine && (owner !== null || !create)) return [index + 1, owner, call("PTTL", key)];
  }
  let shortest: number | undefined;
  for (const [index, key] of keys.entries()) {
    const isAnothers = owners[index] !== token;
    let left = call("PTTL", key) as number;
    if (left === -1) {
      if (isAnothers) call("SET", key, token);
    } else if (isShort(left, least)) {
      if (isSet(left)) call("SET", key, token, "PX", ttl);
      left = Number(least);
    } else if (isAnothers) call("SET", key, token, "PX", String(left));
    if (left !== -1 && (shortest === undefined || left < shortest)) shortest = left;
  }
  return Math.trunc(shortest ?? -1);
}

/** `release` in the scripts. */
export function release(
  { isMine }: Rules,
  call: Call,
  keys: readonly string[],
  tokens: readonly string[],
): number {
  let deleted = 0;
  for (const key of keys) {
    const owner = call("GET", key) as string | null;
    if (tokens.some((token) => isMine(owner, token))) deleted += call("DEL", key) as number;
  }
  return deleted;
}
