import type { Reply } from "../reply.ts";
import { exclusiveOnly, type Family } from "./family.ts";
import type { Rules } from "./rules.ts";
import { type Call, luaNumber } from "./twin.ts";

export interface ClaimOptions {
  /** Whether free keys are set. */
  readonly create: boolean;
  /** Default: locks with one owner. */
  readonly family?: Family;
}

/** `masked` in the scripts: a token as replies show it. */
export function masked(owner: string | null): string | null {
  if (owner === null) return null;
  const [, waiter = owner, round = ""] = /^(.*)(\.\d+)$/s.exec(owner) ?? [];
  const shown = Math.min(8, Math.floor(waiter.length / 2));
  return waiter.slice(0, shown) + "*".repeat(waiter.length - shown) + round;
}

/** `claim` in the scripts, of all `keys`. */
export function claim(
  { isMine, isShort, isSet, renewsBySet }: Rules,
  call: Call,
  keys: readonly string[],
  token: string,
  ttl: string,
  { create, family = exclusiveOnly(call) }: ClaimOptions,
): Reply {
  const least = luaNumber(ttl);
  const owners: (string | null)[] = [];
  for (const [index, key] of keys.entries()) {
    const owner = family.ownerFor(key, token);
    owners.push(owner);
    if (!isMine(owner, token) && (owner !== null || !create))
      return [index + 1, masked(owner), family.leftOf(key)];
  }
  let shortest: number | undefined;
  for (const [index, key] of keys.entries()) {
    if (family.shared?.isShared(key)) return family.shared.join(key, token, least ?? 0);
    let left = call("PTTL", key) as number;
    const isOther = owners[index] !== token || left === -2;
    const isRenewed = left !== -1 && isShort(left, least);
    const lives = isRenewed ? ttl : String(left);
    const isDue = left !== -2 && (isRenewed || (isOther && left !== -1)) && isSet;
    if (isDue && renewsBySet) call("SET", key, token, "PX", lives);
    else if (isDue) call("PEXPIRE", key, lives);
    if (isOther && left === -1 && !isRenewed) call("SET", key, token);
    else if (isOther) call("SET", key, token, "PX", lives);
    if (isRenewed) left = Number(least);
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
  family: Family = exclusiveOnly(call),
): number {
  let deleted = 0;
  for (const key of keys) {
    if (family.shared) {
      if (family.shared.dropAll(key, tokens)) deleted += 1;
      continue;
    }
    const owner = family.ownerFor(key, "");
    if (tokens.some((token) => isMine(owner, token))) deleted += call("DEL", key) as number;
  }
  return deleted;
}
