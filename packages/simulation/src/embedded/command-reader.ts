import Parser from "redis-parser";

const star = 42;

/**
 * Parses the commands of a connection from a byte stream. A connection that does not start with RESP sends inline
 * commands: each line is a command, and quotes have no meaning. Words are Latin-1: see `encoded`.
 */
export class CommandReader {
  readonly #heard: (words: readonly string[]) => void;
  readonly #parser: Parser;
  #isTyped: boolean | undefined;
  #line = "";

  constructor(heard: (words: readonly string[]) => void, broken: (why: string) => void) {
    this.#heard = heard;
    this.#parser = new Parser({
      returnBuffers: true,
      // A command has the form of a reply: an array of strings.
      returnReply: (reply: unknown) => {
        if (reply === null) return;
        if (isCommand(reply)) this.#hear(reply.map((word) => word.toString("latin1")));
        else broken("Protocol error, expected an array of bulk strings");
      },
      returnError: () => broken("Protocol error, expected an array of bulk strings"),
      returnFatalError: ({ message }) => broken(message),
    });
  }

  push(bytes: Buffer): void {
    this.#isTyped ??= bytes[0] !== star;
    if (this.#isTyped) this.#pushTyped(bytes.toString("latin1"));
    else this.#parser.execute(bytes);
  }

  #pushTyped(text: string): void {
    const lines = (this.#line + text).split("\n");
    this.#line = lines.pop()!;
    for (const line of lines) this.#hear(line.split(/\s+/).filter((word) => word !== ""));
  }

  #hear(words: readonly string[]): void {
    if (words.length > 0) this.#heard(words);
  }
}

function isCommand(reply: unknown): reply is readonly Buffer[] {
  return Array.isArray(reply) && reply.every((word) => Buffer.isBuffer(word));
}
