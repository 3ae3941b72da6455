import type { Plan } from "../plan/plan.ts";
import { beyondPlan } from "../plan/swarm.ts";
import { Random } from "../random.ts";
import { inOrder, type Runner, type Trial } from "./runner.ts";
import { variationOf } from "./variation.ts";

/** Runs in one generation. Independent of the number of threads, so that the number changes no result. */
const generationSize = 32;
/** The number of plans that are varied, and the maximum number of them from one seed. */
const populationSize = 12;
const maxOfOneSeed = 3;
/** How many of a generation are drawn afresh: a population alone settles on the first weakness it finds. */
const fresh = 8;

interface Candidate {
  readonly plan: Plan;
  /** The seed whose plan it was varied from. */
  readonly origin: number;
}

interface Judged extends Candidate {
  readonly margin: number;
}

/**
 * Seeks violations outside the promised model, without end. The margin of a run (by how much its holds were safe at
 * their deadlines; negative where they were not) says how near it came to one or how far beyond, so the plans with
 * the least margins are varied.
 */
export async function* guided(runner: Runner, seed: number): AsyncGenerator<Trial, void, void> {
  const random = new Random(seed, "guided");
  let population: readonly Judged[] = [];
  for (let next = seed; ; ) {
    const drawn = population.length === 0 ? generationSize : fresh;
    const candidates: Candidate[] = [];
    for (; candidates.length < drawn; next += 1) candidates.push({ plan: beyondPlan(next), origin: next });
    while (candidates.length < generationSize) {
      const { plan, origin } = random.pick(population);
      candidates.push({ plan: variationOf(plan, random), origin });
    }
    const judged = [...population];
    for await (const trial of inOrder(
      runner,
      candidates.map(({ plan }) => plan),
    )) {
      const { origin } = candidates[judged.length - population.length]!;
      judged.push({ plan: trial.plan, origin, margin: marginOf(trial) });
      yield trial;
    }
    population = nearest(judged);
  }
}

function nearest(judged: readonly Judged[]): readonly Judged[] {
  const ofOrigin = new Map<number, number>();
  return judged
    .toSorted((left, right) => left.margin - right.margin)
    .filter(({ origin, margin }) => {
      const rank = ofOrigin.get(origin) ?? 0;
      ofOrigin.set(origin, rank + 1);
      return Number.isFinite(margin) && rank < maxOfOneSeed;
    })
    .slice(0, populationSize);
}

/** As a share of the ttl: what is near for a lock of a minute is far for one of a second. */
function marginOf({ plan, outcome }: Trial): number {
  return outcome.leastMargin / plan.settings.ttl;
}
