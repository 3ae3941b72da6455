import type { Fault } from "../plan/fault.ts";
import type { Plan } from "../plan/plan.ts";
import { type Given, planWith } from "../plan/swarm.ts";
import { Random } from "../random.ts";

/**
 * The plan of a seed for code of users. All that Redlock promises to survive may happen, and clients are stopped while they
 * hold a lock: code that looks at its lock before each write survives it.
 */
export function planOfSeed(seed: number, given: Partial<Given>): Plan {
  const plan = planWith(seed, given);
  if (given.kinds?.includes("freeze") === false) return plan;
  const random = new Random(seed, "holding");
  return withPauses(plan, random, 0, (occurrence, duration) => {
    const after = Math.round(plan.settings.ttl * random.logUniform(0.001, 0.5));
    return { on: "granted", occurrence, after, kind: "freeze", clients: "here", masters: [], duration };
  });
}

/**
 * The same, and clients are stopped between a look at the lock and the call to the resource that follows: the lock can do
 * nothing about that, the resource has to.
 */
export function stalledBeforeWrites(plan: Plan): Plan {
  return withPauses(plan, new Random(plan.seed, "careless"), 1, (occurrence, duration) => {
    return { on: "write", occurrence, kind: "stall", clients: "here", duration };
  });
}

export function isStalledBeforeWrites({ faults }: Plan): boolean {
  return faults.some((fault) => fault.kind === "stall" && "on" in fault && fault.on === "write");
}

function withPauses(
  plan: Plan,
  random: Random,
  least: number,
  pause: (occurrence: number, duration: number) => Fault,
): Plan {
  const pauses = Array.from({ length: random.integer(least, 3) }, () => {
    const occurrence = Math.round(random.logUniform(1, 20));
    // Some end when the next holder has just begun.
    const lasting = random.chance(0.3) ? 1 + random.logUniform(0.001, 0.2) : random.logUniform(0.2, 4);
    return pause(occurrence, Math.round(plan.settings.ttl * lasting));
  });
  return { ...plan, faults: [...plan.faults, ...pauses] };
}
