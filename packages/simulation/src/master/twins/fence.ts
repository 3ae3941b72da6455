import { type Reply, ReplyError } from "../reply.ts";
import type { Rules } from "./rules.ts";
import type { Call } from "./twin.ts";

export const floor = "quorlock:floor";
const floorPast = "quorlock:floor:past";
const counterPrefix = "quorlock:fence:";

const counterTtl = 86_400_000;
const pastTtl = 43_200_000;
const most = 2 ** 53 - 2 ** 20;

/** Refused where numbers are not exact any more. */
export function checkProposal(proposal: string): void {
  if (proposal !== "" && Number(proposal) >= most) throw new ReplyError("ERR the fencing token is too large");
}

/** `counterOf` in the scripts. */
export function counterOf(call: Call, keys: readonly string[]): number {
  let past = call("GET", floorPast) as string | null;
  if (past === null) {
    past = (call("GET", floor) as string | null) ?? "0";
    call("SET", floorPast, past, "PX", String(pastTtl));
  }
  return Math.max(Number(past), ...keys.map((key) => Number(call("GET", counterPrefix + key) ?? 0)));
}

/** No counter counts for less from now on, for half a day. */
export function keepPast(call: Call, past: string): void {
  call("SET", floorPast, past, "PX", String(pastTtl));
}

/** `raise` in the scripts. */
export function raise(call: Call, keys: readonly string[], counter: number): void {
  for (const key of keys) call("SET", counterPrefix + key, String(counter), "PX", String(counterTtl));
  if (counter >= Number(call("GET", floor) ?? 0)) call("SET", floor, String(counter + 1_000_000));
  if ((call("PTTL", floorPast) as number) > pastTtl) call("DEL", floorPast);
}

/** `fenced` in the scripts. */
export function fenced(
  rules: Rules,
  call: Call,
  keys: readonly string[],
  granted: number,
  proposal: string,
  next?: string,
): Reply {
  const counter = counterOf(call, keys);
  raise(call, keys, rules.stored(counter, Number(proposal)));
  return [-1, granted, String(counter), ...(next === undefined ? [] : [next])];
}
