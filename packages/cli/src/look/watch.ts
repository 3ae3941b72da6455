import { setTimeout as pause } from "node:timers/promises";
import type { Limit, Master } from "../masters.ts";
import { hasQuorum } from "./ask.ts";
import { Connections, type Reached } from "./connections.ts";
import { isOfReaders } from "./keys.ts";
import { type LockState, type Locks, type LockView, locksOn, overview } from "./look.ts";

/** A difference between two looks. */
export interface Change {
  readonly time: string;
  /** The state of a lock; `waiting`: its waiters have changed; `unreachable`, `reachable`: a master. */
  readonly change: LockState | "waiting" | "unreachable" | "reachable";
  readonly resource?: string;
  readonly master?: string;
  /** Why the master is not reachable. */
  readonly error?: string;
  readonly lock?: LockView;
}

export type State = Omit<Change, "time">;

/** The state of everything that is looked at, by name. */
export type Look = ReadonlyMap<string, State>;

/** Yields what there is, then each change, until `signal` aborts. `resource`: only that one. */
export async function* watch(
  masters: readonly Master[],
  resource: string | undefined,
  { interval, timeout, signal }: Limit & { readonly interval: number },
): AsyncGenerator<Change> {
  const limit = { timeout, signal };
  const connections = new Connections(masters, limit);
  let before: Look = new Map();
  while (!signal.aborted) {
    const reached = await connections.all();
    // Readers have a lock each, which their records name.
    const found = await (resource === undefined || isOfReaders(resource)
      ? overview(reached, limit, { known: lockedIn(before) })
      : locksOn(reached, [resource], limit));
    const locks = found.locks.filter((lock) => resource === undefined || lock.resource === resource);
    // The connections ended with it: that is no change.
    if (signal.aborted) return;
    const look = lookFrom(reached, { ...found, locks }, before);
    for (const state of changesBetween(before, look)) yield { time: new Date().toISOString(), ...state };
    before = look;
    await pause(interval, undefined, { signal }).catch(() => {});
  }
}

/** The resources that were not free: a lock whose owner is gone has no record that names it for ever. */
export function lockedIn(look: Look): readonly string[] {
  const locks = [...look.values()].filter(({ lock }) => lock && lock.state !== "free");
  return [...new Set(locks.map(({ lock }) => lock!.resource))];
}

export function lookFrom(masters: readonly Reached[], found: Locks, before: Look): Look {
  const look = new Map<string, State>();
  for (const { name: master } of masters) look.set(`master ${master}`, { change: "reachable", master });
  for (const silent of found.silent)
    look.set(`master ${silent.master}`, { change: "unreachable", ...silent });
  for (const lock of found.locks) {
    const { resource, state } = lock;
    // A resource that is read has a lock for each owner.
    const reader = isOfReaders(resource) ? ` ${lock.owner?.tag}` : "";
    look.set(`lock ${resource}${reader}`, { change: state, resource, lock });
  }
  // Only owners name the locks, and nobody is known to have released those that are missing now.
  if (!hasQuorum(found)) for (const [name, state] of before) if (!look.has(name)) look.set(name, state);
  return look;
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
