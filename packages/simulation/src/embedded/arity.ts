import { ReplyError } from "../master/reply.ts";

/** The number of words of a command, its name included; -n means at least n. The numbers are those of Redis. */
const arities: ReadonlyMap<string, number> = new Map([
  ["GET", 2],
  ["SET", -3],
  ["DEL", -2],
  ["EXISTS", -2],
  ["PTTL", 2],
  // Redis has options there; the model would overlook them.
  ["PEXPIRE", 3],
  ["INCR", 2],
  ["DECR", 2],
  ["RPUSH", -3],
  ["ZADD", -4],
  ["ZREM", -3],
  ["ZCARD", 2],
  ["ZRANGE", -4],
  ["PUBLISH", 3],
  ["PUBSUB", -2],
  ["SUBSCRIBE", -2],
  ["UNSUBSCRIBE", -1],
  ["PSUBSCRIBE", -2],
  ["PUNSUBSCRIBE", -1],
  ["ZSCORE", 3],
  ["ZREMRANGEBYSCORE", 4],
  ["EVAL", -3],
  ["EVALSHA", -3],
  ["SCRIPT", -2],
  ["SCRIPT|LOAD", 3],
  ["SCRIPT|EXISTS", -3],
  ["FLUSHALL", -1],
  ["FLUSHDB", -1],
  ["TIME", 1],
  ["PING", -1],
  ["ECHO", 2],
  ["SELECT", 2],
  ["AUTH", -2],
  ["CLIENT", -2],
  ["CLIENT|ID", 2],
  ["CLIENT|GETNAME", 2],
  ["CLIENT|SETNAME", 3],
  ["CLIENT|SETINFO", 4],
  ["CONFIG", -2],
  ["CONFIG|GET", -3],
]);

/** Throws where Redis would: the model assumes that every argument is present. */
export function checkArity([command, subcommand]: readonly string[], words: number): void {
  check(command!.toUpperCase(), words);
  if (subcommand !== undefined) check(`${command}|${subcommand}`.toUpperCase(), words);
}

function check(name: string, words: number): void {
  const arity = arities.get(name) ?? -1;
  if (arity < 0 ? words >= -arity : words === arity) return;
  throw wrongNumber(name.toLowerCase());
}

export function wrongNumber(name: string): ReplyError {
  return new ReplyError(`ERR wrong number of arguments for '${name}' command`);
}
