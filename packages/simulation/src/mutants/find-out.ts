import type { ViolationKind } from "../checkers/findings.ts";
import type { Pool } from "../cli/pool.ts";
import type { Plan } from "../plan/plan.ts";
import { explore } from "../search/explore.ts";
import { inOrder } from "../search/runner.ts";

/**
 * Runs a mutant by one plan after the other until it is found out: by which seed, and how. Throws if it survives, or if it shows no
 * violation of the kind that is asked for.
 */
export async function findOut(
  pool: Pool,
  mutant: string,
  plans: Iterable<Plan>,
  shownBy: ViolationKind | "any" = "any",
): Promise<string> {
  const isIt = ({ kind }: { readonly kind: ViolationKind }): boolean => shownBy === "any" || kind === shownBy;
  // Runs are started only as they are needed: several mutants at a time keep the threads busy.
  const trials = inOrder({ ...pool.runner(mutant), width: 1 }, plans, shownBy);
  const { violated, runs } = await explore(trials, (_, soFar) =>
    soFar.violated.some(({ outcome }) => outcome.violations.some(isIt)),
  );
  for (const { plan, outcome } of violated) {
    const shown = outcome.violations.find(isIt);
    if (shown) return `${mutant}: seed ${plan.seed}, ${shown.kind}: ${shown.detail}`;
  }
  throw new Error(`"${mutant}" has survived ${runs} runs`);
}
