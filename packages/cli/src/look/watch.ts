import { setTimeout as pause } from "node:timers/promises";
import { ownersKey } from "@quorlock/redlock/internal";
import { codeOf, type Master, unlessAborted } from "../masters.ts";
import { type Reached, reach } from "./keys.ts";
import { type LockView, locksOn, overview, ownersAt } from "./look.ts";

/** A difference between two looks. */
export interface Change {
  readonly time: string;
  /** `no-quorum`: so few masters have the token that its holder cannot extend the lock. */
  readonly change: "held" | "free" | "waiting" | "revoked" | "no-quorum" | "unreachable" | "reachable";
  readonly resource?: string;
  readonly master?: string;
  readonly lock?: LockView;
}

/** One master at one look. */
export interface Seen extends Reached {
  /** Of a command without work, ms; `undefined` without an answer. */
  readonly roundTrip: number | undefined;
}

/** Connections that are made again when they are lost or hang. */
export class Connections {
  readonly #masters: readonly Master[];
  readonly #signal: AbortSignal;
  readonly #kept: { readonly reached: Reached; readonly ending: AbortController }[] = [];

  constructor(masters: readonly Master[], signal: AbortSignal) {
    this.#masters = masters;
    this.#signal = signal;
  }

  /** One for each master; each has `timeout` ms to connect and to answer. */
  async all(timeout: number): Promise<readonly Seen[]> {
    return Promise.all(this.#masters.map((master, index) => this.#seen(master, index, timeout)));
  }

  async #seen(master: Master, index: number, timeout: number): Promise<Seen> {
    const before = this.#kept[index];
    const kept = before?.reached.redis?.status === "ready" ? before : undefined;
    // A connection that does not answer in time is destroyed: what is asked later would wait for the same answers.
    const ending = kept?.ending ?? new AbortController();
    const timer = setTimeout(() => ending.abort(new DOMException("no answer", "TimeoutError")), timeout);
    try {
      const signal = AbortSignal.any([this.#signal, ending.signal]);
      const reached = kept?.reached ?? (await reach(master, signal));
      this.#kept[index] = { reached, ending };
      return await timed(reached, signal);
    } finally {
      clearTimeout(timer);
    }
  }
}

async function timed(reached: Reached, signal: AbortSignal): Promise<Seen> {
  const { name, redis } = reached;
  if (!redis) return { ...reached, roundTrip: undefined };
  const begun = performance.now();
  try {
    // The documented permissions have ZCARD, and not PING.
    await unlessAborted(signal, redis.zcard(ownersKey(false)));
  } catch (failure) {
    const error = codeOf(failure);
    // This refusal is an answer.
    if (error !== "NOPERM") return { name, redis: undefined, error, roundTrip: undefined };
  }
  return { ...reached, roundTrip: performance.now() - begun };
}

export type State = Omit<Change, "time">;

/** The state of everything that is looked at, by name. */
export type Look = ReadonlyMap<string, State>;

/** Yields what there is, then each change, until `signal` aborts. `resource`: only that one. */
export async function* watch(
  masters: readonly Master[],
  resource: string | undefined,
  {
    interval,
    timeout,
    signal,
  }: { readonly interval: number; readonly timeout: number; readonly signal: AbortSignal },
): AsyncGenerator<Change> {
  const connections = new Connections(masters, signal);
  let before: Look = new Map();
  while (!signal.aborted) {
    const reached = await connections.all(timeout);
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(timeout)]);
    const look = lookFrom(reached, await locksAt(reached, resource, bounded), before);
    for (const state of changesBetween(before, look)) yield { time: new Date().toISOString(), ...state };
    before = look;
    await pause(interval, undefined, { signal }).catch(() => {});
  }
}

async function locksAt(
  reached: readonly Reached[],
  resource: string | undefined,
  signal: AbortSignal,
): Promise<readonly LockView[]> {
  if (resource === undefined) return (await overview(reached, signal)).locks;
  return locksOn(reached, [resource], await ownersAt(reached, signal), signal);
}

/** If no quorum answers, nobody knows that a lock is free: those of the look before stay as they were. */
export function lookFrom(reached: readonly Reached[], locks: readonly LockView[], before: Look): Look {
  const look = new Map<string, State>();
  for (const { name, redis } of reached)
    look.set(`master ${name}`, { change: redis ? "reachable" : "unreachable", master: name });
  const hasQuorum = reached.filter(({ redis }) => redis).length > reached.length / 2;
  for (const lock of locks) {
    const { resource, masters } = lock;
    if (hasQuorum || masters > 0) look.set(`lock ${resource}`, { change: changeOf(lock), resource, lock });
  }
  if (!hasQuorum) for (const [name, state] of before) if (!look.has(name)) look.set(name, state);
  return look;
}

function changeOf({ owner, revokedBy, masters, of }: LockView): Change["change"] {
  if (revokedBy !== undefined) return "revoked";
  if (!owner) return "free";
  return masters > of / 2 ? "held" : "no-quorum";
}

/** The parts that make a state another one: not its times. */
function essenceOf({ change, lock }: State): string {
  return JSON.stringify([change, lock?.owner?.tag, lock?.revokedBy, lock?.waiters.map(({ tag }) => tag)]);
}

/** The differences. A master that is reachable at first says nothing. */
export function changesBetween(before: Look, now: Look): readonly State[] {
  const changes: State[] = [];
  for (const [name, state] of now) {
    const old = before.get(name);
    if (old ? essenceOf(old) === essenceOf(state) : state.change === "reachable") continue;
    const isSameHolder = old?.change === state.change && old.lock?.owner?.tag === state.lock?.owner?.tag;
    changes.push(isSameHolder ? { ...state, change: "waiting" } : state);
  }
  for (const [name, { change, resource }] of before)
    if (!now.has(name) && change !== "free" && resource !== undefined)
      changes.push({ change: "free", resource });
  return changes;
}
