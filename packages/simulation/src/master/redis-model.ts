import { keysIn } from "./commands.ts";
import type { Keyspace } from "./keyspace.ts";
import { type KnownScript, knownScript } from "./known-scripts.ts";
import { redisLibrary, runScript } from "./redis-library.ts";
import { notAnInteger, type Reply, ReplyError, wrongType } from "./reply.ts";
import { boundIn, type Member, type SortedSet, scoreIn, scoreText, slice, withMember } from "./sorted-set.ts";
import { type ScriptRun, WriteGate } from "./write-refusal.ts";

type Command = (args: readonly string[], now: number) => Reply;

/** Sends a message to all listeners, and returns their number. An error reply is thrown. */
export type Publish = (channel: string, message: string) => number;

/** How many listen to a channel itself, and not to a pattern. An error reply is thrown. */
export type Listeners = (channel: string) => number;

/**
 * The replies of one Redis master, for every command that the client and the simulation send. Commands and scripts are
 * atomic and take no time. (In Redis 7.0 the time of a SET moves on within a script, so two keys of one claim may
 * expire a millisecond apart: later than here, never earlier.)
 *
 * The differential test compares it with a real redis-server.
 */
export class RedisModel {
  #keyspace: Keyspace;
  #history: History;
  readonly #publish: Publish;
  readonly #listeners: Listeners;
  /** Whether it writes at the moment. */
  readonly writes: WriteGate = new WriteGate();
  readonly #scripts = new Set<string>();
  /** The script that runs, or that ran last. */
  #running: ScriptRun & { readonly now: number } = { now: 0, hasWritten: false };
  readonly #redis = redisLibrary((command, args) =>
    this.#run(command, args, this.#running.now, this.#running),
  );
  /** Whether keys that are missing may be on another master of a Cluster: a script must not touch them. */
  isMovingAway = false;
  readonly #commands: ReadonlyMap<string, Command>;

  constructor(
    keyspace: Keyspace,
    replId: string,
    publish: Publish = () => 0,
    listeners: Listeners = () => 0,
  ) {
    this.#keyspace = keyspace;
    this.#history = { replId, formerId: noId };
    this.#publish = publish;
    this.#listeners = listeners;
    this.#commands = new Map<string, Command>([
      ["GET", ([key], now) => this.#string(key!, now)],
      ["MGET", (keys, now) => keys.map((key) => this.#stringOrNull(key, now))],
      ["SET", (args, now) => this.#set(args, now)],
      ["DEL", (keys, now) => keys.filter((key) => this.#keyspace.delete(key, now)).length],
      ["EXISTS", (keys, now) => keys.filter((key) => this.#keyspace.get(key, now)).length],
      ["PTTL", ([key], now) => this.#pttl(key!, now)],
      ["PEXPIRE", (args, now) => this.#expire(args, now)],
      ["INCR", ([key], now) => this.#add(key!, 1, now)],
      ["TYPE", ([key], now) => this.#type(key!, now)],
      ["DECR", ([key], now) => this.#add(key!, -1, now)],
      ["RPUSH", ([key, ...values], now) => this.#push(key!, values, now)],
      ["ZADD", (args, now) => this.#addMembers(args, now)],
      ["ZREM", ([key, ...names], now) => this.#removeMembers(key!, names, now)],
      ["ZSCORE", ([key, name], now) => this.#score(key!, name!, now)],
      ["ZREMRANGEBYSCORE", ([key, first, last], now) => this.#removeRange(key!, first!, last!, now)],
      ["ZCARD", ([key], now) => this.#sorted(key!, now).length],
      ["ZRANGE", (args, now) => this.#range(args, now)],
      ["PUBLISH", ([channel, message]) => this.#publish(channel!, message!)],
      ["PUBSUB", ([action, ...channels]) => this.#pubsub(action!, channels)],
      ["EVAL", (args, now) => this.#evaluate(args, now, () => this.#load(args[0]!))],
      ["EVALSHA", (args, now) => this.#evaluate(args, now, () => this.#loaded(args[0]!))],
      ["SCRIPT", ([action, ...args]) => this.#script(action!, args)],
      ["FLUSHALL", () => this.#flushAll()],
      ["PING", () => "PONG"],
      ["TIME", (_, now) => [String(Math.floor(now / 1000)), String((now % 1000) * 1000)]],
      ["INFO", () => this.#replication()],
      ["SETRANGE", ([key, offset, value], now) => this.#overwrite(key!, offset!, value!, now)],
      ["OBJECT", ([action, key], now) => this.#encoding(action!, key!, now)],
    ]);
  }

  get keyspace(): Keyspace {
    return this.#keyspace;
  }

  /** A new process with the keys that the old one left, or that it has as its replica. Scripts are not kept. */
  restart(keyspace: Keyspace, replId: string, formerId: string = noId): void {
    this.replaceKeyspace(keyspace);
    this.#history = { replId, formerId };
    this.#scripts.clear();
  }

  /** The same process was a replica for a moment. Scripts are kept. */
  promote(keyspace: Keyspace, replId: string, formerId: string): void {
    this.replaceKeyspace(keyspace);
    this.#history = { replId, formerId };
  }

  /** Other keys in the same process. */
  replaceKeyspace(keyspace: Keyspace): void {
    this.#keyspace = keyspace;
  }

  /** `now` is the master's wall clock, whole ms. Error replies are thrown. */
  execute(command: string, args: readonly (string | number)[], now: number): Reply {
    return this.#run(command, args.map(String), now);
  }

  /** A command as it is, or as a script calls it. */
  #run(command: string, args: readonly string[], now: number, script?: ScriptRun): Reply {
    const run = this.#commands.get(command) ?? this.#commands.get(command.toUpperCase());
    if (!run && script) throw new ReplyError("ERR Unknown Redis command called from script");
    if (!run) throw unknownCommand(command, args);
    if (this.isMovingAway && script) this.#checkLocal(command, args, now);
    this.writes.enter(command, script);
    return run(args, now);
  }

  #checkLocal(command: string, args: readonly string[], now: number): void {
    if (!keysIn(command, args).every((key) => this.#keyspace.get(key, now)))
      throw new ReplyError("ERR Script attempted to access a non local key in a cluster node");
  }

  #string(key: string, now: number): string | null {
    const entry = this.#keyspace.get(key, now);
    if (!entry) return null;
    if (typeof entry.value !== "string") throw wrongType();
    return entry.value;
  }

  /** Whether it has the data of another master, whose replica it was. */
  get wasReplica(): boolean {
    return this.#history.formerId !== noId;
  }

  #replication(): string {
    const { replId, formerId } = this.#history;
    const role = this.writes.refusal === "READONLY" ? "slave" : "master";
    return `# Replication\r\nrole:${role}\r\nmaster_replid:${replId}\r\nmaster_replid2:${formerId}\r\n`;
  }

  /** From the beginning, as scripts do it. */
  #overwrite(key: string, offset: string, value: string, now: number): number {
    if (offset !== "0") throw new Error("SETRANGE behind the beginning is not modelled");
    const entry = this.#keyspace.get(key, now);
    const changed = value + (this.#string(key, now) ?? "").slice(value.length);
    this.#keyspace.set(key, { value: changed, expiresAt: entry?.expiresAt, isRaw: true });
    return changed.length;
  }

  #encoding(action: string, key: string, now: number): string | null {
    if (action !== "ENCODING") throw new Error(`OBJECT ${action} is not modelled`);
    const entry = this.#keyspace.get(key, now);
    if (!entry) return null;
    if (typeof entry.value !== "string") throw new Error("the encoding of this type is not modelled");
    if (entry.isRaw || entry.value.length > 44) return "raw";
    return /^(0|-?[1-9]\d{0,17})$/.test(entry.value) ? "int" : "embstr";
  }

  #type(key: string, now: number): string {
    const { value } = this.#keyspace.get(key, now) ?? {};
    if (typeof value !== "object") return value === undefined ? "none" : "string";
    return "list" in value ? "list" : "zset";
  }

  #stringOrNull(key: string, now: number): string | null {
    const value = this.#keyspace.get(key, now)?.value;
    return typeof value === "string" ? value : null;
  }

  #set([key, value, ...options]: readonly string[], now: number): Reply {
    const { condition, expiresAt } = setOptions(options, now);
    const isThere = this.#keyspace.get(key!, now) !== undefined;
    if ((condition === "NX" && isThere) || (condition === "XX" && !isThere)) return null;
    this.#keyspace.set(key!, { value: value!, expiresAt });
    return "OK";
  }

  #pttl(key: string, now: number): number {
    const entry = this.#keyspace.get(key, now);
    if (!entry) return -2;
    return entry.expiresAt === undefined ? -1 : entry.expiresAt - now;
  }

  #expire([key = "", text = "", option]: readonly string[], now: number): number {
    if (option !== undefined) throw new Error(`PEXPIRE with ${option} is not modelled`);
    const ttl = integer(text);
    const entry = this.#keyspace.get(key, now);
    if (!entry) return 0;
    if (ttl <= 0) this.#keyspace.delete(key, now);
    else this.#keyspace.set(key, { value: entry.value, expiresAt: now + ttl });
    return 1;
  }

  #add(key: string, by: number, now: number): number {
    const sum = integer(this.#string(key, now) ?? "0") + by;
    this.#keyspace.set(key, { value: String(sum), expiresAt: this.#keyspace.get(key, now)?.expiresAt });
    return sum;
  }

  #push(key: string, values: readonly string[], now: number): number {
    const entry = this.#keyspace.get(key, now);
    const before = entry?.value ?? { list: [] };
    if (typeof before === "string" || !("list" in before)) throw wrongType();
    const list = [...before.list, ...values];
    this.#keyspace.set(key, { value: { list }, expiresAt: entry?.expiresAt });
    return list.length;
  }

  #sorted(key: string, now: number): SortedSet {
    const value = this.#keyspace.get(key, now)?.value ?? { sorted: [] };
    if (typeof value === "string" || !("sorted" in value)) throw wrongType();
    return value.sorted;
  }

  /** A set without members is none. */
  #keepSorted(key: string, sorted: SortedSet, now: number): void {
    if (sorted.length === 0) this.#keyspace.delete(key, now);
    else this.#keyspace.set(key, { value: { sorted }, expiresAt: this.#keyspace.get(key, now)?.expiresAt });
  }

  /** `args`: the key, then scores and names by turns. Redis has options there. */
  #addMembers([key, ...pairs]: readonly string[], now: number): number {
    if (pairs[0] === "XX" && !this.#keyspace.get(key!, now)) return 0;
    if (zaddOptions.has(pairs[0]!.toUpperCase())) throw new Error(`ZADD with ${pairs[0]} is not modelled`);
    if (pairs.length % 2 !== 0) throw new ReplyError("ERR syntax error");
    const scores = pairs.filter((_, index) => index % 2 === 0).map(scoreIn);
    const before = this.#sorted(key!, now);
    let after = before;
    for (const [index, score] of scores.entries()) {
      const name = pairs[2 * index + 1]!;
      const isThere = after.some((member) => member.name === name && member.score === score);
      if (!isThere) after = withMember(after, name, score);
    }
    if (after !== before) this.#keepSorted(key!, after, now);
    return after.length - before.length;
  }

  #removeMembers(key: string, names: readonly string[], now: number): number {
    const before = this.#sorted(key, now);
    const after = before.filter(({ name }) => !names.includes(name));
    if (after.length < before.length) this.#keepSorted(key, after, now);
    return before.length - after.length;
  }

  #score(key: string, name: string, now: number): string | null {
    const member = this.#sorted(key, now).find((other) => other.name === name);
    return member ? scoreText(member.score) : null;
  }

  /** A bound is the score itself, or behind a bracket all up to it. */
  #removeRange(key: string, first: string, last: string, now: number): number {
    const from = boundIn(first);
    const to = boundIn(last);
    const isIn = ({ score }: Member): boolean =>
      (from.isOpen ? score > from.score : score >= from.score) &&
      (to.isOpen ? score < to.score : score <= to.score);
    const names = this.#sorted(key, now).filter(isIn);
    return this.#removeMembers(
      key,
      names.map(({ name }) => name),
      now,
    );
  }

  #range([key, first, last, ...options]: readonly string[], now: number): Reply {
    const [withScores] = options;
    if (options.length > 1 || (withScores !== undefined && withScores.toUpperCase() !== "WITHSCORES"))
      throw new ReplyError("ERR syntax error");
    const from = integer(first!);
    const to = integer(last!);
    const members = slice(this.#sorted(key!, now), from, to);
    if (withScores === undefined) return members.map(({ name }) => name);
    return members.flatMap(({ name, score }) => [name, scoreText(score)]);
  }

  #pubsub(action: string, channels: readonly string[]): Reply {
    if (action.toUpperCase() !== "NUMSUB")
      throw new ReplyError(`ERR unknown subcommand '${action}'. Try PUBSUB HELP.`);
    return channels.flatMap((channel) => [channel, this.#listeners(channel)]);
  }

  #load(source: string): KnownScript {
    const known = knownScript(source);
    if (!known) throw new Error("a script that is none of those of this version of @quorlock/redlock");
    this.#scripts.add(known.script.sha1);
    return known;
  }

  #loaded(text: string): KnownScript {
    const sha1 = text.toLowerCase();
    if (!this.#scripts.has(sha1)) throw new ReplyError("NOSCRIPT No matching script. Please use EVAL.");
    return knownScript(sha1)!;
  }

  /** `args`: the script, how many keys, the keys, and the rest. The number is looked at before the script is. */
  #evaluate(args: readonly string[], now: number, script: () => KnownScript): Reply {
    const keys = integer(args[1]!);
    if (keys > args.length - 2)
      throw new ReplyError("ERR Number of keys can't be greater than number of args");
    if (keys < 0) throw new ReplyError("ERR Number of keys can't be negative");
    const { run } = script();
    this.#running = { now, hasWritten: false };
    return runScript(run, this.#redis, args.slice(2, 2 + keys), args.slice(2 + keys));
  }

  #script(action: string, args: readonly string[]): Reply {
    switch (action.toUpperCase()) {
      case "LOAD":
        return this.#load(args[0]!).script.sha1;
      case "EXISTS":
        return args.map((sha1) => (this.#scripts.has(sha1.toLowerCase()) ? 1 : 0));
      case "FLUSH":
        this.#scripts.clear();
        return "OK";
      default:
        throw new ReplyError(`ERR unknown subcommand '${action}'. Try SCRIPT HELP.`);
    }
  }

  /** Scripts and the run id stay. */
  #flushAll(): Reply {
    this.#keyspace.clear();
    return "OK";
  }
}

/** The replication ids of a master: its own, and that of the master whose data it had before. */
interface History {
  readonly replId: string;
  readonly formerId: string;
}

const noId = "0".repeat(40);

const zaddOptions: ReadonlySet<string> = new Set(["NX", "XX", "GT", "LT", "CH", "INCR"]);

/** Redis quotes the first 128 characters of the arguments. */
function unknownCommand(command: string, args: readonly string[]): ReplyError {
  let quoted = "";
  for (const arg of args) {
    if (quoted.length < 128) quoted += `'${arg.slice(0, 128 - quoted.length)}' `;
  }
  return new ReplyError(`ERR unknown command '${command}', with args beginning with: ${quoted}`);
}

interface SetOptions {
  readonly condition: "NX" | "XX" | undefined;
  readonly expiresAt: number | undefined;
}

function setOptions(options: readonly string[], now: number): SetOptions {
  let condition: SetOptions["condition"];
  let expiresAt: number | undefined;
  for (let index = 0; index < options.length; index += 1) {
    const option = options[index]!.toUpperCase();
    if ((option === "NX" || option === "XX") && condition === undefined) condition = option;
    else if (/^(PX|EX|PXAT)$/.test(option) && expiresAt === undefined && index + 1 < options.length) {
      index += 1;
      expiresAt = lifetime(options[index]!, option === "EX" ? 1000 : 1) + (option === "PXAT" ? 0 : now);
    } else throw new ReplyError("ERR syntax error");
  }
  return { condition, expiresAt };
}

function lifetime(text: string, unit: number): number {
  const value = integer(text);
  if (value <= 0) throw new ReplyError("ERR invalid expire time in 'set' command");
  return value * unit;
}

/** As Redis reads one: no sign but a minus, no leading zero, no fraction. */
function integer(text: string): number {
  const value = Number(text);
  if (!/^(0|-?[1-9]\d*)$/.test(text) || !Number.isSafeInteger(value)) throw notAnInteger();
  return value;
}
