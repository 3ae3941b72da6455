import type { Subscriber } from "../master/channels.ts";
import { checkArity, hasFlag, wrongNumber } from "../master/commands.ts";
import { busy, isStatus, notAnInteger, ReplyError } from "../master/reply.ts";
import { type EmbeddedRedis, redisVersion } from "./embedded-redis.ts";
import { encoded, Prose, type Protocol, Push, Status, type WireReply } from "./encoding.ts";

type Command = (args: readonly string[]) => WireReply;

/** Of a command that subscribes or unsubscribes: to what. */
const subscribing: ReadonlyMap<string, "channel" | "pattern"> = new Map([
  ["SUBSCRIBE", "channel"],
  ["UNSUBSCRIBE", "channel"],
  ["PSUBSCRIBE", "pattern"],
  ["PUNSUBSCRIBE", "pattern"],
]);

/** The only commands that a connection may send while it is subscribed, before RESP3. */
const ofListeners: ReadonlySet<string> = new Set([...subscribing.keys(), "PING", "QUIT"]);

const ok = new Status("OK");

/** One connection on the server's side: its user, subscriptions, database and protocol version. */
export class Session implements Subscriber {
  readonly #redis: EmbeddedRedis;
  readonly #id: number;
  readonly #port: number;
  readonly #write: (text: string) => void;
  readonly #subscribed = { channel: new Set<string>(), pattern: new Set<string>() };
  #protocol: Protocol = 2;
  #database = 0;
  #name = "";
  #isAuthenticated: boolean;
  #isOver = false;
  /** Commands that concern the connection or the whole server; all others belong to the model. */
  readonly #commands: ReadonlyMap<string, Command> = new Map<string, Command>([
    ["HELLO", (args) => this.#hello(args)],
    ["AUTH", (args) => this.#authenticate(args)],
    ["SELECT", ([index]) => this.#select(index!)],
    ["CLIENT", ([action, ...args]) => this.#client(action!, args)],
    ["PING", (args) => this.#ping(args)],
    ["ECHO", ([text]) => text!],
    ["INFO", (sections) => new Prose(this.#info(sections))],
    ["CONFIG", ([action, ...names]) => this.#config(action!, names)],
    // Empty: clients that ask for it use it to print help.
    ["COMMAND", () => []],
    ["FLUSHDB", () => this.#flushed(() => this.#redis.flush(this.#database))],
    ["FLUSHALL", () => this.#flushed(() => this.#redis.flushAll())],
    ["QUIT", () => this.#quit()],
  ]);

  /** `write` sends messages that are no replies. */
  constructor(redis: EmbeddedRedis, id: number, port: number, write: (text: string) => void) {
    this.#redis = redis;
    this.#id = id;
    this.#port = port;
    this.#write = write;
    this.#isAuthenticated = redis.password === undefined;
  }

  /** Whether it has sent QUIT: later commands are ignored. */
  get isOver(): boolean {
    return this.#isOver;
  }

  push(channel: string, message: string, pattern?: string): void {
    const told =
      pattern === undefined
        ? new Push("message", channel, message)
        : new Push("pmessage", pattern, channel, message);
    this.#write(encoded(told, this.#protocol));
  }

  /** The connection is gone. */
  end(): void {
    this.#redis.channels.forget(this);
  }

  /** The reply as it goes over the wire; one for each channel that it names. */
  answer(words: readonly string[]): string {
    let reply: WireReply;
    try {
      if (this.#redis.isBusy && !hasFlag(words[0]!, "allow_busy")) throw busy();
      const replies = this.#subscription(words);
      if (replies) return replies.map((one) => encoded(one, this.#protocol)).join("");
      reply = this.#execute(words);
    } catch (error) {
      if (!(error instanceof ReplyError)) throw error;
      reply = error;
    }
    return encoded(reply, this.#protocol);
  }

  #execute(words: readonly string[]): WireReply {
    const [name, ...args] = words as [string, ...string[]];
    const command = name.toUpperCase();
    if (!this.#isAuthenticated && !hasFlag(command, "no_auth")) {
      throw new ReplyError("NOAUTH Authentication required.");
    }
    checkArity(words, words.length);
    const own = this.#commands.get(command);
    // (Any other command meets the gate in the model.)
    if (own) this.#redis.writes.enter(command);
    if (this.#isListener && !ofListeners.has(command)) {
      throw new ReplyError(
        `ERR Can't execute '${command.toLowerCase()}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are ` +
          "allowed in this context",
      );
    }
    if (own) return own(args);
    const reply = this.#redis.execute(this.#database, name, args);
    return isStatus(command, reply) ? ok : reply;
  }

  /** The replies of a command that subscribes or unsubscribes; undefined for any other command. */
  #subscription([name, ...names]: readonly string[]): readonly Push[] | undefined {
    const command = name!.toUpperCase();
    const kind = subscribing.get(command);
    if (!this.#isAuthenticated || !kind) return undefined;
    checkArity([name!], names.length + 1);
    const isEnd = command.includes("UNSUBSCRIBE");
    const subscribed = this.#subscribed[kind];
    const named = isEnd && names.length === 0 ? [...subscribed] : names;
    const answer = command.toLowerCase();
    if (named.length === 0) return [new Push(answer, null, this.#subscriptions)];
    return named.map((one) => {
      subscribed[isEnd ? "delete" : "add"](one);
      this.#redis.channels[isEnd ? "unsubscribe" : "subscribe"](one, this, kind);
      return new Push(answer, one, this.#subscriptions);
    });
  }

  /** Whether only commands for subscriptions are allowed. */
  get #isListener(): boolean {
    return this.#subscriptions > 0 && this.#protocol === 2;
  }

  #ping(args: readonly string[]): WireReply {
    // The one command here that has a most, too; Redis looks at it last.
    if (args.length > 1) throw wrongNumber("ping");
    const [text] = args;
    if (this.#isListener) return ["pong", text ?? ""];
    return text ?? new Status("PONG");
  }

  get #subscriptions(): number {
    return this.#subscribed.channel.size + this.#subscribed.pattern.size;
  }

  #hello([version, ...options]: readonly string[]): WireReply {
    if (version !== undefined && !/^-?\d+$/.test(version)) {
      throw new ReplyError("ERR Protocol version is not an integer or out of range");
    }
    if (version !== undefined && version !== "2" && version !== "3") {
      throw new ReplyError("NOPROTO unsupported protocol version");
    }
    const given = helloOptions(options);
    if (given.credentials) this.#authenticate(given.credentials);
    if (!this.#isAuthenticated) {
      throw new ReplyError(
        "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> " +
          "<pass> option can be used to authenticate the client and select the RESP protocol version at the same time",
      );
    }
    if (given.name !== undefined) this.#name = given.name;
    if (version !== undefined) this.#protocol = version === "3" ? 3 : 2;
    return new Map<string, WireReply>([
      ["server", "redis"],
      ["version", redisVersion],
      ["proto", this.#protocol],
      ["id", this.#id],
      ["mode", "standalone"],
      ["role", "master"],
      ["modules", []],
    ]);
  }

  /** `AUTH password` or `AUTH user password`. */
  #authenticate(args: readonly string[]): Status {
    const { password } = this.#redis;
    const [user, words] = args.length > 1 ? args : ["default", ...args];
    // Words are bytes: see `encoded`.
    const given = Buffer.from(words!, "latin1").toString();
    if (password === undefined && args.length === 1) {
      throw new ReplyError(
        "ERR AUTH <password> called without any password configured for the default user. Are you sure your " +
          "configuration is correct?",
      );
    }
    if (user !== "default" || (password !== undefined && given !== password)) {
      throw new ReplyError("WRONGPASS invalid username-password pair or user is disabled.");
    }
    this.#isAuthenticated = true;
    return ok;
  }

  #select(text: string): Status {
    if (!/^-?\d+$/.test(text)) throw notAnInteger();
    const index = Number(text);
    if (!this.#redis.hasDatabase(index)) throw new ReplyError("ERR DB index is out of range");
    this.#database = index;
    return ok;
  }

  #client(action: string, [value]: readonly string[]): WireReply {
    switch (action.toUpperCase()) {
      case "ID":
        return this.#id;
      case "GETNAME":
        return this.#name === "" ? null : this.#name;
      case "SETNAME":
        this.#name = value!;
        return ok;
      case "SETINFO":
        return ok;
      default:
        throw new ReplyError(`ERR unknown subcommand '${action}'. Try CLIENT HELP.`);
    }
  }

  #info(sections: readonly string[]): string {
    const asked = sections.map((section) => section.toLowerCase());
    const isAsked = ["server", "default", "all", "everything"].some((section) => asked.includes(section));
    if (asked.length > 0 && !isAsked) return "";
    const fields = {
      redis_version: redisVersion,
      redis_mode: "standalone",
      process_id: process.pid,
      run_id: this.#redis.runId,
      tcp_port: this.#port,
    };
    const lines = Object.entries(fields).map(([name, value]) => `${name}:${value}\r\n`);
    return `# Server\r\n${lines.join("")}`;
  }

  /** How it is run is decided where it is started, so there is little to get and nothing to set. */
  #config(action: string, names: readonly string[]): WireReply {
    if (action.toUpperCase() !== "GET") {
      throw new ReplyError(`ERR an embedded master has no CONFIG ${action.toUpperCase()}`);
    }
    const known = { port: String(this.#port), requirepass: this.#redis.password ?? "" };
    const asked = names.map((name) => name.toLowerCase());
    return new Map(Object.entries(known).filter(([name]) => asked.includes(name) || asked.includes("*")));
  }

  #flushed(flush: () => void): Status {
    flush();
    return ok;
  }

  #quit(): Status {
    this.#isOver = true;
    return ok;
  }
}

function helloOptions(options: readonly string[]): { credentials?: readonly string[]; name?: string } {
  const given: { credentials?: readonly string[]; name?: string } = {};
  for (let index = 0; index < options.length; ) {
    const option = options[index]!.toUpperCase();
    if (option === "AUTH" && index + 2 < options.length) {
      given.credentials = options.slice(index + 1, index + 3);
      index += 3;
    } else if (option === "SETNAME" && index + 1 < options.length) {
      given.name = options[index + 1]!;
      index += 2;
    } else throw new ReplyError(`ERR Syntax error in HELLO option '${options[index]}'`);
  }
  return given;
}
