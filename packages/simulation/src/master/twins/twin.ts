import { type Reply, ReplyError } from "../reply.ts";

/** `redis.call`, inside a script. */
export type Call = (command: string, ...args: readonly string[]) => Reply;

/** A script as a function. Replies are Lua's: what is `nil` or `false` there is `null` here. */
export type Twin = (call: Call, keys: readonly string[], args: readonly string[]) => Reply;

/** Lua's `tonumber`, for what a client may send. */
export function luaNumber(text: string): number | undefined {
  const number = text.trim() === "" ? Number.NaN : Number(text);
  return Number.isNaN(number) ? undefined : number;
}

/** Comparing with nil is an error of the script. */
export function isLess(left: number, right: number | undefined): boolean {
  if (right === undefined) throw scriptError("attempt to compare nil with number");
  return left < right;
}

/** An error raised by Lua itself. The position in the script is left out. */
export function scriptError(what: string): ReplyError {
  return new ReplyError(`ERR user_script: ${what}`);
}
