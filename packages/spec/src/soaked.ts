import { readFileSync } from "node:fs";
import { converted, type Trace } from "./trace.ts";
import { type Operation, operationsOf } from "./wire.ts";

type Event = Parameters<typeof converted>[0]["events"][number];

/** One process as far as a record shows it: whose connection a command came on is not in it. */
const client = "client";
const driftFactor = 0.01;
const writing = /^(SET|DEL|PEXPIRE|Z?REM|ZADD|HSET|PUBLISH)$/i;
/** The precision of a time in Redis, ms. */
const grain = 2;

/** As packages/soak/src/record writes it: times are ms of the machine's wall clock. */
interface SoakRecord {
  readonly key: string;
  readonly masters: number;
  readonly entries: readonly Entry[];
  readonly holds: readonly RecordedHold[];
}

interface Entry {
  readonly master: number;
  readonly at: number;
  readonly source: string;
  readonly args: readonly string[];
}

interface RecordedHold {
  readonly token: string;
  readonly grantedAt: number;
  readonly validUntil: number;
  readonly releasedAt?: number;
}

/** Reads a record of the soak. */
export function traceOfSoak(file: string): Trace {
  const record = JSON.parse(readFileSync(file, "utf8")) as SoakRecord;
  const run = new Replay(record);
  const masters = Array.from({ length: record.masters }, () => ({
    persistence: { mode: "aof-always" } as const,
  }));
  const settings = { driftFactor };
  const view = { resource: record.key, events: run.events(), operationsOf };
  return converted(view, { masters, clients: [], faults: [], settings }, `soak, ${record.key}`);
}

interface Key {
  readonly token: string;
  readonly until: number;
}

interface Round {
  readonly sentAt: number;
  readonly masters: Set<number>;
}

/** Of the commands and writes that masters show, a run with what was sent, what was written and who held. */
class Replay {
  readonly #record: SoakRecord;
  readonly #events: Event[] = [];
  readonly #keys = new Map<number, Key>();
  readonly #rounds = new Map<string, Round>();
  readonly #deletedAt = new Map<string, number>();
  readonly #began: number;
  #count = 0;

  constructor(record: SoakRecord) {
    this.#record = record;
    const times = [...record.entries.map(({ at }) => at), ...record.holds.map((hold) => hold.grantedAt)];
    this.#began = Math.floor(times.reduce((least, at) => Math.min(least, at), Number.POSITIVE_INFINITY));
  }

