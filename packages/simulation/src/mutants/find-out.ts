import type { Pool } from "../cli/pool.ts";
import type { Plan } from "../plan/plan.ts";
import { explore } from "../search/explore.ts";
import { inOrder } from "../search/runner.ts";

/** Runs a mutant by one plan after the other until it is found out: by which seed, and how. Throws if it survives. */
export async function findOut(pool: Pool, mutant: string, plans: Iterable<Plan>): Promise<string> {
  // Runs are started only as they are needed: several mutants at a time keep the threads busy.
  const trials = inOrder({ ...pool.runner(mutant), width: 1 }, plans, "any");
  const { violated, runs } = await explore(trials, (_, soFar) => soFar.violated.length > 0);
  const [found] = violated;
  if (!found) throw new Error(`"${mutant}" has survived ${runs} runs`);
  const { kind, detail } = found.outcome.violations[0]!;
  return `${mutant}: seed ${found.plan.seed}, ${kind}: ${detail}`;
}
