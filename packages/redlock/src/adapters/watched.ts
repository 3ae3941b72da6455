// Tools that trace a process change client libraries as they are loaded, and record the words of each command. Those of
// scripts are recorded in full, and tokens are among them: a token is enough to release a lock.

/** `sendCommand` as a client library has it, also minified. One that a tool has put in its place, or rewritten, begins otherwise. */
const unpatched = /^(async )?sendCommand\(\w+(, ?\w+)+\)/;
export interface Sender {
  readonly sendCommand: (...args: never[]) => unknown;
}

/** Tells whether a tool watches what is sent by a client. The text of its function is read once. */
export function watch(): (client: Sender) => boolean {
  let seen: unknown;
  let isPatched = false;
  return ({ sendCommand }) => {
    if (sendCommand !== seen) {
      seen = sendCommand;
      isPatched = !unpatched.test(String(sendCommand));
    }
    return isPatched;
  };
}

/** Commands without keys. */
const keyless: ReadonlySet<string> = new Set(["MULTI", "EXEC", "DISCARD", "INFO", "TIME", "PING"]);

/** The positions of the keys among a command and its arguments: the first, and the one after the last. */
export function keysIn(words: readonly unknown[]): readonly [first: number, end: number] {
  const { 0: command, 2: keys, length } = words;
  if (keyless.has(command as string)) return [length, length];
  if (command === "WATCH" || command === "DEL") return [1, length];
  // The script, the number of keys, the keys.
  if (command === "EVAL" || command === "EVALSHA") return [3, 3 + Number(keys)];
  return [1, 2];
}

/** A word, as tools print it. */
const text = (): string => "?";
const asText = { toString: text, toJSON: text, [Symbol.for("nodejs.util.inspect.custom")]: text };

/** The same for the library, and "?" for whoever prints it. */
export function hidden(word: string): Uint8Array {
  return Object.assign(Buffer.from(word), asText);
}

/** Hides what follows the keys. (Numbers are no secrets, and buffers cost.) */
export function withoutSecrets(words: readonly string[]): readonly (string | Uint8Array)[] {
  const [, end] = keysIn(words);
  return words.map((word, index) => (index < end || /^\d*$/.test(word) ? word : hidden(word)));
}
