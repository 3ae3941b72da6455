import { setMaxListeners } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { commandIn, rights } from "@quorlock/redlock/internal";
import type { Redis } from "ioredis";
import { recordsOn, type SeenOwner } from "../look/owners.ts";
import { codeOf, connect, isSentinel, type Master, unlessAborted } from "../masters.ts";
import { undeclaredScript } from "../scripts.generated.ts";

// All questions to one master. checks.ts judges the answers.

/** A reading of a master's clock. */
export interface Reading {
  /** The middle of the round trip, by this process's monotonic clock, ms. */
  readonly at: number;
  readonly roundTrip: number;
  /** The master's clock minus this machine's, ms: known to half of the round trip. */
  readonly ahead: number;
  /** By the master's clock, ms. */
  readonly time: number;
}

export interface Observation {
  readonly name: string;
  /** Why no command was answered: the code of the error. */
  unreachable?: string;
  /** From the first packet of a new connection to its first answer, ms. */
  firstAnswer?: number;
  /** The machine that was connected to, and the master's own address as the master sees it. */
  hosts: string[];
  /** The fields of INFO. */
  info: Readonly<Record<string, string>>;
  /** One for each connection. */
  runIds: string[];
  readings: Reading[];
  /** The code of the error, for each question and each command that was refused. */
  readonly refused: Map<string, string>;
  /** Each question and each command that was answered. */
  readonly answered: Set<string>;
  /** Whether a published message reached a subscriber. */
  isHeard?: boolean;
  /** `appendfsync` */
  fsync?: string;
  /** The clients that have written about themselves here. */
  owners?: readonly SeenOwner[];
}

/** The commands of locks that are tried on keys, and those that `restartGuard` adds. */
function commandsTried(guard: boolean): readonly string[] {
  return [...rights.locks, ...rights.queues, ...rights.helpful, ...(guard ? rights.guard : [])];
}

/** By their names, with those that need no key. */
export function commandsNeeded(guard: boolean): readonly string[] {
  return [...commandsTried(guard), ...rights.keyless, ...rights.scripts].map(commandIn);
}

/** The digest of the first script that is asked for. */
const shaOfReturn1 = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db";

/** Keys of the probes outlive a doctor that is killed by this, ms. */
const keptFor = 5000;

/** A message that comes later is lost, ms: waiters ask again by then. The other questions need time as well. */
const messageTime = 1000;

export interface ObserveOptions {
  /** The time that one master has for everything, ms. */
  readonly timeout: number;
  /** Whether the clients use `restartGuard`. */
  readonly guard: boolean;
  /** A random word: part of the keys and of the channel of the probes. */
  readonly nonce: string;
  readonly signal: AbortSignal;
}

/** Settles within `timeout`, with the answers so far; rejects only if `signal` has aborted. */
export async function observe(master: Master, options: ObserveOptions): Promise<Observation> {
  const ending = new AbortController();
  // Each question and each connection listens.
  setMaxListeners(0, ending.signal, options.signal);
  const end = (): void => ending.abort(Object.assign(new Error("aborted"), { code: "ETIMEDOUT" }));
  const timer = setTimeout(end, options.timeout);
  options.signal.addEventListener("abort", end, { once: true });
  const observer = new Observer(master, options, ending.signal);
  try {
    await observer.run();
  } finally {
    clearTimeout(timer);
    options.signal.removeEventListener("abort", end);
    // Closes its connections.
    end();
  }
  options.signal.throwIfAborted();
  return observer.seen;
}

class Observer {
  readonly seen: Observation;
  readonly #master: Master;
  readonly #options: ObserveOptions;
  readonly #signal: AbortSignal;
  /** In one hash slot, and within the keys that the documented ACL rule allows. */
  readonly #key: string;
  readonly #queue: string;
  readonly #channel: string;

  constructor(master: Master, options: ObserveOptions, signal: AbortSignal) {
    this.#master = master;
    this.#options = options;
    this.#signal = signal;
    this.#key = `quorlock:doctor:{${options.nonce}}`;
    this.#queue = `${this.#key}:queue`;
    this.#channel = `quorlock:doctor:${options.nonce}`;
    this.seen = {
      name: master.name,
      hosts: [],
      info: {},
      runIds: [],
      readings: [],
      refused: new Map(),
      answered: new Set(),
    };
  }