  events(): readonly Event[] {
    const entries = this.#record.entries.toSorted((one, other) => one.at - other.at);
    for (const entry of entries)
      for (const { does, token } of this.#operations(entry))
        if (does === "delete" && !this.#deletedAt.has(token)) this.#deletedAt.set(token, entry.at);
    const names = [client, ...Array.from({ length: this.#record.masters }, (_, index) => `master-${index}`)];
    for (const name of names) this.#say(this.#began, name, "clocks", 0, 0, 0, false);
    for (const [entry, inner] of this.#commands()) this.#command(entry, inner);
    for (const [index, hold] of this.#record.holds.entries()) this.#hold(index, hold);
    return this.#events.toSorted((one, other) => one.at - other.at);
  }

  /** True time and all clocks are the machine's wall clock, since the record began. */
  #say(at: number, actor: string, verb: string, ...args: Event["args"]): void {
    this.#events.push({ at: Math.round((at - this.#began) * 1000), actor, verb, args });
  }

  #operations({ args: [command = "", ...args], source }: Entry): readonly Operation[] {
    if (source === "lua") return [];
    return operationsOf(command.toUpperCase(), args).filter(({ key }) => key === this.#record.key);
  }

  /** Each with the commands that its script made, by the time of the machine. */
  #commands(): ReadonlyArray<readonly [Entry, readonly Entry[]]> {
    const commands: [Entry, Entry[]][] = [];
    const latest = new Map<number, Entry[]>();
    for (const entry of this.#record.entries) {
      if (entry.source === "lua") latest.get(entry.master)?.push(entry);
      else {
        const inner: Entry[] = [];
        latest.set(entry.master, inner);
        commands.push([entry, inner]);
      }
    }
    return commands.toSorted(([one], [other]) => one.at - other.at);
  }

  #command(entry: Entry, inner: readonly Entry[]): void {
    const { master, at, args } = entry;
    const name = `master-${master}`;
    const operations = this.#operations(entry);
    const isDelete = operations.some(({ does }) => does === "delete");
    const writes = (inner.length > 0 ? inner : [entry]).filter((one) => this.#write(one, at, isDelete));
    if (operations.length === 0) {
      if (writes.length > 0) this.#say(at, name, "runs", client, "0", args[0] ?? "", "");
      return;
    }
    this.#count += 1;
    const number = String(this.#count);
    this.#say(
      this.#sentAt(entry, operations),
      client,
      "sends",
      name,
      number,
      args[0]!.toUpperCase(),
      ...args.slice(1),
    );
    // A master that refuses to write shows no write where one was due (1.7).
    const key = this.#keys.get(master);
    const isDue = operations.some(
      ({ does, token, ttl, joins }) =>
        does !== "delete" && (joins || (key?.token === token && key.until < at + ttl - grain)),
    );
    const isRefused = isDue && !inner.some(({ args: [verb = ""] }) => writing.test(verb)) && inner.length > 0;
    this.#say(at, name, "runs", client, number, args[0]!, isRefused ? "OOM" : "");
  }

  /** Whether it changes the key. */
  #write({ master, args: [command = "", key, ...args] }: Entry, at: number, isDelete: boolean): boolean {
    if (key !== this.#record.key) return false;
    const name = `master-${master}`;
    const former = this.#keys.get(master);
    // Redis counts in whole milliseconds.
    const now = Math.floor(at);
    const living = former && former.until >= now ? former : undefined;
    const verb = command.toUpperCase();
    if (verb === "DEL" || verb === "UNLINK") {
      if (!living) return false;
      this.#keys.delete(master);
      this.#say(at, name, "drops", key, client);
      return true;
    }
    if (verb === "PEXPIRE" && !living) return false;
    if (verb !== "SET" && verb !== "PEXPIRE") return false;
    if (verb === "SET" && living && args.some((word) => /^nx$/i.test(word))) return false;
    const place = args.findIndex((word) => /^px$/i.test(word));
    const ttl = Number(verb === "SET" ? args[place + 1] : args[0]);
    const token = verb === "SET" ? args[0]! : living!.token;
    // A release that grants the key sets it over its own.
    if (isDelete && living && living.token !== token) this.#say(at, name, "drops", key, client);
    this.#keys.set(master, { token, until: now + ttl });
    this.#say(at, name, "keeps", key, token, now + ttl - this.#began, client);
    return true;
  }

  /** When a command was sent is not seen: not after it was executed anywhere, nor after what ended its lease. */
  #sentAt({ master, at }: Entry, operations: readonly Operation[]): number {
    const id = JSON.stringify(operations);
    const round = this.#rounds.get(id);
    if (round && !round.masters.has(master) && round.sentAt <= at) {
      round.masters.add(master);
      return round.sentAt;
    }
    const ends = operations.map(({ does, token }) =>
      does === "delete" ? Number.POSITIVE_INFINITY : (this.#deletedAt.get(token) ?? Number.POSITIVE_INFINITY),
    );
    const sentAt = Math.min(at, ...ends.map((end) => end - 0.01));
    this.#rounds.set(id, { sentAt, masters: new Set([master]) });
    return sentAt;
  }

  #hold(index: number, { token, grantedAt, validUntil, releasedAt }: RecordedHold): void {
    const number = String(index);
    this.#say(grantedAt, client, "begins", number, token, this.#record.key);
    if (releasedAt === undefined) return;
    this.#say(releasedAt, client, "believes", number, Math.round((validUntil - this.#began) * 1000));
    this.#say(releasedAt, client, "gives up", number);
  }
}
