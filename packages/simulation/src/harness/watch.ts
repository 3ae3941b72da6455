import { subscribe, unsubscribe } from "node:diagnostics_channel";
import {
  type AcquireMessage,
  channelNames,
  type ExtendMessage,
  type HoldMessage,
  type RefusedMessage,
  tracingChannelNames,
} from "@quorlock/redlock/tracing";
import { Checker, type Judged, type RunEvent } from "../checkers/checker.ts";
import type { TurnTaker } from "../engine/kernel.ts";
import type { Process } from "../engine/process.ts";
import { type Caller, circleIn, quoted, wordsOf } from "./circle.ts";

/** From when on it counts as a fault of the code. */
export interface WatchLimits {
  /** Clients that wait for each other, ms. */
  readonly deadlock: number;
  /** Others that asked later and were served first. */
  readonly starvation: number;
}

/** The share of a deadlock's limit after which the clients are looked at again. */
const looks = 20;

/**
 * Sees the calls of the code under test by the tracing channels of the client: all kinds of locks publish there. It finds
 * clients that wait for each other, and those that wait while others are served again and again.
 */
export class Watch extends Checker {
  /** Calls of an undisturbed time: those that a quorum answered, and those that found none. */
  readonly undisturbed = { answered: 0, noQuorum: 0 };
  readonly #limits: WatchLimits;
  readonly #callers: ReadonlyMap<TurnTaker | undefined, Caller>;
  readonly #undo: Array<() => void> = [];
  /** Until when a fault may delay a call; true time, us. */
  #disturbedUntil = 0;
  /** The calls in a circle, and at how many looks in a row they were in it. */
  #circled: ReadonlyMap<AcquireMessage, number> = new Map();
  #isLooking = false;

