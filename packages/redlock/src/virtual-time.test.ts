import { createClock } from "@sinonjs/fake-timers";
import { expect, test } from "vitest";
import type { Client, RedlockOptions } from "./client.ts";
import { NodeError } from "./errors.ts";
import type { Answer, Claim, Fault, LockNode, Question, Sink, Verb } from "./protocol/node.ts";
import { answerOf, questionOf } from "./protocol/question.ts";
import { Redlock } from "./redlock.ts";
import { maxTimerDelay, type Runtime, type Timer } from "./time/runtime.ts";

// The basis of the unit tests: time that passes only when a test says so, and masters controlled by the test. Named
// like a test so that it is not published; its own tests run where it is run itself, not where it is imported.

/** Runs everything that waits only for promises. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** A claim, as the tests write it; with a ticket also a queue entry. */
export interface TestClaim extends Claim {
  readonly resources: readonly string[];
  readonly token: string;
  readonly ttl: number;
  readonly proposal?: number | undefined;
  readonly ticket?: number;
  readonly entryTtl?: number;
}

/** The calls of a node, sent immediately as always, with the answers as promises. */
export function ask(node: LockNode) {
  return {
    vote: (claim: TestClaim) => answerOf(node, claimed("vote", claim)),
    extend: (claim: TestClaim, repair: boolean) =>
      answerOf(node, claimed(repair ? "repair" : "extend", claim)),
    release: (keys: readonly string[], token: string) =>
      answerOf(node, questionOf({ verb: "release", keys, words: [token] })),
    inspect: (key: string) => answerOf(node, questionOf({ verb: "inspect", keys: [key], words: [] })),
    enqueue: (entry: TestClaim) => answerOf(node, claimed("enqueue", entry)),
  };
}

export function claimed(verb: Verb, claim: TestClaim): Question {
  const { resources: keys, token, ttl, proposal, ticket, entryTtl = 0 } = claim;
  const entry = ticket === undefined ? undefined : { ticket, ttl: entryTtl };
  return questionOf({ verb, keys, words: [token], ttl, proposal, entry, claim });
}

/** A promise that a test settles. */
export class Gate {
  readonly opened: Promise<void>;
  open!: () => void;

  constructor() {
    this.opened = new Promise((resolve) => {
      this.open = resolve;
    });
  }
}

/**
 * True time, which passes only when a test advances it, and jumps from event to event. The masters' clocks follow it.
 */
export class VirtualTime {
  readonly #clock = createClock(0, 1_000_000);
  readonly #due = new Map<object, number>();
  /** The time that passed while every machine was suspended or busy: no timer noticed. */
  #skipped = 0;

  now(): number {
    return this.#clock.now + this.#skipped;
  }

  skip(duration: number): void {
    this.#skipped += duration;
  }

