import type { Message } from "../../redis/connection.ts";
import { keysIn, withoutSecrets } from "../watched.ts";

/** A command as node-redis takes it: `wire` of the message, for all masters. (It takes strings and buffers only, and adds no prefix.) */
export class Words {
  readonly prefix: string;
  readonly plain: readonly string[];
  #hidden: readonly (string | Uint8Array)[] | undefined;

  constructor({ command, args }: Message, prefix: string) {
    const words = [command, ...args.map(String)];
    const [first, end] = keysIn(words);
    this.prefix = prefix;
    this.plain = words.map((word, index) => (index >= first && index < end ? prefix + word : word));
  }

  get hidden(): readonly (string | Uint8Array)[] {
    this.#hidden ??= withoutSecrets(this.plain);
    return this.#hidden;
  }
}

export function wordsOf(message: Message, prefix: string): Words {
  const { wire } = message;
  if (wire instanceof Words && wire.prefix === prefix) return wire;
  const words = new Words(message, prefix);
  message.wire = words;
  return words;
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
 * The words as a client gets them. Tools that watch it record those of scripts in full, and tokens are among them: a
 * token is enough to release a lock. So if there is one, what follows the keys is passed as buffers, whose text is "?".
 */
export function untraced(words: Words, isPatched: boolean): readonly (string | Uint8Array)[] {
  return isPatched || channels.some(({ hasSubscribers }) => hasSubscribers) ? words.hidden : words.plain;
}