  async run(): Promise<void> {
    const redis = await this.#firstConnection();
    if (!redis) return;
    await this.#ask("client|info", async () => {
      const reply = String(await redis.call("CLIENT", "INFO"));
      const [, local] = /\bladdr=(\S+):\d+\b/.exec(reply) ?? [];
      if (local === undefined) throw new Error("no address");
      this.seen.hosts.push(hostOf(local));
    });
    const fsync = await this.#ask("config|get", () => redis.config("GET", "appendfsync"));
    if (Array.isArray(fsync)) this.seen.fsync = String(fsync[1]);
    const owners = await this.#ask("owners", () => recordsOn(redis, this.#signal));
    if (owners) this.seen.owners = owners;
    for (let reading = 0; reading < 5; reading += 1) await this.#readClock(redis);
    await Promise.all([this.#probe(redis), this.#hear(redis), this.#another(), this.#another()]);
    // Far from the first ones, so that the rate of the clock shows.
    await this.#readClock(redis);
  }

  /** Asks; a refusal is kept by its code. */
  async #ask<T>(question: string, act: () => Promise<T>): Promise<T | undefined> {
    try {
      const reply = await unlessAborted(this.#signal, act());
      this.seen.answered.add(question);
      return reply;
    } catch (error) {
      const code = codeOf(error);
      this.seen.refused.set(question, code);
      if (code === "NOPERM" && /\bkeys?\b/.test(String(error)))
        this.seen.refused.set(rights.keysOfQueues, code);
      return undefined;
    }
  }

  async #firstConnection(): Promise<Redis | undefined> {
    const begun = performance.now();
    try {
      const redis = await connect(this.#master, this.#signal);
      const { remoteAddress } = redis.stream as { readonly remoteAddress?: string };
      this.seen.hosts.push(hostOf(remoteAddress ?? loopback));
      const info = await this.#ask("info", () => redis.info());
      const code = this.seen.refused.get("info");
      // A forbidden or unknown command is an answer; all else keeps the client from its work too.
      if (info === undefined && code !== "NOPERM" && code !== "ERR")
        throw Object.assign(new Error(), { code });
      this.seen.firstAnswer = performance.now() - begun;
      if (info && isSentinel(info)) throw Object.assign(new Error(), { code: "SENTINEL" });
      this.seen.info = fieldsOf(info ?? "");
      const { run_id: runId } = this.seen.info;
      if (runId !== undefined) this.seen.runIds.push(runId);
      return redis;
    } catch (error) {
      this.seen.unreachable = codeOf(error);
      return undefined;
    }
  }

  async #readClock(redis: Redis): Promise<void> {
    await this.#ask("time", async () => {
      const usesInfo = this.seen.refused.has("time");
      const begun = performance.now();
      const wall = Date.now();
      const reply = usesInfo ? await redis.info("server") : await redis.time();
      const roundTrip = performance.now() - begun;
      const time = usesInfo
        ? Number(fieldsOf(String(reply))["server_time_usec"]) / 1000
        : Number(reply[0]) * 1000 + Number(reply[1]) / 1000;
      if (Number.isNaN(time)) throw new Error("a time is missing");
      this.seen.readings.push({
        at: begun + roundTrip / 2,
        roundTrip,
        ahead: time - wall - roundTrip / 2,
        time,
      });
    });
  }

  /** Keys that nothing else has, removed afterwards. */
  async #probe(redis: Redis): Promise<void> {
    await this.#ask("set nx", () => redis.set(this.#key, "1", "PX", keptFor, "NX"));
    const tried = commandsTried(this.#options.guard).map((command) => {
      const [name = "", ...words] = command.split(",");
      const [first = "", ...second] = name.split("|");
      return this.#ask(commandIn(command), () => redis.call(first, ...second, this.#queue, ...words));
    });
    // Whether any script runs, apart from the keys of the one behind it.
    const first = await this.#ask("eval", () => redis.call("EVAL", "return 1", 0));
    await this.#ask("evalsha", () => redis.call("EVALSHA", shaOfReturn1, 0));
    // As a script reads keys that a release finds in a queue.
    if (first !== undefined)
      await this.#ask("undeclared", () => redis.call("EVAL", undeclaredScript.source, 0, this.#queue));
    await Promise.all(tried);
    await this.#ask("del", () => redis.del(this.#key));
  }

  /** One more connection: it leads to the same server, unless something in between chooses one. */
  async #another(): Promise<Redis | undefined> {
    return await this.#ask("connection", async () => {
      const redis = await connect(this.#master, this.#signal);
      if (this.seen.answered.has("info")) {
        const { run_id: runId } = fieldsOf(await redis.info("server"));
        if (runId !== undefined) this.seen.runIds.push(runId);
      }
      return redis;
    });
  }

  async #hear(publisher: Redis): Promise<void> {
    const subscriber = await this.#another();
    if (!subscriber) return;
    const heard = new Promise<boolean>((resolve) => {
      subscriber.on("message", () => resolve(true));
    });
    const late = (): Promise<boolean> => pause(Math.min(messageTime, this.#options.timeout / 4), false);
    const subscribed = await this.#ask("subscribe", () => subscriber.subscribe(this.#channel));
    if (subscribed === undefined) return;
    const receivers = await this.#ask("message", () => publisher.publish(this.#channel, ""));
    if (receivers === undefined) return;
    // A server that counts no receiver has lost the subscription: nothing will come.
    this.seen.isHeard =
      receivers > 0 && ((await this.#ask("hear", () => Promise.race([heard, late()]))) ?? false);
  }
}

const loopback = "127.0.0.1";

/** One spelling of an address. */
function hostOf(address: string): string {
  const bare = address.replace(/^\[|\]$/g, "").replace(/^::ffff:/, "");
  return bare === "::1" ? loopback : bare;
}

function fieldsOf(info: string): Record<string, string> {
  const fields = info.split(/\r?\n/).filter((line) => /^[^#:]+:/.test(line));
  return Object.fromEntries(
    fields.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1)]),
  );
}
