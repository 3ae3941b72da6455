import type { Done, Message } from "../../redis/connection.ts";
import { keptFor } from "../../time/kept.ts";
import type { Link } from "../link.ts";
import { type Command, type CommandClass, commandClassOf, type SendingClient } from "./private.ts";

/** Makes a command for `sendCommand`. Its outcome goes to `done`, never before `sendCommand` has returned. */
export type MakeCommand = (message: Message, keyPrefix: string, done: Done) => SentCommand;

export interface SentCommand {
  /** Whether `sendCommand` has returned. */
  isSent: boolean;
  reject: (error: unknown) => unknown;
}

/** A message as ioredis encodes it: `wire` of the message. */
interface Encoded {
  readonly maker: object;
  readonly keyPrefix: string;
  readonly command: string;
  /** The same in lower case. Before version 5.9, and in iovalkey, ioredis knows the keys of such names only. */
  readonly word: string;
  readonly text: unknown;
  /** The arguments as tracing tools, debug logs and the errors of ioredis show them. */
  readonly args: unknown[];
}

/** The promise of each command, for tools that chain on it: it is settled, and rejects nowhere. */
const nothing = Promise.resolve();

/**
 * Makes commands without promises. A command of ioredis creates a promise, and a lock sends ten commands:
 * promises would be most of its cost. ioredis settles a command through its own `resolve` and `reject`, and
 * `sendCommand` is public, so a subclass can replace them. `undefined` if this version of ioredis makes
 * commands in another way: then `call` sends them.
 */
export function callbackCommandsOf(client: object): MakeCommand | undefined {
  const Command = commandClassOf(client);
  if (!Command) return undefined;
  return keptFor("commands", Command, () => ({ make: checked(makerOf(Command)) })).make;
}

/** As in `Link.post`: sends a command that `make` has made. */
export function deliverBy(client: SendingClient, make: MakeCommand, keyPrefix: string): Link["post"] {
  return (message, done) => {
    const sent = make(message, keyPrefix, done);
    try {
      client.sendCommand(sent);
    } catch (error) {
      // A tool that wraps `sendCommand` has thrown.
      sent.reject(error);
    }
    sent.isSent = true;
  };
}

function makerOf(Base: CommandClass): MakeCommand {
  class CallbackCommand extends Base implements SentCommand {
    declare isSent: boolean;
    declare done: Done | undefined;
    readonly #encoded: Encoded;

    constructor(message: Message, keyPrefix: string, done: Done) {
      const { command: name, args } = message;
      // The same message goes to several masters, and is encoded for the first.
      let encoded = message.wire as Encoded | undefined;
      const isEncoded = encoded?.maker === Base && encoded.keyPrefix === keyPrefix;
      const word = encoded && isEncoded ? encoded.word : name.toLowerCase();
      super(word, isEncoded ? [] : args, { replyEncoding: "utf8", keyPrefix: isEncoded ? "" : keyPrefix });
      this.isSent = false;
      this.done = done;
      if (!encoded || !isEncoded) {
        const text = super.toWritable(null);
        // Tokens are behind the keys, and a token is enough to release a lock.
        const shown = name.startsWith("EVAL") ? 2 + Number(this.args[1]) : 1;
        encoded = { maker: Base, keyPrefix, command: name, word, text, args: this.args.fill("?", shown) };
        message.wire = encoded;
      }
      this.#encoded = encoded;
      this.args = encoded.args;
    }

    override toWritable(): unknown {
      return this.#encoded.text;
    }

    override initPromise(): void {
      this.stringifyArguments();
      // Disables tracing: no promise tells when it is answered.
      this.isTraced = true;
      this.promise = nothing;
      // Properties instead of methods: tracing tools detach these functions and call them without the
      // command.
      this.resolve = (reply) => this.#answered(reply);
      this.reject = (error) => this.#settle(undefined, withoutAdvice(error));
    }

    #answered(reply: unknown): void {
      let read: unknown;
      // In upper case: an application may have set a transformer for the replies to "get" or "set".
      this.name = this.#encoded.command;
      try {
        read = this.transformReply(reply);
      } catch (error) {
        // A reply transformer of the application threw: the command is still settled.
        this.#settle(undefined, error);
        return;
      }
      this.#settle(read);
    }

    #settle(reply: unknown, error?: unknown): void {
      const { done } = this;
      if (!done) return;
      this.done = undefined;
      if (this.isSent) done(reply, error);
      // A client that refuses the command does so before `sendCommand` returns.
      else void Promise.resolve().then(() => done(reply, error));
    }
  }
  return (message, keyPrefix, done) => new CallbackCommand(message, keyPrefix, done);
}

/** `make`, if its commands are encoded and settled correctly. */
function checked(make: MakeCommand): MakeCommand | undefined {
  const outcomes: unknown[] = [];
  const done: Done = (reply, error) => outcomes.push(reply ?? error);
  const message = { command: "EVALSHA", args: ["digest", 1, "key"] };
  const command = (): SentCommand & Command =>
    Object.assign(make(message, "prefix:", done) as SentCommand & Command, { isSent: true });
  try {
    // The second command shares the encoding of the first.
    const [answered, failed] = [command(), command()];
    const texts = [answered.toWritable(null), failed.toWritable(null)];
    const { resolve } = answered;
    resolve("reply");
    resolve("late");
    const { reject } = failed;
    reject("error");
    const wanted = "*4\r\n$7\r\nevalsha\r\n$6\r\ndigest\r\n$1\r\n1\r\n$10\r\nprefix:key\r\n";
    const isWritten = texts.every((text) => text === wanted);
    return isWritten && outcomes.join() === "reply,error" ? make : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The error of a command whose connection was lost. Those of ioredis say no reason, or advise options that have no effect
 * here, because the connections of locks override them; and that it cannot be written to says less than the error before.
 */
export function withoutAdvice(error: unknown): unknown {
  const advises =
    error instanceof Error &&
    /\b(maxRetriesPerRequest|enableOfflineQueue|EPIPE)\b|^Connection is closed\./.test(error.message);
  return advises ? new Error("the connection was lost") : error;
}
