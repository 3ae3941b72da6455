import type { Fault, Recording } from "@quorlock/simulation";
import { sharedLocksIn, type View } from "./shared.ts";
import { type Operation, operationsOf, waiterOf } from "./wire.ts";

/** One step of a run, as spec/Trace.tla reads it. Times are in units of 10 us. */
export interface Step {
  readonly what:
    | "sends"
    | "runs"
    | "shows"
    | "begins"
    | "believes"
    | "gives up"
    | "resumes"
    | "gives"
    | "passes";
  readonly of: number;
  readonly round: number;
  readonly does: string;
  readonly to: number;
  readonly ttl: number;
  readonly sent: number;
  readonly client: number;
  /** By the list of masters of the client whose clock that is. */
  readonly quorum: number;
  readonly master: number;
  readonly took: boolean;
  readonly joins: boolean;
  readonly winner: number;
  readonly rank: number;
  readonly until: number;
  /** Who stands before the winner in the queue of the master. */
  readonly ahead: readonly number[];
  /** For people. */
  readonly words: string;
}

/** The steps of a run with one resource. */
export interface Trace {
  readonly name: string;
  readonly masters: number;
  readonly attempts: number;
  /** In units of 0.01 %. */
  readonly drift: number;
  readonly steps: readonly Step[];
}

const unit = 100;
/** ms; what a clock shows first. (It may step back: no reading is negative.) */
const firstReading = 10_000_000;
/** The end of a key without an expiry. TLC has numbers up to 2 ** 31. */
const never = 2_000_000_000;
/** The fields that most steps leave empty. */
export const blank: Omit<Step, "what" | "of" | "words"> = {
  round: 0,
  does: "",
  to: 1,
  ttl: 0,
  sent: 0,
  client: 0,
  quorum: 0,
  master: 0,
  took: false,
  joins: false,
  winner: 0,
  rank: 0,
  until: 0,
  ahead: [],
};

/** Replies of a master that refuses to write, to one operation at least. */
const refusals = /\b(OOM|MISCONF|NOREPLICAS|READONLY|BUSY|LOADING|NOPERM|NOSCRIPT)\b/;

interface Token {
  readonly of: number;
  readonly round: number;
}

interface Sent {
  readonly operations: ReadonlyArray<Operation & { readonly sent: number }>;
}

interface Written {
  readonly token: string | undefined;
  readonly until: number;
  readonly ahead?: readonly number[];
}

/** Each resource of a run that masters kept a key for. */
export function tracesOf(recording: Recording, name: string): readonly Trace[] {
  const events = recording.events.toSorted((one, other) => one.at - other.at);
  const keys = events.flatMap(({ verb, args }) => (verb === "keeps" ? [String(args[0])] : []));
  const plain = [...new Set(keys)].filter((resource) => !resource.startsWith("quorlock:"));
  const views: View[] = plain.map((resource) => ({ resource, events, operationsOf }));
  return [...sharedLocksIn({ ...recording, events }), ...views].map((view) =>
    converted(view, recording.plan, `${name}, ${view.resource}`),
  );
}

/** The part of a run's plan that its trace needs. */
type Setting = Pick<Recording["plan"], "faults" | "clients"> & {
  readonly masters: ReadonlyArray<Pick<Recording["plan"]["masters"][number], "persistence">>;
  readonly settings: Pick<Recording["plan"]["settings"], "driftFactor">;
};

export function converted(view: View, setting: Setting, name: string): Trace {
  return new Converter(setting, view).trace(name);
}

/** A clock in true time: what it has counted, whether its machine was suspended or not, us. */
class Counted {
  #since = 0;
  #counted = 0;
  #rate = 0;
  /** Of the monotonic clock and of the wall clock at the beginning of the segment, ms. */
  #monotonic = 0;
  #wall = 0;
  #isSuspended = false;
  #firstWall: number | undefined;

  change(at: number, [monotonic, wall, rate, isSuspended]: readonly unknown[]): void {
    this.#counted = this.at(at);
    this.#since = at;
    this.#monotonic = Number(monotonic);
    this.#wall = Number(wall);
    this.#rate = Number(rate);
    this.#isSuspended = isSuspended === true;
    this.#firstWall ??= Number(wall);
  }