  /** Like Node's setTimeout: never in less than 1 ms. Returns a function that cancels it. */
  timers(callback: () => void, delay: number): () => void {
    const event = {};
    const whole = Math.max(1, Math.trunc(delay));
    const timer = this.#clock.setTimeout(() => {
      this.#due.delete(event);
      callback();
    }, whole);
    this.#due.set(event, this.#clock.now + whole);
    return () => {
      this.#due.delete(event);
      this.#clock.clearTimeout(timer);
    };
  }

  /** Runs all events that are due within `duration` ms, one after the other. */
  async advance(duration: number): Promise<void> {
    await settle();
    const end = this.#clock.now + duration;
    while (this.#next <= end) await this.#step();
    this.#clock.tick(end - this.#clock.now);
    await settle();
  }

  /** Lets time pass until `promise` settles, and settles the same way. Fails if it would never settle. */
  async run<T>(promise: Promise<T>, within = 600_000): Promise<T> {
    const watched = { pending: true };
    const over = () => {
      watched.pending = false;
    };
    promise.then(over, over);
    const end = this.#clock.now + within;
    await settle();
    while (watched.pending) {
      if (this.#next === Number.POSITIVE_INFINITY)
        throw new Error("pending for ever: nothing is due any more");
      if (this.#next > end) throw new Error(`still pending after ${within} ms`);
      await this.#step();
    }
    return promise;
  }

  get #next(): number {
    let next = Number.POSITIVE_INFINITY;
    for (const due of this.#due.values()) if (due < next) next = due;
    return next;
  }

  async #step(): Promise<void> {
    this.#clock.next();
    await settle();
  }
}

class VirtualTimer implements Timer {
  referenced = true;
  cancel: () => void = () => {};

  unref(): void {
    this.referenced = false;
  }
}

/** One client's machine, which can be suspended. */
export class VirtualMachine implements Runtime {
  readonly time: VirtualTime;
  readonly timers = new Set<VirtualTimer>();
  /** If set, receives errors of timer callbacks, which would otherwise fail the test. */
  uncaught: unknown[] | undefined;
  #random: number;
  #suspended = 0;

  constructor(time: VirtualTime, seed = 1) {
    this.time = time;
    this.#random = seed * 7919;
  }

  monotonic(): number {
    return this.now() - this.#suspended;
  }

  wall(): number {
    return Math.floor(1_700_000_000_000 + this.now());
  }

  randomBytes(count: number): Uint8Array {
    return Uint8Array.from({ length: count }, () => this.#randomByte());
  }

  setTimer(callback: () => void, delay: number): Timer {
    // A real timer with this delay would fire immediately, again and again.
    if (!(delay <= maxTimerDelay)) throw new RangeError(`no timer keeps a delay of ${delay} ms`);
    const timer = new VirtualTimer();
    const cancel = this.time.timers(() => {
      this.timers.delete(timer);
      this.#call(callback);
    }, delay);
    timer.cancel = () => {
      this.timers.delete(timer);
      cancel();
    };
    this.timers.add(timer);
    return timer;
  }

  /** Timers that would keep a process alive. */
  get referencedTimers(): number {
    return [...this.timers].filter((timer) => timer.referenced).length;
  }

  /** True time. */
  now(): number {
    return this.time.now();
  }

  /** Suspends the machine: its monotonic clock and its timers stop, its wall clock and the world do not. */
  suspend(duration: number): void {
    this.time.skip(duration);
    this.#suspended += duration;
  }

  /** A message arrives over the network `delay` ms from now. */
  receive(callback: () => void, delay: number): void {
    this.time.timers(callback, delay);
  }

  #call(callback: () => void): void {
    try {
      callback();
    } catch (error) {
      if (!this.uncaught) throw error;
      this.uncaught.push(error);
    }
  }

  /** mulberry32: the same numbers in each run. */
  #randomByte(): number {
    this.#random = (this.#random + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#random ^ (this.#random >>> 15), 1 | this.#random);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) & 0xff;
  }
}

/** The keys of one master. */
export class VirtualMaster {
  readonly time: VirtualTime;
  readonly #keys = new Map<string, { token: string; expiresAt: number }>();

  constructor(time: VirtualTime) {
    this.time = time;
  }

  /** Sets a key, as another client would. */
  put(resource: string, token: string, ttl: number = Number.POSITIVE_INFINITY): void {
    this.#keys.set(resource, { token, expiresAt: this.#now() + ttl });
  }

  owner(resource: string): string | undefined {
    return this.#live(resource)?.token;
  }

  /** PTTL: 0 where there is no key. */
  remaining(resource: string): number {
    const key = this.#live(resource);
    return key ? key.expiresAt - this.#now() : 0;
  }

  delete(resource: string): void {
    this.#keys.delete(resource);
  }

  claim({ resources, token, ttl }: Omit<TestClaim, "abandoned">, create: boolean): Answer {
    for (const resource of resources) {
      const owner = this.owner(resource);
      if (owner !== token && (owner !== undefined || !create)) {
        return { is: "no", resource, owner, remaining: this.remaining(resource) };
      }
    }
    for (const resource of resources) {
      if (this.remaining(resource) < ttl) this.put(resource, token, ttl);
    }
    return { is: "yes", remaining: Math.min(...resources.map((resource) => this.remaining(resource))) };
  }

