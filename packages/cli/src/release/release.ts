import type { Redis } from "ioredis";
import { Connections, type Reached } from "../look/connections.ts";
import { statesOf } from "../look/keys.ts";
import type { Silent } from "../look/look.ts";
import { codeOf, type Limit, type Master, unlessAborted, within } from "../masters.ts";
import { escaped } from "../output.ts";
import { removeScript, revokeScript } from "../scripts.generated.ts";

// A lock is taken from its holder by name. The tokens stay on the masters: what is compared is their digest.

/** The key of the resource on one master. */
interface KeyState {
  readonly master: string;
  readonly redis?: Redis;
  /** Why the master gave no answer. */
  readonly error?: string;
  /** `undefined`: the key is free. */
  readonly digest?: string;
  readonly shown?: string;
  /** ms; `Infinity` for a key that does not expire. */
  readonly remaining: number;
}

export interface Release {
  readonly resource: string;
  /**
   * `revoked`, `deleted`; `free`: no client holds it; `unchanged`: the token that was found is gone; `unknown`: too few
   * masters answered.
   */
  readonly outcome: "revoked" | "deleted" | "free" | "unchanged" | "unknown";
  /** The beginning of the holder's token: its tag. */
  readonly owner: string | undefined;
  /** The masters that were changed. */
  readonly changed: readonly string[];
  /** The masters that gave no answer, each with the reason. */
  readonly silent: readonly Silent[];
  /** Until the last key of the holder has expired, ms; `null` for a key without an expiry. */
  readonly remaining: number | null;
}

export interface ReleaseOptions {
  /** `user@host` of the operator. */
  readonly by: string;
  readonly now: boolean;
  /** Asked with the holder that was found, before anything changes. */
  readonly confirm: (found: Release) => Promise<boolean>;
  readonly limit: Limit;
}

/** Takes the lock of `resource` from its holder. `undefined`: it was not confirmed. */
export async function releaseByName(
  masters: readonly Master[],
  resource: string,
  { by, now, confirm, limit }: ReleaseOptions,
): Promise<Release | undefined> {
  const reached = await new Connections(masters, limit).all();
  const states = await Promise.all(reached.map((master) => stateOf(master, resource, limit)));
  limit.signal.throwIfAborted();
  const silent = silentAmong(states);
  const possible = possibleHolders(states);
  const holder = possible.length === 1 ? possible[0] : undefined;
  const isKnown = holder ?? (possible.length === 0 && silent.length <= masters.length / 2);
  const found: Release = {
    resource,
    outcome: !isKnown ? "unknown" : holder ? (now ? "deleted" : "revoked") : "free",
    owner: holder?.[0]?.shown,
    changed: [],
    silent,
    remaining: holder ? finite(Math.max(...holder.map(({ remaining }) => remaining))) : 0,
  };
  if (!holder) return found;
  const isConfirmed = await confirm(found);
  limit.signal.throwIfAborted();
  if (!isConfirmed) return undefined;
  const digest = holder[0]!.digest!;
  const script = now ? removeScript : revokeScript;
  const changes = await Promise.all(
    states.map(async ({ master, redis, error }) => {
      if (!redis) return { master, error, isChanged: false };
      try {
        const change = redis.eval(script.source, 1, resource, digest, tokenOf(by));
        const reply = await within(limit, (signal) => unlessAborted(signal, change));
        return { master, isChanged: reply === 1 };
      } catch (failure) {
        return { master, error: codeOf(failure), isChanged: false };
      }
    }),
  );
  const changed = changes.filter(({ isChanged }) => isChanged).map(({ master }) => master);
  const failed = silentAmong(changes);
  // The holder can keep its lease only with a quorum of masters that may still have its token.
  const isTaken = failed.length <= masters.length / 2;
  const outcome = !isTaken ? "unknown" : changed.length === 0 ? "unchanged" : found.outcome;
  return { ...found, outcome, changed, silent: failed };
}

function silentAmong(
  all: readonly { readonly master: string; readonly error?: string | undefined }[],
): readonly Silent[] {
  return all.flatMap(({ master, error }) => (error === undefined ? [] : [{ master, error }]));
}

/** A token that ends with a dot and digits would be that of a waiter, which grants the lock when it releases it. */
function tokenOf(by: string): string {
  const token = `revoked:${by}`;
  return /\.\d+$/.test(token) ? `${token}.` : token;
}

function finite(remaining: number): number | null {
  return Number.isFinite(remaining) ? remaining : null;
}

async function stateOf({ name, redis, error }: Reached, resource: string, limit: Limit): Promise<KeyState> {
  if (!redis) return { master: name, error: error ?? "ERR", remaining: 0 };
  try {
    const [state] = await within(limit, (signal) => statesOf(redis, [resource], signal));
    const { otherType, digest, shown, isToken, remaining } = state!;
    const type = otherType ?? (digest === undefined || isToken ? undefined : "string");
    if (type !== undefined)
      return { master: name, error: `the key is a ${escaped(type)}, not a lock`, remaining: 0 };
    return digest === undefined
      ? { master: name, redis, remaining: 0 }
      : { master: name, redis, digest, shown, remaining };
  } catch (failure) {
    return { master: name, error: codeOf(failure), remaining: 0 };
  }
}

/** The keys of each token that has, or with the silent masters may have, a quorum. */
function possibleHolders(states: readonly KeyState[]): readonly (readonly KeyState[])[] {
  const byToken = new Map<string, KeyState[]>();
  for (const state of states) {
    if (state.digest !== undefined) byToken.set(state.digest, [...(byToken.get(state.digest) ?? []), state]);
  }
  const silent = silentAmong(states).length;
  return [...byToken.values()].filter((keys) => keys.length + silent > states.length / 2);
}

/** The report for a terminal, a line for each silent master, and one for the outcome. */
export function textOf(release: Release, masters: number): readonly string[] {
  const { owner = "", changed, silent, outcome, remaining } = release;
  const name = JSON.stringify(escaped(release.resource));
  const lines = silent.map(({ master, error }) => `${escaped(master)}: no answer (${error})`);
  const of = `${changed.length} of ${masters} masters`;
  const time =
    remaining === null
      ? "never, because its keys do not expire"
      : `in ${(remaining / 1000).toFixed(1)} s at the latest`;
  const outcomes = {
    free: `${name}: no client holds it`,
    unchanged: `${name}: nothing was changed, because its token has changed meanwhile`,
    unknown: `${name}: too few masters answered; changed on ${of}. A client may hold it, and keep it.`,
    deleted: `${name} was held by ${escaped(owner)}; deleted on ${of}. Two clients may hold it until the first is told, ${time}.`,
    revoked: owner.startsWith("revoked:")
      ? `${name} was ${escaped(owner).replace(":", " by ")} before. Others can hold it ${time}.`
      : `${name} was held by ${escaped(owner)}; revoked on ${of}. Its holder is told at its next renewal. Others can hold it ${time}.`,
  };
  return [...lines, outcomes[outcome]];
}
