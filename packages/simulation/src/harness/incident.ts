import type { Violation } from "../checkers/findings.ts";
import type { TraceValue } from "../engine/trace.ts";
import { named } from "../pictures/run-strip.ts";
import type { Fault, FaultName } from "../plan/fault.ts";
import { describeFault } from "../plan/fault-kinds.ts";
import { quoted } from "./circle.ts";

/** One lock of one client. True time, us. */
export interface Held {
  readonly client: number;
  readonly resources: readonly string[];
  readonly from: number;
  /** When its lease runs out, unless it is extended. */
  until: number;
  /** When its client knew that it was over, and how it ended. */
  over: { readonly at: number; readonly how: string } | undefined;
}

/** One call of a client to the resource, when it was sent and when it ran. */
export interface Run {
  readonly client: number;
  readonly at: number;
  readonly sentAt: number;
  readonly name: string;
  /** When the round began that it belongs to. */
  readonly round: number;
  /** The lock that its client had then, or had before; none if it never had one in this round. */
  readonly lock: Held | undefined;
}

/** Something that happened, as a sentence. `client`: whose it is; a fault has those that it befell. */
interface Sentence {
  readonly at: number;
  readonly clients: readonly number[];
  readonly about: "ask" | "hold" | "run" | "extension" | "fault";
  readonly text: string;
}

/** At most this many lines: the first ones, and those before the end. */
const longest = { first: 14, last: 10 };

/** They change what a clock shows, and not what anybody does. */
const ofClocks: readonly FaultName[] = ["rate", "step"];

/** The events that led to a violation, from the trace of its run: who asked for a lock, got it, lost it, and called the resource. */
export class Incident {
  readonly held: Held[] = [];
  readonly runs: Run[] = [];
  readonly asking: Array<{ readonly client: number; readonly from: number; until: number | undefined }> = [];
  readonly pauses: Array<{ readonly client: number; readonly from: number; readonly until: number }> = [];
  readonly #sentences: Sentence[] = [];
  /** When each client has begun its round. */
  readonly #rounds: Array<{ readonly client: number; readonly from: number }> = [];
  readonly #refused = new Map<number, number>();

  see(at: number, [actor, verb, ...args]: readonly TraceValue[]): void {
    const words = args.map(String);
    if (actor === "fault") this.#seeFault(at, String(verb), words);
    else if (actor === "resource" && verb === "has done") this.#seeRun(at, words);
    else if (String(actor).startsWith("client-")) this.#seeClient(at, clientIn(actor!), String(verb), words);
  }

  /** Whether the client has got no lock in this round. */
  isRefused(client: number): boolean {
    const refused = this.#refused.get(client);
    return (
      refused !== undefined &&
      this.#roundOf(client, refused) === this.#roundOf(client, Number.POSITIVE_INFINITY)
    );
  }

  /** Whose it is: the clients that it names, or else the one that has called the resource last, or without its lock. */
  culprits({ kind, detail }: Violation): readonly number[] {
    const names = Array.from(detail.matchAll(/\bclient (\d+)/g), ([, number]) => Number(number));
    if (kind !== "invariant") return [...new Set(names)];
    const last = this.runs.at(-1);
    const since = last?.lock?.from ?? last?.sentAt ?? 0;
    const bare = this.runs.findLast((run) => run.at >= since && whyBare(run) !== "");
    return last ? [(bare ?? last).client] : [];
  }

  /** From when on it matters: its culprits have the locks that they act by, or begin to act without one. */
  beginning({ kind, at }: Violation, culprits: readonly number[]): number {
    const end = Math.round(at * 1000);
    const of = culprits.flatMap((client) => {
      const round = this.#roundOf(client, end);
      if (kind === "starvation") return [round];
      if (kind === "deadlock")
        return this.held.flatMap(({ client: holder, from, over }) =>
          holder === client && from >= round && (over?.at ?? end) >= end ? [from] : [],
        );
      const last = this.runs.findLast((run) => run.client === client && whyBare(run) !== "");
      const first = this.runs.find((run) => run.client === client && run.sentAt >= (last?.round ?? round));
      const lock = last ? last.lock : this.met(client)?.lock;
      return [first?.sentAt ?? round, lock?.from ?? end];
    });
    return Math.min(...of);
  }

  /** The last call of another client, of those under a lock. */
  met(client: number): Run | undefined {
    return this.runs.findLast((run) => run.client !== client && run.lock);
  }

  lines(violation: Violation): readonly string[] {
    const culprits = this.culprits(violation);
    const from = this.beginning(violation, culprits);
    const end = Math.round(violation.at * 1000);
    const told = this.#sentences
      .filter(
        (sentence) =>
          sentence.at >= from && sentence.at <= end && this.#matters(sentence, violation, culprits, from),
      )
      .sort((one, other) => one.at - other.at)
      .map(({ at, text }) => line(at, text));
    const skipped = told.length - longest.first - longest.last;
    const gap = `${"".padStart(12)}     ... ${skipped} more`;
    const shown = skipped > 1 ? told.toSpliced(longest.first, skipped, gap) : told;
    return [...shown, line(end, `${violation.kind}: ${violation.detail}`)];
  }

