import type { Fault } from "../plan/fault.ts";
import type { Plan } from "../plan/plan.ts";
import { type Given, planWith } from "../plan/swarm.ts";
import { Random } from "../random.ts";

/**
 * The plan of a seed for code of users, which may check its lock too rarely. Beside what Redlock promises to survive, processes are stopped
 * between a look at the lock and the call that follows: the lock can do nothing about that, the resource has to.
 */
export function planOfSeed(seed: number, given: Partial<Given>): Plan {
  const plan = planWith(seed, given);
  const random = new Random(seed, "careless");
  const stalls = Array.from({ length: random.integer(0, 3) }, (): Fault => {
    const occurrence = Math.round(random.logUniform(1, 20));
    const duration = Math.round(plan.settings.ttl * random.logUniform(0.2, 4));
    return { on: "write", occurrence, kind: "stall", clients: "here", duration };
  });
  return given.kinds ? plan : { ...plan, faults: [...plan.faults, ...stalls] };
}
