import { drawFault } from "../plan/draw-fault.ts";
import type { Fault } from "../plan/fault.ts";
import { drawRate, type Scale } from "../plan/fault-fields.ts";
import type { Plan } from "../plan/plan.ts";
import { scaleBeyond } from "../plan/swarm.ts";
import type { Random } from "../random.ts";

/** More than this makes runs slow, and stories long. */
const maxFaults = 24;

type Change = (plan: Plan, scale: Scale) => Plan;

/**
 * A variation of `plan`: one or two of its parts are drawn again, from the same distributions. So no variation is
 * wilder than a drawn plan.
 */
export function variationOf(plan: Plan, random: Random): Plan {
  const scale = scaleBeyond(plan, random);
  let varied = plan;
  for (let left = random.integer(1, 2); left > 0; left -= 1) varied = random.pick(changes)(varied, scale);
  return varied;
}

const changes: readonly Change[] = [
  (plan, { random }) => ({ ...plan, seed: random.uint32() }),
  (plan, scale) => withFaults(plan, [...plan.faults, drawFault(scale)].slice(-maxFaults)),
  (plan, { random }) => changeOne(plan, random, () => []),
  (plan, scale) => changeOne(plan, scale.random, () => [drawFault(scale)]),
  (plan, scale) => changeOne(plan, scale.random, (fault) => [moved(fault, scale)]),
  (plan, scale) => changeOne(plan, scale.random, (fault) => [fault, moved(fault, scale)].slice(-maxFaults)),
  (plan, scale) => ({ ...plan, masters: withOneRate(plan.masters, scale) }),
  (plan, scale) => ({ ...plan, clients: withOneRate(plan.clients, scale) }),
];

function withFaults(plan: Plan, faults: readonly Fault[]): Plan {
  return { ...plan, faults };
}

function changeOne(plan: Plan, random: Random, change: (fault: Fault) => readonly Fault[]): Plan {
  if (plan.faults.length === 0) return plan;
  const chosen = random.integer(0, plan.faults.length - 1);
  return withFaults(
    plan,
    plan.faults.flatMap((fault, index) => (index === chosen ? change(fault) : [fault])),
  );
}

/** A little earlier or later. */
function moved(fault: Fault, { random, duration }: Scale): Fault {
  if ("on" in fault)
    return { ...fault, occurrence: Math.max(1, fault.occurrence + random.pick([-2, -1, 1, 2])) };
  const at = Math.round(fault.at + duration * random.between(-0.05, 0.05));
  return { ...fault, at: Math.min(Math.max(0, at), duration) };
}

function withOneRate<T extends { readonly rate: number }>(clocks: readonly T[], scale: Scale): readonly T[] {
  const chosen = scale.random.integer(0, clocks.length - 1);
  return clocks.map((clock, index) => (index === chosen ? { ...clock, rate: drawRate(scale) } : clock));
}