  /** Of its culprits all of it; of others whom they have met what they did. */
  #matters(
    { clients, about }: Sentence,
    { kind }: Violation,
    culprits: readonly number[],
    from: number,
  ): boolean {
    const isOfWork = kind !== "deadlock" && kind !== "starvation";
    if (clients.some((client) => culprits.includes(client)))
      return isOfWork || about === "ask" || about === "hold";
    if (kind === "starvation") return about === "hold";
    const hasRun = (client: number): boolean =>
      this.runs.some((run) => run.client === client && run.at >= from);
    return isOfWork && (about === "hold" || about === "run") && clients.some(hasRun);
  }

  #seeClient(at: number, client: number, verb: string, words: readonly string[]): void {
    const [first, ...rest] = words;
    const name = `client ${client}`;
    const say = (text: string, about: Sentence["about"] = "hold"): void =>
      void this.#sentences.push({ at, clients: [client], about, text: `${name} ${text}` });
    const lock = this.held.findLast(
      (held) => held.client === client && held.resources.includes(words.at(-1)!),
    );
    const ask = this.asking.find((open) => open.client === client && open.until === undefined);
    if (verb === "begins round") this.#rounds.push({ client, from: at });
    else if (verb === "frozen") this.pauses.push({ client, from: at, until: Number(first) });
    else if (verb === "asks for") {
      this.asking.push({ client, from: at, until: undefined });
      say(`asks for ${quoted(words)}`, "ask");
    } else if (verb === "waits for") {
      const holder = this.held.find(
        ({ resources, until, over }) => resources.includes(first!) && !over && at < until,
      );
      const who = holder?.client === client ? "it" : `client ${holder?.client}`;
      say(`waits for ${quoted([first!])}${holder ? `, which ${who} holds` : ""}`, "ask");
    } else if (verb === "gets nothing") {
      if (ask) ask.until = at;
      this.#refused.set(client, at);
      say(`gets no lock on ${quoted(rest)} (${first!.replace("_", " ")})`, "ask");
    } else if (verb === "has") {
      if (ask) ask.until = at;
      this.held.push({
        client,
        resources: rest,
        from: at,
        until: at + 1000 * Number(first),
        over: undefined,
      });
      say(`holds ${quoted(rest)} for ${first} ms`);
    } else if (verb === "extends") {
      if (first !== "extended") say(`could not extend its lock on ${quoted(rest.slice(1))}`, "extension");
      else if (lock) lock.until = at + 1000 * Number(rest[0]);
    } else if (verb === "has no more") {
      if (lock) lock.over = { at, how: first! };
      say(
        first === "released"
          ? `releases ${quoted(rest)}`
          : `is told that its lock on ${quoted(rest)} is over (${first})`,
      );
    } else if (verb === "ends") say("is killed");
  }

  /** When the round of a client began that it was in then. */
  #roundOf(client: number, at: number): number {
    return this.#rounds.findLast((round) => round.client === client && round.from <= at)?.from ?? 0;
  }

  #seeRun(at: number, [name, args, , caller, sent, number, result]: readonly string[]): void {
    const client = clientIn(caller!);
    const sentAt = Number(sent);
    const round = this.#rounds.filter((begun) => begun.client === client)[Number(number)]!.from;
    const own = this.held.filter(
      ({ client: holder, from }) =>
        holder === client && from <= sentAt && this.#roundOf(client, from) === round,
    );
    const lock =
      own.findLast(({ over }) => !over || over.at > sentAt) ??
      own.toSorted((one, other) => one.over!.at - other.over!.at).at(-1);
    const run = { client, at, sentAt, name: name!, round, lock };
    this.runs.push(run);
    const other = this.held.find(
      ({ client: holder, resources, over, until }) =>
        holder !== client && !over && at < until && (!lock || shares(lock.resources, resources)),
    );
    const how = whyBare(run);
    const now = how !== "" && other ? `; client ${other.client} holds ${quoted(other.resources)} now` : "";
    const returned = result === "undefined" ? "" : `, and gets ${result}`;
    this.#sentences.push({
      at,
      clients: [client],
      about: "run",
      text: `client ${client} runs ${name}(${args}) at the resource${returned}${how && `  <-- ${how}${now}`}`,
    });
  }

  #seeFault(at: number, text: string, struck: readonly string[]): void {
    const clients = struck.filter((name) => name.startsWith("client-")).map(clientIn);
    const fault = JSON.parse(text) as Fault;
    if (ofClocks.includes(fault.kind)) return;
    const { words } = describeFault(fault, struck, at);
    const about = fault.kind === "freeze" ? "hold" : "fault";
    this.#sentences.push({ at, clients, about, text: `fault: ${named(words)}` });
  }
}

export function shares(some: readonly string[], others: readonly string[]): boolean {
  return some.some((resource) => others.includes(resource));
}

/** Whether its client gave it up while its lease still ran. */
export function wasReleased({ over, until }: Held): boolean {
  return over?.how === "released" && over.at <= until;
}

/** Why a call was not under its client's lock; nothing if it was. */
export function whyBare({ lock, sentAt, at }: Run): string {
  if (!lock) return "it holds no lock";
  const { over, until, resources } = lock;
  const since = Math.min(until, over?.at ?? until);
  const isReleased = wasReleased(lock);
  if (sentAt <= since)
    return isReleased && since < at ? `it has released ${quoted(resources)} before that arrives` : "";
  if (isReleased) return `it has released ${quoted(resources)} before`;
  return `sent ${ms(sentAt - since)} ms after its lock on ${quoted(resources)} was over`;
}

function clientIn(name: TraceValue): number {
  return Number(String(name).slice("client-".length));
}

function line(at: number, text: string): string {
  return `${ms(at).padStart(12)} ms  ${text}`;
}

function ms(us: number): string {
  return (us / 1000).toLocaleString("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
}