  at(time: number): number {
    return this.#counted + this.#passedAt(time);
  }

  monotonicAt(time: number): number {
    return this.#monotonic + (this.#isSuspended ? 0 : this.#passedAt(time) / 1000);
  }

  /** ms since its first reading. */
  wallSinceStart(time: number): number {
    return this.wallFromStart(this.#wall + this.#passedAt(time) / 1000);
  }

  /** Since the beginning of the segment. */
  #passedAt(time: number): number {
    return (time - this.#since) * (1 + this.#rate / 1_000_000);
  }

  wallFromStart(reading: number): number {
    return reading - (this.#firstWall ?? 0) + firstReading;
  }
}

class Converter {
  readonly #plan: Setting;
  readonly #view: View;
  readonly #clocks = new Map<string, Counted>();
  readonly #attempts = new Map<string, number>();
  readonly #owners = new Map<number, string>();
  readonly #sent = new Map<string, Sent>();
  readonly #writes = new Map<string, Written[]>();
  readonly #keys = new Map<string, Written>();
  /** Of each master who waits, in the order of its queue; and of each that has waited there, who stood before it at last. */
  readonly #queues = new Map<string, readonly string[]>();
  readonly #before = new Map<string, readonly string[]>();
  readonly #holds = new Map<string, Token>();
  readonly #held = new Set<number>();
  readonly #ids = new Set<string>();
  /** When each client began the turn that it is in. */
  readonly #heard = new Map<string, number>();
  readonly #steps: Step[] = [];

  constructor(plan: Setting, view: View) {
    this.#plan = plan;
    this.#view = view;
  }

  trace(name: string): Trace {
    // A process that is stopped between its look at the clocks and what it makes of it counts as one that has looked (1.5).
    const isStalled = this.#plan.faults.some(({ kind }) => kind === "stall");
    for (const { at, actor, verb, args } of this.#view.events) {
      if (actor === "fault" && this.#isLeftOut(verb)) break;
      if (verb === "clocks") this.#changeClock(at, actor, args);
      else if (verb === "sends") this.#send(at, actor, args.map(String));
      else if (verb === "keeps" || verb === "drops") this.#write(actor, verb, args.map(String));
      else if (verb === "notes" || verb === "forgets") this.#line(actor, args.map(String));
      else if (verb === "runs") this.#run(at, actor, args.map(String));
      else if (verb === "hears" || verb === "is pushed") this.#heard.set(actor, at);
      else if (verb === "begins")
        this.#begin(at, isStalled ? (this.#heard.get(actor) ?? at) : at, actor, args.map(String));
      else if (verb === "believes" && !isStalled) this.#believe(at, actor, args.map(Number));
      else if (verb === "gives up") this.#giveUp(actor, String(args[0]));
    }
    const { masters, settings } = this.#plan;
    const drift = Math.floor(settings.driftFactor * 10_000);
    return {
      name,
      masters: masters.length,
      attempts: this.#attempts.size,
      drift,
      steps: this.#steps,
    };
  }

  /** Queue has masters that remember (1.2), and one database: Guard has others. */
  #isLeftOut(fault: string): boolean {
    const { kind } = JSON.parse(fault) as Fault;
    const keepsAll = this.#plan.masters.every(({ persistence }) => persistence.mode === "aof-always");
    return (
      ["flush", "promote", "failover", "resync", "reload", "select"].includes(kind) ||
      (kind === "crash" && !keepsAll)
    );
  }

  #clockOf(name: string): Counted {
    const clock = this.#clocks.get(name) ?? new Counted();
    this.#clocks.set(name, clock);
    return clock;
  }

  /** A key that has expired by then is gone: a step back does not bring it back. */
  #changeClock(at: number, name: string, args: readonly unknown[]): void {
    const key = this.#keys.get(name);
    if (key?.token !== undefined && this.#aliveIn(name, this.#readingOf(name, at)) === undefined) {
      this.#keys.set(name, { token: undefined, until: 0 });
      this.#show(at, name);
    }
    this.#clockOf(name).change(at, args);
  }

