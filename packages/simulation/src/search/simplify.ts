import type { ViolationKind } from "../checkers/findings.ts";
import { knownOf } from "../network/latency.ts";
import type { Fault, Targets } from "../plan/fault.ts";
import { fields } from "../plan/fault-fields.ts";
import { kindOf } from "../plan/fault-kinds.ts";
import { type ClientPlan, type Plan, styles } from "../plan/plan.ts";
import { PlanError, validPlan } from "../plan/validate.ts";
import type { Outcome } from "../run/run-plan.ts";

/** Plans that are simpler than `plan` in one respect, the boldest first. */
export type Simplification = (plan: Plan) => Iterable<Plan>;

/** In the order in which they are tried: what takes most away comes first, and makes the runs after it faster. */
export const simplifications: readonly Simplification[] = [
  fewerClients,
  fewerMasters,
  shorter,
  simplerIn("workload"),
  simplerIn("masters"),
  simplerIn("clients"),
  simplerIn("network"),
  simplerIn("settings"),
  simplerIn("faults"),
];

/** The simplest that a field of a plan can be, by its name; it is left out where that is nothing. */
const simplest: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ...styles.map((style) => [style, 0] as const),
  ["resources", 1],
  ["offset", 0],
  ["rate", 0],
  ["timerLateness", 0],
  ...[
    "parallel",
    "redlocks",
    "several",
    "calls",
    "lists",
    "forbids",
    "listeners",
    "isForeign",
    "startsAt",
    "nodeTimeout",
    "waitTimeout",
    "after",
  ].map((name) => [name, undefined] as const),
]);

/** The numbers that can be made smaller. */
const magnitudes: ReadonlySet<string> = new Set([
  ...["parallel", "several"],
  ...Object.entries(fields).flatMap(([name, { isMagnitude }]) => (isMagnitude ? [name] : [])),
]);

/** The lists that can be made shorter. */
const lists: ReadonlySet<string> = new Set(["calls", "lists", "clients", "masters"]);

function simplerIn(
  part: "workload" | "masters" | "clients" | "network" | "settings" | "faults",
): Simplification {
  return function* (plan) {
    for (const simpler of simplerThan(plan[part])) {
      const simplified = { ...plan, [part]: simpler };
      if (simplified.faults.every(hasTarget) && isValid(simplified)) yield simplified;
    }
  };
}

/** Simpler values of one field; `name` is that of the part. */
function* simplerThan(part: unknown, name = ""): Generator {
  if (simplest.has(name) && simplest.get(name) !== part) yield simplest.get(name);
  if (typeof part === "number" && magnitudes.has(name)) yield* smallerThan(part);
  if (typeof part !== "object" || part === null) return;
  if (isLatency(part) && part.shape !== "constant") yield { shape: "constant", ms: knownOf(part).typical };
  if (Array.isArray(part)) {
    const list: readonly unknown[] = part;
    if (lists.has(name)) for (let gone = list.length - 1; gone >= 0; gone -= 1) yield without(list, gone);
    for (const [index, item] of list.entries())
      for (const simpler of simplerThan(item)) yield list.with(index, simpler);
    return;
  }
  // (Lists of masters are safe together by when their clients start and end.)
  const fixed = name === "" && "timerLateness" in part && "masters" in part ? ["masters", "startsAt"] : [];
  for (const [field, value] of Object.entries(part)) {
    if (fixed.includes(field)) continue;
    const { [field]: _, ...others } = part as Readonly<Record<string, unknown>>;
    for (const simpler of simplerThan(value, field))
      yield simpler === undefined ? others : { ...part, [field]: simpler };
  }
}

function isLatency(part: object): part is Plan["network"]["latency"] {
  return "shape" in part;
}

function isValid(plan: Plan): boolean {
  try {
    validPlan(plan);
    return true;
  } catch (error) {
    if (error instanceof PlanError) return false;
    throw error;
  }
}

