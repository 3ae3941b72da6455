import type { Args, Done } from "../../redis/connection.ts";

/** Makes a command for `sendCommand` whose outcome goes to `done`, never before `sendCommand` has returned. */
export type MakeCommand = (name: string, args: Args, keyPrefix: string, done: Done) => SentCommand;

export interface SentCommand {
  /** `sendCommand` has returned. */
  isSent: boolean;
}

/** A command of ioredis, as far as it is used here. */
interface Command {
  transformed?: boolean;
  isTraced?: boolean;
  resolve: (reply: unknown) => unknown;
  reject: (error: unknown) => unknown;
  promise: unknown;
  stringifyArguments(): void;
  args: unknown[];
  toWritable(stream: unknown): unknown;
  transformReply(reply: unknown): unknown;
}

/** Arguments as ioredis sends them, and the text of the command. */
interface Ready {
  /** What was given. */
  readonly of: Args;
  readonly name: string;
  readonly keyPrefix: string;
  readonly args: unknown[];
  text: unknown;
}

type CommandClass = new (
  name: string,
  args: Args,
  options: { readonly replyEncoding: "utf8"; readonly keyPrefix: string },
) => Command;

const made = new WeakMap<object, MakeCommand | undefined>();

/**
 * A command of ioredis makes a promise, and a lock sends ten of them: promises are most of what it costs. A command is told
 * by its own `resolve` and `reject`, and `sendCommand` is public. So one of ours does without the promise. `undefined`
 * where this version of ioredis makes commands in another way: then `call` sends them.
 */
export function callbackCommandsOf(client: object): MakeCommand | undefined {
  const Command = commandClassOf(client);
  if (!Command) return undefined;
  if (!made.has(Command)) made.set(Command, tried(makerOf(Command)));
  return made.get(Command);
}

/** `call` hands a command over, which is not sent: its class has no name that can be reached from a client. */
function commandClassOf(client: object): CommandClass | undefined {
  let taken: object | undefined;
  const sendCommand = (command: object): void => {
    taken = command;
  };
  try {
    const taker = Object.create(client, { sendCommand: { value: sendCommand } }) as CallingClient;
    taker.call("PING");
    return taken?.constructor as CommandClass | undefined;
  } catch {
    return undefined;
  }
}

interface CallingClient {
  call(command: string): unknown;
}

function makerOf(Base: CommandClass): MakeCommand {
  // Masters that are asked the same are asked in one turn, with the same arguments: those are made ready for the wire once,
  // and forgotten with the first answer.
  let latest: Ready | undefined;

  class CallbackCommand extends Base implements SentCommand {
    declare isSent: boolean;
    declare done: Done | undefined;
    readonly #ready: Ready;

    constructor(name: string, args: Args, keyPrefix: string, done: Done) {
      // (A tool that changes the arguments of a command changes them for all masters, as it would by itself.)
      const isReady = latest?.of === args && latest.name === name && latest.keyPrefix === keyPrefix;
      super(name, isReady ? [] : args, { replyEncoding: "utf8", keyPrefix: isReady ? "" : keyPrefix });
      this.isSent = false;
      this.done = done;
      if (isReady) this.args = latest!.args;
      else latest = { of: args, name, keyPrefix, args: this.args, text: undefined };
      this.#ready = latest!;
    }

    override toWritable(stream: unknown): unknown {
      this.#ready.text ??= super.toWritable(stream);
      return this.#ready.text;
    }

    /** In place of the one that the constructor of ioredis calls. */
    initPromise(): void {
      this.transformed = true;
      this.stringifyArguments();
      // There is no promise that could be traced.
      this.isTraced = true;
      this.promise = undefined;
      // No methods: tools that trace commands take them off, and call them without the command.
      this.resolve = (reply) => this.#answered(reply);
      this.reject = (error) => this.#tell(undefined, error);
    }

    #answered(reply: unknown): void {
      // Told before: a late reply.
      if (!this.done) return;
      let read: unknown;
      try {
        read = this.transformReply(reply);
      } catch (error) {
        // A transformer that the application has set for replies: the command has to be told all the same.
        this.#tell(undefined, error);
        return;
      }
      this.#tell(read);
    }

    #tell(reply: unknown, error?: unknown): void {
      const { done } = this;
      if (!done) return;
      this.done = undefined;
      if (latest === this.#ready) latest = undefined;
      if (this.isSent) done(reply, error);
      // A client that refuses the command does so before it has returned.
      else void Promise.resolve().then(() => done(reply, error));
    }
  }
  return (name, args, keyPrefix, done) => new CallbackCommand(name, args, keyPrefix, done);
}

/** `make`, if what it makes is written and told as it has to be. */
function tried(make: MakeCommand): MakeCommand | undefined {
  const outcomes: unknown[] = [];
  const done: Done = (reply, error) => outcomes.push(reply ?? error);
  const args = ["digest", 1, "key"];
  const command = (): SentCommand & Command =>
    Object.assign(make("EVALSHA", args, "prefix:", done) as SentCommand & Command, { isSent: true });
  try {
    // The second one shares what the first has made ready.
    const [answered, failed] = [command(), command()];
    const texts = [answered.toWritable(null), failed.toWritable(null)];
    const { resolve } = answered;
    resolve("reply");
    resolve("late");
    const { reject } = failed;
    reject("error");
    const wanted = "*4\r\n$7\r\nEVALSHA\r\n$6\r\ndigest\r\n$1\r\n1\r\n$10\r\nprefix:key\r\n";
    const isWritten = texts.every((text) => text === wanted);
    return isWritten && outcomes.join() === "reply,error" ? make : undefined;
  } catch {
    return undefined;
  }
}