  release(resources: readonly string[], token: string): Answer {
    const mine = resources.filter((resource) => this.owner(resource) === token);
    for (const resource of mine) this.delete(resource);
    return { is: mine.length === resources.length ? "done" : "missed" };
  }

  /** Whole milliseconds; a key expires as early as Redis may expire it. */
  #now(): number {
    return Math.floor(this.time.now());
  }

  #live(resource: string): { token: string; expiresAt: number } | undefined {
    const key = this.#keys.get(resource);
    return key && this.#now() < key.expiresAt ? key : undefined;
  }
}

export interface Command {
  readonly kind: Verb;
  /** The time of the send, in true time. */
  readonly at: number;
}

/** One machine's connection to one master, which a test can slow, hang or cut, or answer instead of the master. */
export class VirtualNode implements LockNode {
  readonly name: string;
  readonly client: object = {};
  readonly master: VirtualMaster;
  readonly machine: VirtualMachine;
  /** The commands sent, in order. */
  readonly sent: Command[] = [];
  readonly #pending = new Set<(fault: Fault) => void>();
  readonly #ready = new Set<() => void>();
  #hung = false;
  #down = false;

  constructor(name: string, machine: VirtualMachine, master: VirtualMaster) {
    this.name = name;
    this.machine = machine;
    this.master = master;
  }

  ask(question: Question, place: number, sink: Sink): void {
    const give = (answer: Answer): void => sink.answered(place, answer);
    if (this.#down) {
      give(this.#fault(false));
      return;
    }
    const command = { kind: question.verb, at: this.machine.now() };
    this.sent.push(command);
    this.#pending.add(give);
    const arrive = (): void => {
      if (this.#hung) return;
      const answer = this.#execute(question);
      this.machine.receive(() => {
        if (this.#pending.delete(give)) give(answer);
      }, 1);
    };
    this.master.time.timers(arrive, 1);
  }

  #execute({ verb, keys, words, ttl, claim }: Question): Answer {
    if (verb === "inspect") return { is: "state", owner: undefined, remaining: 0, queueLength: 0 };
    if (!claim) return this.master.release(keys, words[0]!);
    return this.master.claim({ resources: keys, token: words[0]!, ttl }, verb !== "extend");
  }

  onReady(listener: () => void): () => void {
    this.#ready.add(listener);
    return () => this.#ready.delete(listener);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  disconnect(): void {}

  /** Commands arrive, but nothing happens. */
  hang(): this {
    this.#hung = true;
    return this;
  }

  /** Cuts the connection: unanswered commands are never answered, new ones are not sent. */
  cut(): this {
    this.#down = true;
    for (const give of this.#pending) give(this.#fault(true));
    this.#pending.clear();
    return this;
  }

  restore(): void {
    this.#down = false;
    for (const listener of this.#ready) listener();
  }

  #fault(sent: boolean): Fault {
    return { is: "fault", error: new NodeError(this.name, "UNREACHABLE", "cut off by the test"), sent };
  }
}

/** A client and its masters, 2 ms of round trip apart. The client makes one attempt unless told otherwise. */
export function virtualSetting(count: number, options: RedlockOptions = {}) {
  const time = new VirtualTime();
  const machine = new VirtualMachine(time);
  const masters = Array.from({ length: count }, () => new VirtualMaster(time));
  const nodes = masters.map((master, index) => new VirtualNode(`master-${index}`, machine, master));
  const redlock = new Redlock(nodes as readonly Client[], { runtime: machine, retryCount: 0, ...options });
  redlock.on("error", () => {});
  return { time, machine, masters, nodes, redlock };
}

if (expect.getState().testPath === import.meta.filename) {
  test("time passes from event to event", async () => {
    const time = new VirtualTime();
    const seen: number[] = [];
    time.timers(() => time.timers(() => seen.push(time.now()), 5), 10);
    await time.advance(20);
    expect([seen, time.now()]).toEqual([[15], 20]);
  });
}
