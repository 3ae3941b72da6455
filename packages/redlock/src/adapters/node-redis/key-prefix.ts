import type { Args } from "../../redis/connection.ts";

/** Commands without keys. */
const keyless = new Set(["MULTI", "EXEC", "DISCARD", "INFO", "TIME", "PING"]);

/** The words of the latest command: all masters are asked in one turn with the same arguments. */
let latest:
  | { readonly of: Args; readonly command: string; readonly prefix: string; words: string[] }
  | undefined;

/**
 * The words of a command, with the prefix before each key. (`sendCommand` of node-redis takes strings only,
 * and adds no prefix.)
 */
export function wordsOf(command: string, args: Args, prefix: string): readonly string[] {
  if (latest?.of !== args || latest.command !== command || latest.prefix !== prefix) {
    latest = { of: args, command, prefix, words: [command, ...args.map(String)] };
    if (prefix !== "" && !keyless.has(command)) addPrefix(latest.words, prefix);
  }
  return latest.words;
}

function addPrefix(words: string[], prefix: string): void {
  const [first, end] = keysIn(words);
  for (let index = first; index < end; index += 1) words[index] = prefix + words[index];
}

/** The positions of the keys among the words: the first, and the one after the last. */
function keysIn({ 0: command, 2: keys, length }: readonly string[]): readonly [first: number, end: number] {
  if (command === "WATCH" || command === "DEL") return [1, length];
  // The script, the number of keys, the keys.
  if (command === "EVAL" || command === "EVALSHA") return [3, 3 + Number(keys)];
  return [1, 2];
}

/** The key that decides which node of a Cluster gets the command. */
export function firstKeyOf([command = "", ...args]: readonly string[]): string | undefined {
  if (keyless.has(command)) return undefined;
  if (command === "EVAL" || command === "EVALSHA") return args[1] === "0" ? undefined : args[2];
  return args[0];
}
