import type { Args } from "../../redis/connection.ts";

/** Commands without keys. */
const keyless = new Set(["MULTI", "EXEC", "DISCARD", "INFO", "TIME", "PING"]);

/**
 * The words of a command, with the prefix before each key. (`sendCommand` of node-redis takes strings only,
 * and adds no prefix.)
 */
export function wordsOf(command: string, args: Args, keyPrefix: string): string[] {
  const words = [command, ...args.map(String)];
  if (keyPrefix === "" || keyless.has(command)) return words;
  const [first, end] = keysIn(command, args);
  for (let index = first; index < end; index += 1) words[index] = keyPrefix + words[index];
  return words;
}

/** The positions of the keys among the words: the first, and the one after the last. */
function keysIn(command: string, args: Args): readonly [first: number, end: number] {
  if (command === "WATCH" || command === "DEL") return [1, args.length + 1];
  // The script, the number of keys, the keys.
  if (command === "EVAL" || command === "EVALSHA") return [3, 3 + Number(args[1])];
  return [1, 2];
}

/** The key that decides which node of a Cluster gets the command. */
export function firstKeyOf([command = "", ...args]: readonly string[]): string | undefined {
  if (keyless.has(command)) return undefined;
  if (command === "EVAL" || command === "EVALSHA") return args[1] === "0" ? undefined : args[2];
  return args[0];
}
