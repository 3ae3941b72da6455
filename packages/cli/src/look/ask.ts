import type { Redis } from "ioredis";
import { type Limit, reasonOf, Step, within } from "../masters.ts";
import type { Reached } from "./connections.ts";

/** A master that gave no answer, and why. */
export interface Silent {
  readonly master: string;
  readonly error: string;
}

/** The masters without an answer at any step; if the others are no quorum, locks may be missing. */
export interface Answers {
  readonly of: number;
  readonly silent: readonly Silent[];
}

export function hasQuorum({ of, silent }: Answers): boolean {
  return of - silent.length > of / 2;
}

/** The answers of the masters, in their order, `undefined` without one; and the masters without. */
export async function askEach<T>(
  masters: readonly Reached[],
  limit: Limit,
  ask: (redis: Redis, signal: AbortSignal) => Promise<T>,
): Promise<{ readonly answers: readonly (T | undefined)[]; readonly silent: readonly Silent[] }> {
  const silent: Silent[] = [];
  const step = new Step(limit, masters.length);
  const answers = await Promise.all(
    masters.map(async ({ name, redis, error }) => {
      const ending = new AbortController();
      step.began(ending);
      try {
        if (redis) {
          const answer = await within(limit, (signal) => ask(redis, signal), ending);
          step.answered(ending);
          return answer;
        }
        silent.push({ master: name, error: error ?? "ERR" });
      } catch (failure) {
        silent.push({ master: name, error: reasonOf(failure) });
      }
      return undefined;
    }),
  );
  step.over();
  return { answers, silent };
}

/** Each master once, by its first error, in the order of the masters. */
export function silentOf(
  masters: readonly Reached[],
  ...all: readonly (readonly Silent[])[]
): readonly Silent[] {
  const silent = all.flat();
  return masters.flatMap(({ name }) => silent.find(({ master }) => master === name) ?? []);
}
