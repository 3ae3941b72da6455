import type { Args } from "../../redis/connection.ts";

/** Commands without keys. */
const keyless = new Set(["MULTI", "EXEC", "DISCARD", "INFO", "TIME", "PING"]);

/** The words of the latest command: all masters are asked in one turn with the same arguments. */
let latest:
  | { readonly of: Args; readonly command: string; readonly prefix: string; words: string[] }
  | undefined;

/**
 * The words of a command, with the prefix before each key. (`sendCommand` of node-redis takes strings and buffers only,
 * and adds no prefix.)
 */
export function wordsOf(command: string, args: Args, prefix: string): readonly string[] {
  if (latest?.of !== args || latest.command !== command || latest.prefix !== prefix) {
    latest = { of: args, command, prefix, words: [command, ...args.map(String)] };
    if (prefix !== "") addPrefix(latest.words, prefix);
  }
  return latest.words;
}

function addPrefix(words: string[], prefix: string): void {
  const [first, end] = keysIn(words);
  for (let index = first; index < end; index += 1) words[index] = prefix + words[index];
}

/** The positions of the keys among a command and its arguments: the first, and the one after the last. */
function keysIn(words: readonly unknown[]): readonly [first: number, end: number] {
  const { 0: command, 2: keys, length } = words;
  if (keyless.has(command as string)) return [length, length];
  if (command === "WATCH" || command === "DEL") return [1, length];
  // The script, the number of keys, the keys.
  if (command === "EVAL" || command === "EVALSHA") return [3, 3 + Number(keys)];
  return [1, 2];
}

/** The key that decides which node of a Cluster gets the command. */
export function firstKeyOf(words: readonly string[]): string | undefined {
  const [first, end] = keysIn(words);
  return first < end ? words[first] : undefined;
}

const tracing = globalThis.process?.getBuiltinModule?.("node:diagnostics_channel");
/** The channels on which node-redis publishes the words of commands. */
const channels = ["start", "end", "asyncStart", "asyncEnd", "error"].map((event) =>
  tracing?.channel(`tracing:node-redis:command:${event}`),
);

/**
 * The words as node-redis gets them. It publishes those of scripts in full, and tokens are among them: a token is enough
 * to release a lock. So if a tool listens, what follows the keys is passed as buffers, whose text is "?".
 */
export function untraced(words: readonly string[]): readonly (string | Uint8Array)[] {
  if (!channels.some((channel) => channel?.hasSubscribers)) return words;
  const [, end] = keysIn(words);
  return words.map((word, index) => (index < end ? word : hidden(word)));
}

function hidden(word: string): Uint8Array {
  // biome-ignore lint/style/noRestrictedGlobals: the encoder of node-redis takes no other bytes.
  return Object.assign(Buffer.from(word), { toString: () => "?" });
}
