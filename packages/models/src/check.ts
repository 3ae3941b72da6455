import { type Exploration, exploreInSlices } from "./search/explore.ts";
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
  readonly mutants: readonly {
    readonly name: string;
    readonly breaks: string;
    readonly model: () => Model;
  }[];
}

export interface CheckResult {
  readonly passed: boolean;
  readonly lines: readonly string[];
}

/** Called between slices of a search; ends the search by throwing. */
export type Pause = () => Promise<void>;
const noPause: Pause = () => Promise.resolve();

/** Searches all states of the protocol. */
export async function checkProtocol(
  { model, limit, protocol, bounds }: Check,
  pause: Pause = noPause,
): Promise<CheckResult> {
  const { result, seconds } = await timed(() => exploreInSlices(model(), { limit }, pause));
  const passed = result.verdict === "holds";
  const outcome = passed ? "holds" : `FAILED, ${result.verdict}: ${result.reason}`;
  const effort = `${result.states} states${symmetryOf(result)}, depth ${result.depth}, ${seconds} s (limit ${limit})`;
  return { passed, lines: [`${protocol}, ${bounds}: ${outcome}; ${effort}`, ...storyOf(result)] };
}

/** Searches for the fault. `hasStory` adds the steps of the shortest way to it. */
export async function checkMutant(
  { limit }: Check,
  mutant: Check["mutants"][number],
  hasStory = false,
  pause: Pause = noPause,
): Promise<CheckResult> {
  const { result, seconds } = await timed(() => exploreInSlices(mutant.model(), { limit }, pause));
  const passed = result.verdict === "violated" || result.verdict === "stuck";
  const outcome = passed
    ? `found in ${result.story.length} steps: ${result.reason}`
    : `FAILED, not found: ${result.verdict} ${result.reason}`;
  const line = `  mutant "${mutant.name}" ${outcome}; ${result.states} states, ${seconds} s`;
  return { passed, lines: hasStory ? [line, ...storyOf(result)] : [line] };
}

function storyOf({ story, reason }: Exploration): string[] {
  if (story.length === 0) return [];
  return [...story, reason].map((line, index) => `    ${String(index + 1).padStart(2)}. ${line}`);
}

const symmetryOf = ({ symmetry }: Exploration): string =>
  symmetry === 1 ? "" : ` (each for up to ${symmetry} alike)`;

async function timed<Result>(act: () => Promise<Result>): Promise<{ result: Result; seconds: string }> {
  const start = performance.now();
  const result = await act();
  return { result, seconds: ((performance.now() - start) / 1000).toFixed(1) };
}
