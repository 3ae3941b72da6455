import { setTimeout as pause } from "node:timers/promises";
import { Stalls } from "@quorlock/testbed";

/** The outcome of a call, and the time that it took while this process ran, ms. `pending`: none within the limit. */
export type Outcome<T> =
  | { readonly kind: "resolved"; readonly after: number; readonly value: T }
  | { readonly kind: "rejected"; readonly after: number; readonly error: unknown }
  | { readonly kind: "pending"; readonly after: number };

/** Makes the call and waits for its end, but no longer than `limit` ms. */
export async function outcomeOf<T>(call: () => Promise<T>, limit: number): Promise<Outcome<T>> {
  using stalls = new Stalls();
  const begun = performance.now();
  const after = () => performance.now() - begun - stalls.total;
  const controller = new AbortController();
  const settled: Promise<Outcome<T>> = call().then(
    (value) => ({ kind: "resolved", after: after(), value }),
    (error: unknown) => ({ kind: "rejected", after: after(), error }),
  );
  const timeUp = pause(limit, undefined, { signal: controller.signal }).then(
    (): Outcome<T> => ({ kind: "pending", after: limit }),
    (): Outcome<T> => ({ kind: "pending", after: limit }),
  );
  const outcome = await Promise.race([settled, timeUp]);
  controller.abort();
  return outcome;
}

/** Whether the call was turned down, which an error of JavaScript's own (a slip in the library) is not. */
export function isRefused(outcome: Outcome<unknown>): boolean {
  if (outcome.kind !== "rejected") return false;
  const slips = [TypeError, ReferenceError, SyntaxError, RangeError];
  return !slips.some((slip) => outcome.error instanceof slip);
}

/** For a verdict: "rejected after 12 ms: ResourceLockedError: ...". */
export function inWords(outcome: Outcome<unknown>): string {
  const when = `${Math.round(outcome.after)} ms`;
  if (outcome.kind === "pending") return `pending after ${when}`;
  if (outcome.kind === "resolved") return `resolved after ${when}`;
  return `rejected after ${when}: ${errorInWords(outcome.error)}`;
}

export function errorInWords(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return text.length > 160 ? `${text.slice(0, 160)}...` : text;
}

/** Asks every few milliseconds until the answer is not `undefined`; `undefined` when it never was. */
export async function polled<T>(
  ask: () => Promise<T | undefined>,
  limit: number,
  interval = 5,
): Promise<T | undefined> {
  const deadline = performance.now() + limit;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (performance.now() > deadline) return undefined;
    await pause(interval);
  }
}
