import type { Args } from "../../redis/connection.ts";
import { isPatched, keysIn, type Sender, withoutSecrets } from "../watched.ts";

/** The words of the latest command: all masters are asked in one turn with the same arguments. */
let latest:
  | { readonly of: Args; readonly command: string; readonly prefix: string; words: string[] }
  | undefined;
/** The same, hidden: made once for all masters. */
let latestHidden: { readonly of: object; readonly words: readonly (string | Uint8Array)[] } | undefined;

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

/** The key that decides which node of a Cluster gets the command. */
export function firstKeyOf(words: readonly string[]): string | undefined {
  const [first, end] = keysIn(words);
  return first < end ? words[first] : undefined;
}

const { channel } = process.getBuiltinModule("node:diagnostics_channel");
/** The channels on which node-redis publishes the words of commands, and the one of dd-trace, which patches its queue of commands. */
const channels = [
  ...["start", "end", "asyncStart", "asyncEnd", "error"].map(
    (event) => `tracing:node-redis:command:${event}`,
  ),
  "apm:redis:command:start",
].map((name) => channel(name));

/**
 * The words as `client` gets them. Tools that watch it record those of scripts in full, and tokens are among them: a
 * token is enough to release a lock. So if there is one, what follows the keys is passed as buffers, whose text is "?".
 */
export function untraced(words: readonly string[], client: Sender): readonly (string | Uint8Array)[] {
  if (!isPatched(client) && !channels.some(({ hasSubscribers }) => hasSubscribers)) return words;
  if (latestHidden?.of !== words) latestHidden = { of: words, words: withoutSecrets(words) };
  return latestHidden.words;
}
