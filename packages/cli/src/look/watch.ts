import { setTimeout as pause } from "node:timers/promises";
import type { Master } from "../masters.ts";
import { type Reached, reach } from "./keys.ts";
import { type LockView, locksOn, overview, ownersAt } from "./look.ts";

/** A difference between two looks. */
export interface Change {
  readonly time: string;
  readonly change: "held" | "free" | "waiting" | "revoked" | "unreachable" | "reachable";
  readonly resource?: string;
  readonly master?: string;
  readonly lock?: LockView;
}

/** Connections that are made again when they are lost. */
class Connections {
  readonly #masters: readonly Master[];
  readonly #signal: AbortSignal;
  readonly #reached: (Reached | undefined)[] = [];

  constructor(masters: readonly Master[], signal: AbortSignal) {
    this.#masters = masters;
    this.#signal = signal;
  }

  /** One for each master; each has `timeout` ms to connect. */
  async all(timeout: number): Promise<readonly Reached[]> {
    return Promise.all(
      this.#masters.map(async (master, index) => {
        const known = this.#reached[index];
        if (known?.redis?.status === "ready") return known;
        // The attempt ends with the look, the connection with the program.
        const attempt = new AbortController();
        const timer = setTimeout(() => attempt.abort(new Error("timeout")), timeout);
        const ending = AbortSignal.any([this.#signal, attempt.signal]);
        const reached = await reach(master, ending);
        clearTimeout(timer);
        this.#reached[index] = reached;
        return reached;
      }),
    );
  }
}

type State = Omit<Change, "time">;

/** The state of everything that is looked at, by name. */
type Look = ReadonlyMap<string, State>;

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
    const look = lookFrom(reached, await locksAt(reached, resource, bounded));
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

function lookFrom(reached: readonly Reached[], locks: readonly LockView[]): Look {
  const look = new Map<string, State>();
  for (const { name, redis } of reached)
    look.set(`master ${name}`, { change: redis ? "reachable" : "unreachable", master: name });
  for (const lock of locks) {
    const { resource, owner, revokedBy } = lock;
    const change = revokedBy === undefined ? (owner ? "held" : "free") : "revoked";
    look.set(`lock ${resource}`, { change, resource, lock });
  }
  return look;
}

/** What makes a state another one: not its times. */
function essenceOf({ change, lock }: State): string {
  return JSON.stringify([change, lock?.owner?.tag, lock?.revokedBy, lock?.waiters.map(({ tag }) => tag)]);
}

/** What differs. A master that is reachable at first says nothing. */
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
