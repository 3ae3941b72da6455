import { type Exploration, explore } from "./search/explore.ts";
import type { Model } from "./search/model.ts";

/**
 * How long it takes to look at all states: _quick_ ones are searched by `vitest` as well, _usual_ ones by
 * `pnpm models`, _deep_ ones only when asked for.
 */
export type Level = "quick" | "usual" | "deep";

/** A protocol within bounds, and faults in it that have to be found within the same bounds. */
export interface Check {
  readonly protocol: string;
  readonly bounds: string;
  readonly level: Level;
  /** More states than this, and nothing is shown. */
  readonly limit: number;
  readonly model: () => Model;
  readonly mutants: readonly { readonly name: string; readonly model: () => Model }[];
}

export interface CheckResult {
  readonly passed: boolean;
  readonly lines: readonly string[];
}

/** Looks at all states of the protocol. */
export function checkProtocol({ model, limit, protocol, bounds }: Check): CheckResult {
  const { result, seconds } = timed(() => explore(model(), { limit }));
  const passed = result.verdict === "holds";
  const outcome = passed ? "holds" : `FAILED, ${result.verdict}: ${result.reason}`;
  const effort = `${result.states} states${symmetryOf(result)}, depth ${result.depth}, ${seconds} s (limit ${limit})`;
  return { passed, lines: [`${protocol}, ${bounds}: ${outcome}; ${effort}`, ...storyOf(result)] };
}

/** Looks for the fault. `told`: with what happens on the shortest way to it. */
export function checkMutant({ limit }: Check, mutant: Check["mutants"][number], told = false): CheckResult {
  const { result, seconds } = timed(() => explore(mutant.model(), { limit }));
  const passed = result.verdict === "violated" || result.verdict === "stuck";
  const outcome = passed
    ? `found in ${result.story.length} steps: ${result.reason}`
    : `FAILED, not found: ${result.verdict} ${result.reason}`;
  const line = `  mutant "${mutant.name}" ${outcome}; ${result.states} states, ${seconds} s`;
  return { passed, lines: told ? [line, ...storyOf(result)] : [line] };
}

function storyOf({ story, reason }: Exploration): string[] {
  if (story.length === 0) return [];
  return [...story, reason].map((line, index) => `    ${String(index + 1).padStart(2)}. ${line}`);
}

const symmetryOf = ({ symmetry }: Exploration): string =>
  symmetry === 1 ? "" : ` (each for up to ${symmetry} alike)`;

function timed<Result>(act: () => Result): { result: Result; seconds: string } {
  const start = performance.now();
  const result = act();
  return { result, seconds: ((performance.now() - start) / 1000).toFixed(1) };
}