  constructor(run: Judged, clients: readonly Process[], limits: WatchLimits) {
    super(run);
    this.#limits = limits;
    this.#callers = new Map(
      clients.map((process, index) => {
        const sets = { asking: new Set<AcquireMessage>(), holding: new Set<HoldMessage>() };
        return [process, { name: `client ${index}`, process, ...sets, busy: 0, unserved: new Map() }];
      }),
    );
  }

  /** Until what is returned is called. `onGranted`: in the turn in which a client gets a lock. */
  begin(onGranted: (client: Process) => void): () => void {
    const { acquire, hold, extend } = tracingChannelNames;
    this.#listen(`tracing:${acquire}:start`, (caller, call: AcquireMessage) => this.#ask(caller, call));
    this.#listen(`tracing:${acquire}:asyncEnd`, (caller, call: AcquireMessage) => this.#settle(caller, call));
    this.#listen(`tracing:${hold}:start`, (caller, lock: HoldMessage) => {
      this.#serve(caller, lock);
      onGranted(caller.process);
    });
    this.#listen(`tracing:${hold}:asyncEnd`, (caller, lock: HoldMessage) => this.#end(caller, lock));
    this.#listen(`tracing:${extend}:asyncEnd`, ({ process }, { outcome, ttl, resources }: ExtendMessage) =>
      process.record("extends", outcome!, ttl, ...resources),
    );
    // (Always: a listener may read the clock, and a run that is told has to be the one that was found.)
    this.#listen(channelNames.refused, ({ process }, { resource, waits }: RefusedMessage) => {
      if (waits) process.record("waits for", resource);
    });
    return () => {
      for (const undo of this.#undo) undo();
    };
  }

  of(process: Process): Caller {
    return this.#callers.get(process)!;
  }

  /** A fault disturbs as long as it lasts, and then for the time in which clients notice that it is over. */
  see(event: RunEvent): void {
    if (event.is !== "fault") return;
    const until = this.run.kernel.now + 1000 * (event.lasting + 2 * this.#limits.deadlock);
    this.#disturbedUntil = Math.max(this.#disturbedUntil, until);
  }

  get #all(): readonly Caller[] {
    return [...this.#callers.values()];
  }

  get #isDisturbed(): boolean {
    return this.run.kernel.now < this.#disturbedUntil;
  }

  #listen(channel: string, hear: (caller: Caller, message: never) => void): void {
    const listener = (message: unknown): void => {
      const caller = this.#callers.get(this.run.kernel.running);
      if (caller) hear(caller, message as never);
    };
    subscribe(channel, listener);
    this.#undo.push(() => unsubscribe(channel, listener));
  }

  #ask(caller: Caller, call: AcquireMessage): void {
    const { asking, unserved, process } = caller;
    asking.add(call);
    process.record("asks for", ...call.resources);
    for (const resource of call.resources) {
      if (!unserved.has(resource)) unserved.set(resource, { since: this.run.kernel.now, passed: 0 });
      this.#judgeService(caller, resource);
    }
    if (!this.#isLooking) this.#lookLater();
  }

  #settle({ asking, process }: Caller, call: AcquireMessage): void {
    asking.delete(call);
    if (call.outcome !== "acquired") process.record("gets nothing", call.outcome!, ...call.resources);
    if (this.#isDisturbed || call.outcome === "aborted") return;
    this.undisturbed[call.outcome === "no_quorum" ? "noQuorum" : "answered"] += 1;
  }

  #serve(caller: Caller, lock: HoldMessage): void {
    caller.holding.add(lock);
    caller.process.record("has", lock.ttl, ...lock.resources);
    for (const resource of lock.resources) {
      const { since } = caller.unserved.get(resource) ?? { since: 0 };
      caller.unserved.delete(resource);
      if (this.#isDisturbed) continue;
      for (const other of this.#callers.values()) {
        const asked = other.unserved.get(resource);
        if (!asked || asked.since >= since || other.process.isDead) continue;
        asked.passed += 1;
        if ([...other.asking].some(({ resources }) => resources.includes(resource)))
          this.#judgeService(other, resource);
      }
    }
  }

  #end(caller: Caller, lock: HoldMessage): void {
    const isOfCircle = lock.outcome === "expired" || lock.outcome === "lost";
    if (isOfCircle && this.#circled.size > 0) this.#judgeCircle(caller);
    caller.holding.delete(lock);
    caller.process.record("has no more", lock.outcome!, ...lock.resources);
  }

  #judgeService({ name, unserved }: Caller, resource: string): void {
    const { since, passed } = unserved.get(resource)!;
    if (passed < this.#limits.starvation) return;
    const others = `${passed} calls of others that began later were served first`;
    this.violated(
      "starvation",
      `${name} has asked for ${quoted([resource])} for ${Math.round((this.run.kernel.now - since) / 1000)} ms: ${others}`,
    );
  }

  #lookLater(): void {
    this.#isLooking = true;
    const interval = Math.max(1, Math.round((1000 * this.#limits.deadlock) / looks));
    this.run.kernel.engine.schedule(() => {
      this.#look();
      this.#isLooking = false;
      if (this.#all.some(({ asking }) => asking.size > 0)) this.#lookLater();
    }, interval);
  }

  #look(): void {
    const before = this.#circled;
    const calls = circleIn(this.#all).flatMap(({ asking }) => [...asking]);
    this.#circled = new Map(calls.map((call) => [call, (before.get(call) ?? 0) + 1]));
    if (Math.min(...this.#circled.values()) >= looks && calls.length > 0) this.#judgeCircle();
  }

  /** `loser`: a client whose lease ends while it waits. A circle that a call has left before that is none: its time was over. */
  #judgeCircle(loser?: Caller): void {
    const circle = circleIn(this.#all);
    const isOld = circle.every(({ asking }) =>
      [...asking].every((call) => (this.#circled.get(call) ?? 0) > 1),
    );
    if (circle.length === 0 || !isOld || (loser && !circle.includes(loser))) return;
    this.violated("deadlock", wordsOf(circle));
  }
}