/** Ends the run at its violation. */
export function* endedEarly(plan: Plan, { violations }: Outcome, kind: ViolationKind): Generator<Plan> {
  const at = violations.find((violation) => violation.kind === kind)?.at ?? plan.duration;
  const duration = Math.max(1, Math.ceil(at));
  if (duration >= plan.duration) return;
  yield { ...plan, duration, faults: plan.faults.filter((fault) => !("at" in fault) || fault.at < duration) };
}

function* fewerClients(plan: Plan): Generator<Plan> {
  if (plan.clients.length === 1) return;
  for (let gone = plan.clients.length - 1; gone >= 0; gone -= 1) {
    const faults = plan.faults.flatMap((fault) => withoutProcess(fault, "client", gone));
    const { script, ...workload } = plan.workload;
    const scripted = script ? { script: without(script, gone) } : {};
    yield { ...plan, clients: without(plan.clients, gone), workload: { ...workload, ...scripted }, faults };
  }
}

function* fewerMasters(plan: Plan): Generator<Plan> {
  if (plan.masters.length === 1) return;
  for (let gone = plan.masters.length - 1; gone >= 0; gone -= 1) {
    const faults = plan.faults.flatMap((fault) => withoutProcess(fault, "master", gone));
    const clients = plan.clients.map((client) => withoutMaster(client, gone));
    if (clients.some(({ masters }) => masters?.length === 0)) continue;
    yield { ...plan, masters: without(plan.masters, gone), clients, faults };
  }
}

/** The others keep their places in its list, under their new numbers. */
function withoutMaster(client: ClientPlan, gone: number): ClientPlan {
  const { masters } = client;
  if (!masters) return client;
  const left = masters.filter((number) => number !== gone);
  return { ...client, masters: left.map((number) => (number > gone ? number - 1 : number)) };
}

function* shorter(plan: Plan): Generator<Plan> {
  for (const share of [0.5, 0.8]) {
    const duration = Math.ceil(plan.duration * share);
    if (duration < plan.duration) yield { ...plan, duration };
  }
}

/** Half of it; else the same in fewer digits. */
function* smallerThan(magnitude: number): Generator<number> {
  const half = Math.trunc(magnitude / 2);
  if (half !== 0) yield half;
  for (const digits of [1, 2]) {
    const rounded = Number(magnitude.toPrecision(digits));
    if (rounded !== magnitude && Math.abs(rounded) < Math.abs(magnitude)) yield rounded;
  }
}

/** The fault as it is where process number `gone` is not there; nothing where it was about that one alone. */
function withoutProcess(fault: Fault, who: "client" | "master", gone: number): readonly Fault[] {
  const at = "on" in fault ? fault[who] : undefined;
  if (at === gone) return [];
  const isLed = who === "master" && fault.kind === "move";
  if (isLed && fault.to === gone) return [];
  const field = `${who}s` as const;
  const targets = targetsIn(fault, field);
  const renumbered = {
    ...fault,
    ...(at === undefined ? {} : { [who]: at > gone ? at - 1 : at }),
    ...(isLed && fault.to > gone ? { to: fault.to - 1 } : {}),
    ...(targets === "here" || !(field in fault) ? {} : { [field]: renumber(targets, gone) }),
  } as Fault;
  return hasTarget(renumbered) ? [renumbered] : [];
}

function renumber(targets: readonly number[], gone: number): readonly number[] {
  return targets.filter((target) => target !== gone).map((target) => (target > gone ? target - 1 : target));
}

function targetsIn(fault: Fault, field: "clients" | "masters"): Targets {
  return (fault as { readonly clients?: Targets; readonly masters?: Targets })[field] ?? [];
}

/** A fault of connections needs a process at either end. */
function hasTarget(fault: Fault): boolean {
  const counts = [targetsIn(fault, "clients").length, targetsIn(fault, "masters").length];
  return kindOf(fault).link ? counts.every((count) => count > 0) : counts.some((count) => count > 0);
}

function without<T>(list: readonly T[], index: number): readonly T[] {
  return list.toSpliced(index, 1);
}