  #of(client: string, at: number): Pick<Step, "client" | "quorum"> {
    const { masters, clients } = this.#plan;
    const { length } = clients[Number(client.slice("client-".length))]?.masters ?? masters;
    return { client: Math.floor(this.#clockOf(client).at(at) / 10), quorum: Math.floor(length / 2) + 1 };
  }

  #tokenOf(text: string): Token {
    const { waiter, round } = waiterOf(text);
    const of = this.#attempts.get(waiter) ?? this.#attempts.size + 1;
    this.#attempts.set(waiter, of);
    // That of the plain vote is 0 in a token; 0 is none in the specification.
    return { of, round: round + 1 };
  }

  #add(step: Partial<Step> & Pick<Step, "what" | "of" | "words">): void {
    this.#steps.push({ ...blank, ...step });
  }

  #send(at: number, client: string, [master = "", number = "", command = "", ...args]: string[]): void {
    // (A reading asks for the key by a token that has no vote.)
    const operations = this.#view
      .operationsOf(command, args)
      .filter(
        ({ key, does, token }) =>
          key === this.#view.resource && (does !== "extend" || this.#attempts.has(waiterOf(token).waiter)),
      );
    if (operations.length === 0) return;
    const posted = operations.map((operation) => {
      const does = this.#doesOf(operation);
      const sent = does === "outside" ? 0 : this.#sendOne(at, client, master, does, operation);
      return { ...operation, does, sent };
    });
    this.#sent.set(`${client} ${master} ${number}`, { operations: posted });
  }

  /** A claim that may create the key is the repair of a hold, or a vote. */
  #doesOf({ does, token }: Operation): Operation["does"] {
    if (does === "outside") return does;
    const isHeld = this.#held.has(this.#tokenOf(token).of);
    if (does === "claim" || does === "vote") return isHeld && does === "claim" ? "repair" : "vote";
    return does;
  }

  #sendOne(
    at: number,
    client: string,
    master: string,
    does: Operation["does"],
    { token, ttl }: Operation,
  ): number {
    const { of, round } = this.#tokenOf(token);
    const owner = this.#owners.get(of);
    if (owner === undefined) this.#owners.set(of, client);
    else if (owner !== client) {
      this.#owners.set(of, client);
      this.#add({ what: "resumes", of, words: `${client} goes on with the lease of ${owner}` });
    }
    // Nobody begins anything with the slots that a semaphore keeps while it waits for others.
    if (does === "repair" && !this.#held.has(of)) {
      this.#held.add(of);
      const words = `${client} holds ${of}.${round} for itself, at ${at} us`;
      this.#add({ what: "begins", of, round, ...this.#of(client, at), words });
      this.#add({ what: "gives up", of, words });
    }
    const to = this.#numberOf(master);
    // Two equal commands of one moment are told apart.
    let { client: sent, quorum } = this.#of(client, at);
    const id = (): string => `${of} ${round} ${does} ${to} ${ttl} ${sent}`;
    while (this.#ids.has(id())) sent += 1;
    this.#ids.add(id());
    this.#add({
      what: "sends",
      of,
      round,
      does,
      to,
      ttl: ttl * unit,
      client: sent,
      quorum,
      sent,
      words: `${client} sends ${does} ${of}.${round} to ${master}, ttl ${ttl} ms, at ${at} us`,
    });
    return sent;
  }

  #numberOf(master: string): number {
    return Number(master.slice("master-".length)) + 1;
  }

  #write(master: string, verb: string, args: string[]): void {
    const [key, value = "", expiry = "", sender = ""] = verb === "keeps" ? args : [args[0], "", "", args[1]];
    if (key !== this.#view.resource || sender === "") return;
    const end = Math.round(this.#clockOf(master).wallFromStart(Number(expiry)) * unit);
    const until = Number(expiry) < 0 ? never : end;
    const written =
      verb === "keeps"
        ? { token: value, until, ahead: this.#ahead(master, value) }
        : { token: undefined, until: 0 };
    this.#writes.set(master, [...(this.#writes.get(master) ?? []), written]);
  }

  /** What a master has noted, of the queue of this resource: "waiter ticket,waiter ticket". */
  #line(master: string, [key, text = ""]: string[]): void {
    if (key !== `quorlock:queue:{${this.#view.resource}}`) return;
    const line = text.split(",").map((member) => member.split(" ")[0]!);
    this.#queues.set(master, line);
    for (const [place, waiter] of line.entries())
      this.#before.set(`${master} ${waiter}`, line.slice(0, place));
  }

  #ahead(master: string, token: string): readonly number[] {
    const before = this.#before.get(`${master} ${waiterOf(token).waiter}`) ?? [];
    return before
      .filter((waiter) => this.#queues.get(master)!.includes(waiter))
      .flatMap((waiter) => this.#attempts.get(waiter) ?? []);
  }

  #run(at: number, master: string, [client = "", number = "", command = "", reply = ""]: string[]): void {
    const writes = this.#writes.get(master) ?? [];
    this.#writes.delete(master);
    const sent = this.#sent.get(`${client} ${master} ${number}`);
    if (!sent) {
      if (writes.length > 0) this.#unexplained(master, writes, `${client}'s ${command}`);
      return;
    }
    for (const [index, operation] of sent.operations.entries())
      this.#runOne(
        at,
        master,
        operation,
        writes,
        sent.operations.slice(index + 1),
        isRefusal(command, reply),
      );
    if (writes.length > 0) this.#unexplained(master, writes, `${client}'s ${command}`);
    this.#show(at, master);
  }

  #unexplained(master: string, writes: readonly Written[], by: string): void {
    const words = `${by} makes ${master} write ${JSON.stringify(writes)}`;
    this.#add({ what: "shows", of: -1, until: never, words });
  }

  #runOne(
    at: number,
    master: string,
    operation: Sent["operations"][number],
    writes: Written[],
    later: readonly Operation[],
    isRefused: boolean,
  ): void {
    const { does, token, ttl, joins = false, stays = false, sent } = operation;
    const clock = this.#readingOf(master, at);
    const before = this.#aliveIn(master, clock);
    const { winner, ahead, isWritten } = this.#consume(master, operation, before, writes, later);
    const after = this.#keys.get(master);
    if (does === "outside") {
      if (winner !== undefined) this.#give(at, master, clock, winner, ahead);
      return;
    }
    const { of, round } = this.#tokenOf(token);
    const isIts = does !== "delete" || (before !== undefined && this.#isMine(before, token));
    const took =
      isIts && (isWritten || (does !== "delete" && !isRefused && this.#aliveIn(master, clock) === token));
    const won = took ? (does === "delete" ? winner : (winner ?? after?.token)) : undefined;
    const to = won === undefined ? undefined : this.#tokenOf(won);
    const owner = this.#owners.get(to?.of ?? of) ?? "";
    this.#add({
      what: "runs",
      of,
      round,
      does,
      to: this.#numberOf(master),
      ttl: ttl * unit,
      sent,
      ...this.#of(owner, at),
      master: clock,
      took,
      // The entry stays where a delete was refused, as of a script that is not there, and behind a downgrade.
      joins: does === "delete" ? !isRefused && !stays : joins && (took || !isRefused),
      winner: to?.of ?? 0,
      rank: to?.round ?? 0,
      ahead,
      until: after?.until ?? 0,
      words: `${master} runs ${does} ${of}.${round}: ${took ? `yes${to ? `, the key is ${to.of}.${to.round}'s` : ""}` : "no"}, at ${at} us`,
    });
    // A writer that leaves the queue lets readers in.
    if (does === "delete" && winner !== undefined && before === undefined)
      this.#give(at, master, clock, winner, ahead);
  }

  /** By the command of a client that the trace leaves out, or of one that leaves the queue. */
  #give(at: number, master: string, clock: number, winner: string, ahead: readonly number[]): void {
    const { of, round } = this.#tokenOf(winner);
    this.#add({
      what: "gives",
      of: 0,
      to: this.#numberOf(master),
      master: clock,
      ...this.#of(this.#owners.get(of) ?? "", at),
      winner: of,
      rank: round,
      ahead,
      until: this.#keys.get(master)?.until ?? 0,
      words: `${master} gives the key to ${of}.${round}, at ${at} us`,
    });
  }

  /** Takes from `writes` those of the operation: of its token; and behind a key that it gave up, those of the next owner. */
  #consume(
    master: string,
    { does, token: own, joins = false }: Operation,
    before: string | undefined,
    writes: Written[],
    later: readonly Operation[],
  ): {
    readonly winner: string | undefined;
    readonly ahead: readonly number[];
    readonly isWritten: boolean;
  } {
    const isOf = (token: string): boolean => does !== "outside" && this.#isMine(token, own);
    const isDelete = does === "delete";
    const isGivenUp = before !== undefined && isOf(before);
    let winner: string | undefined;
    let ahead: readonly number[] = [];
    let isWritten = false;
    for (let [first] = writes; first; [first] = writes) {
      const { token } = first;
      // (A repair in the same batch sets a key that is gone.)
      const isOwn = token !== undefined && isOf(token) && !isDelete && (does !== "extend" || isGivenUp);
      const isNext = token !== undefined && !isOf(token) && !this.#isLaterOf(later, token);
      // (A release sets the token of the next owner over its own.)
      const isFree = before === undefined || isGivenUp;
      const isGift = (isDelete ? isFree : joins) && isNext;
      if (token === undefined && before === undefined && !isWritten) {
        // It had expired.
        this.#keys.set(master, writes.shift()!);
        continue;
      }
      const isDrop =
        token === undefined && isGivenUp && (isDelete ? !isWritten || winner !== undefined : joins);
      if (!isOwn && !isGift && !isDrop) break;
      this.#keys.set(master, writes.shift()!);
      isWritten = true;
      winner = token;
      ahead = first.ahead ?? [];
    }
    return { winner, ahead, isWritten };
  }

  #isMine(owner: string, token: string): boolean {
    const [own, asked] = [this.#tokenOf(owner), this.#tokenOf(token)];
    return own.of === asked.of && own.round <= asked.round;
  }

  /** Whether a later operation of the batch may have written the token, or one of an earlier round. (A delete writes none.) */
  #isLaterOf(later: readonly Operation[], token: string): boolean {
    return later.some(
      ({ does, token: one }) => does !== "delete" && does !== "outside" && this.#isMine(token, one),
    );
  }

  /** Redis counts in whole milliseconds, and a key is there until its last one is over. */
  #readingOf(master: string, at: number): number {
    return Math.floor(this.#clockOf(master).wallSinceStart(at)) * unit;
  }

  #aliveIn(master: string, clock: number): string | undefined {
    const key = this.#keys.get(master);
    return key?.token !== undefined && key.until >= clock ? key.token : undefined;
  }

  #show(at: number, master: string): void {
    const key = this.#keys.get(master);
    const { of, round } = key?.token === undefined ? { of: 0, round: 0 } : this.#tokenOf(key.token);
    const clock = this.#readingOf(master, at);
    const until = key?.token === undefined ? 0 : key.until;
    const to = this.#numberOf(master);
    const words = `${master} has ${of === 0 ? "no key" : `the key of ${of}.${round} until ${until}`}, at ${at} us`;
    this.#add({ what: "shows", of, round, to, until, master: clock, words });
  }

  #begin(at: number, looked: number, client: string, [number = "", text = "", ...resources]: string[]): void {
    if (!resources.includes(this.#view.resource)) return;
    const token = this.#tokenOf(text);
    this.#holds.set(`${client} ${number}`, token);
    this.#held.add(token.of);
    const words = `${client} begins hold ${number} of ${token.of}.${token.round}, at ${at} us`;
    this.#add({ what: "begins", ...token, ...this.#of(client, looked), words });
  }

  #believe(at: number, client: string, [number = 0, end = 0]: number[]): void {
    const token = this.#holds.get(`${client} ${number}`);
    if (!token) return;
    const reading = this.#of(client, at);
    const left = Math.floor((end - this.#clockOf(client).monotonicAt(at) * 1000) / 10);
    const words = `${client} counts on hold ${number} of ${token.of}.${token.round} for ${left * 10} us, at ${at} us`;
    this.#add({ what: "believes", of: token.of, ...reading, until: reading.client + left, words });
  }

  #giveUp(client: string, number: string): void {
    const token = this.#holds.get(`${client} ${number}`);
    if (!token) return;
    this.#holds.delete(`${client} ${number}`);
    this.#add({
      what: "gives up",
      of: token.of,
      words: `${client} gives up hold ${number} of ${token.of}.${token.round}`,
    });
  }
}

/** Whether a reply is that of a master that refuses to write, or whose key is taken. */
function isRefusal(command: string, reply: string): boolean {
  return refusals.test(reply) || (command === "SET" && reply !== "OK");
}
