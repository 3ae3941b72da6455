import * as v from "valibot";
import type { Verdict } from "../checkers/findings.ts";
import type { Plan } from "./plan.ts";
import { PlanError, parsed, planVersion, validPlan, versioned } from "./validate.ts";

/** A run to be replayed: what to run, and what it came to when it was saved. */
export interface ReplayFile {
  readonly version: 1;
  readonly plan: Plan;
  /** The name of the subject; the client itself if there is none. */
  readonly subject?: string;
  readonly expected?: {
    readonly verdict: Verdict;
    /** Changes with the client, the simulator and the subject: only for replays by the same ones. */
    readonly hash?: string;
  };
  /** A description of the failure that this run showed. */
  readonly about?: string;
}

const schema = v.strictObject({
  version: v.literal(planVersion),
  plan: v.unknown(),
  subject: v.exactOptional(v.string()),
  expected: v.exactOptional(
    v.strictObject({
      verdict: v.picklist(["ok", "violated", "unknown"]),
      hash: v.exactOptional(v.pipe(v.string(), v.regex(/^[0-9a-f]{16}$/, "must be 16 hexadecimal digits"))),
    }),
  ),
  about: v.exactOptional(v.string()),
});

/** @throws PlanError */
export function replayFileFrom(text: string): ReplayFile {
  let input: unknown;
  try {
    input = JSON.parse(text);
  } catch (error) {
    throw new PlanError(`no JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  const file = parsed(schema, versioned(input, "file"), "file");
  return { ...file, plan: validPlan(file.plan) };
}

export function textOf(file: ReplayFile): string {
  return `${JSON.stringify(file, null, 2)}\n`;
}
