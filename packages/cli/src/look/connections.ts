import { setMaxListeners } from "node:events";
import { ownersKey } from "@quorlock/redlock/internal";
import type { Redis } from "ioredis";
import {
  codeOf,
  connect,
  type Limit,
  type Master,
  type Patience,
  reasonOf,
  refusedBy,
  Step,
  unlessAborted,
  within,
} from "../masters.ts";

/** One master, connected or not. */
export interface Reached {
  readonly name: string;
  readonly redis: Redis | undefined;
  /** Why it is not reached. */
  readonly error: string | undefined;
}

/** One master at one look. */
export interface Seen extends Reached {
  /** Of a command without work, ms; `undefined` without an answer. */
  readonly roundTrip: number | undefined;
}

async function reach(master: Master, signal: AbortSignal): Promise<Reached> {
  const { name } = master;
  try {
    return { name, redis: await connect(master, signal), error: undefined };
  } catch (error) {
    return { name, redis: undefined, error: reasonOf(error) };
  }
}

/** Connections that are made again when they are lost or hang. All end when the signal of the limit aborts. */
export class Connections {
  readonly #masters: readonly Master[];
  readonly #limit: Limit;
  readonly #kept: { readonly reached: Reached; readonly ending: AbortController }[] = [];

  constructor(masters: readonly Master[], limit: Limit) {
    this.#masters = masters;
    this.#limit = limit;
    // One for each master, and no leak.
    setMaxListeners(0, limit.signal);
    const end = (): void => {
      for (const kept of this.#kept) kept?.ending.abort();
    };
    limit.signal.addEventListener("abort", end, { once: true });
  }

  /** What `read` finds without the masters that a quorum does not wait for; with them, if that is not `isKnown`. */
  async patiently<T>(
    read: (masters: readonly Seen[], limit: Limit) => Promise<T>,
    isKnown: (found: T) => boolean,
  ): Promise<T> {
    const patience = { hasGivenUp: false };
    const found = await read(await this.all(patience), { ...this.#limit, patience });
    return isKnown(found) || !patience.hasGivenUp ? found : read(await this.all(), this.#limit);
  }

  /** One for each master; each has the time of the limit to connect and to answer. */
  async all(patience?: Patience): Promise<readonly Seen[]> {
    const step = new Step({ ...this.#limit, patience }, this.#masters.length);
    const all = await Promise.all(this.#masters.map((master, index) => this.#seen(master, index, step)));
    step.over();
    return all;
  }

  async #seen(master: Master, index: number, step: Step): Promise<Seen> {
    const before = this.#kept[index];
    const kept = before?.reached.redis?.status === "ready" ? before : undefined;
    if (!kept) before?.ending.abort();
    // A connection that does not answer in time is destroyed: what is asked later would wait for the same answers.
    const ending = kept?.ending ?? new AbortController();
    const see = async (signal: AbortSignal): Promise<Seen> => {
      const reached = kept?.reached ?? (await reach(master, signal));
      this.#kept[index] = { reached, ending };
      return timed(reached, signal);
    };
    step.began(ending);
    const seen = await within(this.#limit, see, ending);
    if (seen.redis) step.answered(ending);
    return seen;
  }
}

async function timed(reached: Reached, signal: AbortSignal): Promise<Seen> {
  const { name, redis } = reached;
  if (!redis) return { ...reached, roundTrip: undefined };
  const begun = performance.now();
  try {
    // The documented permissions have ZCARD, and not PING.
    await unlessAborted(
      signal,
      redis.zcard(ownersKey(false)).catch((error) => refusedBy(redis, error)),
    );
  } catch (failure) {
    // These refusals are answers.
    if (!/^(NOPERM|WRONGTYPE)$/.test(codeOf(failure)))
      return { name, redis: undefined, error: reasonOf(failure), roundTrip: undefined };
  }
  return { ...reached, roundTrip: performance.now() - begun };
}
