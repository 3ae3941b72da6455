import { askEach, type Silent } from "../look/ask.ts";
import { Connections, type Reached } from "../look/connections.ts";
import { keysOn } from "../look/look.ts";
import { possibleTokens, verdictOf } from "../look/verdict.ts";
import { type Limit, type Master, unlessAborted } from "../masters.ts";
import { counted, escaped } from "../output.ts";
import { removeScript, revokeScript } from "../scripts.generated.ts";

// A lock is taken from its holder by name. The tokens stay on the masters: what is compared is their digest.

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
  const connections = new Connections(masters, limit);
  const found = await connections.patiently(
    (reached, step) => holderOf(reached, resource, now, step),
    ({ outcome }) => outcome !== "unknown",
  );
  limit.signal.throwIfAborted();
  const { reached, digest, ...release } = found;
  if (digest === undefined) return release;
  const isConfirmed = await confirm(release);
  limit.signal.throwIfAborted();
  if (!isConfirmed) return undefined;
  const script = now ? removeScript : revokeScript;
  const { answers, silent } = await askEach(reached, limit, (redis, signal) =>
    unlessAborted(signal, redis.eval(script.source, 1, resource, digest, tokenOf(by))),
  );
  // The time that the keys had left by then: the holder may have extended its lease since it was found.
  const left = answers.map((answer) => Number(answer ?? absent));
  const changed = reached.filter((_, index) => left[index] !== absent).map(({ name }) => name);
  const remaining = changed.length === 0 ? release.remaining : left.includes(-1) ? null : Math.max(...left);
  // The holder can keep its lease only with a quorum of masters that may still have its token.
  const isTaken = silent.length <= masters.length / 2;
  const outcome = !isTaken ? "unknown" : changed.length === 0 ? "unchanged" : release.outcome;
  return { ...release, outcome, changed, silent, remaining };
}

/** As PTTL says it of a key that is not there; -1 has no expiry. */
const absent = -2;

/** The holder as the masters show it; those whose key is no lock say nothing about it. */
async function holderOf(
  reached: readonly Reached[],
  resource: string,
  now: boolean,
  limit: Limit,
): Promise<Release & { readonly reached: readonly Reached[]; readonly digest: string | undefined }> {
  const { said } = await keysOn(reached, [resource], limit);
  const keys = said[0]!.map(({ master, state, error }) => {
    const { otherType, digest, isToken } = state ?? {};
    const type = otherType ?? (digest === undefined || isToken ? undefined : "string");
    const reason = type === undefined ? error : `the key is a ${escaped(type)}, not a lock`;
    return { master, state: type === undefined ? state : undefined, error: reason };
  });
  const states = keys.map(({ state }) => state);
  const possible = possibleTokens(states);
  const digest = possible.length === 1 ? possible[0] : undefined;
  const held = states.filter((state) => digest !== undefined && state?.digest === digest);
  const longest = Math.max(0, ...held.map((state) => state!.remaining));
  const isFree = possible.length === 0 && verdictOf(states) !== "unknown";
  return {
    reached: reached.map((master, index) => {
      const { state, error } = keys[index]!;
      return state ? master : { ...master, redis: undefined, error };
    }),
    digest,
    resource,
    outcome: digest !== undefined ? (now ? "deleted" : "revoked") : isFree ? "free" : "unknown",
    owner: held[0]?.shown,
    changed: [],
    silent: keys.flatMap(({ master, state, error }) => (state ? [] : [{ master, error }])),
    remaining: Number.isFinite(longest) ? longest : null,
  };
}

/** A token that ends with a dot and digits would be that of a waiter, which grants the lock when it releases it. */
function tokenOf(by: string): string {
  const token = `revoked:${by}`;
  return /\.\d+$/.test(token) ? `${token}.` : token;
}

/** The report for a terminal, a line for each silent master, and one for the outcome. */
export function textOf(release: Release, masters: number): readonly string[] {
  const { owner = "", changed, silent, outcome, remaining } = release;
  const name = `"${escaped(release.resource)}"`;
  const lines = silent.map(({ master, error }) => `${escaped(master)}: no answer (${error})`);
  const of = `${changed.length} of ${counted(masters, "master")}`;
  const time =
    remaining === null
      ? "never, because its keys do not expire"
      : `in ${(remaining / 1000).toFixed(1)} s at the latest`;
  const outcomes = {
    free: `${name}: no client holds it`,
    unchanged: `${name}: nothing was changed, because its token has changed meanwhile`,
    unknown: `${name}: too few masters answered; changed on ${of}. A client may hold it, and keep it.`,
    deleted: `${name} was held by ${escaped(owner)}; deleted on ${of}. Two clients may hold it until the first is told, or its lease has ended, ${time}.`,
    revoked: owner.startsWith("revoked:")
      ? `${name} was ${escaped(owner).replace(":", " by ")} before. Others can hold it ${time}.`
      : `${name} was held by ${escaped(owner)}; revoked on ${of}. Its holder is told at its next renewal. Others can hold it ${time}.`,
  };
  return [...lines, outcomes[outcome]];
}
