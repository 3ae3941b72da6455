import type { ViolationKind } from "../checkers/findings.ts";
import { typicalOf } from "../network/latency.ts";
import type { Fault, Targets } from "../plan/fault.ts";
import { type ClientPlan, type Plan, styles, weightOf } from "../plan/plan.ts";
import type { Outcome } from "../run/run-plan.ts";

/** Plans that are simpler than `plan` in one respect, the boldest first. */
export type Simplification = (plan: Plan) => Iterable<Plan>;

/** In the order in which they are tried: what takes most away comes first, and makes the runs after it faster. */
export const simplifications: readonly Simplification[] = [
  fewerClients,
  fewerMasters,
  fewerResources,
  shorter,
  fewerStyles,
  fewerAtOnce,
  fewerCalls,
  idealClocks,
  defaultParties,
  plainNetwork,
  defaultSettings,
  fewerTargets,
  plainTriggers,
  smallerFaults,
];

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

function* fewerResources(plan: Plan): Generator<Plan> {
  const { workload } = plan;
  // Clients and resources that a script names must exist.
  if (workload.script || workload.lists) return;
  for (let resources = 1; resources < workload.resources; resources += 1)
    yield { ...plan, workload: { ...workload, resources } };
}

function* shorter(plan: Plan): Generator<Plan> {
  for (const share of [0.5, 0.8]) {
    const duration = Math.ceil(plan.duration * share);
    if (duration < plan.duration) yield { ...plan, duration };
  }
}

function* fewerStyles(plan: Plan): Generator<Plan> {
  const { workload } = plan;
  const used = styles.filter((style) => weightOf(workload, style) > 0);
  if (used.length === 1) return;
  for (const only of used) {
    const weights = Object.fromEntries(styles.map((style) => [style, style === only ? 1 : 0]));
    yield { ...plan, workload: { ...workload, styles: weights } };
  }
  for (const gone of used)
    yield { ...plan, workload: { ...workload, styles: { ...workload.styles, [gone]: 0 } } };
}

/** Half as many resources in one lock, and one user of locks in each process. */
function* fewerAtOnce(plan: Plan): Generator<Plan> {
  const { several = 2, parallel = 1, ...workload } = plan.workload;
  const together = several === 2 ? {} : { several };
  const beside = parallel === 1 ? {} : { parallel };
  const fewer = Math.max(2, Math.floor(several / 2));
  if (several > 2) yield { ...plan, workload: { ...workload, ...beside, several: fewer } };
  if (parallel > 1) yield { ...plan, workload: { ...workload, ...together } };
  if (parallel > 2)
    yield { ...plan, workload: { ...workload, ...together, parallel: Math.floor(parallel / 2) } };
}

/** One way to call, and one list. */
function* fewerCalls(plan: Plan): Generator<Plan> {
  const { calls, lists, ...workload } = plan.workload;
  const both = { ...(calls ? { calls } : {}), ...(lists ? { lists } : {}) };
  if (lists) yield { ...plan, workload: { ...workload, ...(calls ? { calls } : {}) } };
  if (calls) yield { ...plan, workload: { ...workload, ...(lists ? { lists } : {}) } };
  for (const gone of indicesOf(calls))
    yield { ...plan, workload: { ...workload, ...both, calls: without(calls!, gone) } };
  for (const gone of indicesOf(lists))
    yield { ...plan, workload: { ...workload, ...both, lists: without(lists!, gone) } };
}

/** Of a list that may become shorter. */
function indicesOf(list: readonly unknown[] = []): readonly number[] {
  return list.length > 1 ? [...list.keys()] : [];
}

/** No other listeners, no denied commands, and no late or foreign clients. */
function* defaultParties(plan: Plan): Generator<Plan> {
  for (const [index, { forbids, listeners, ...others }] of plan.masters.entries()) {
    if (forbids || listeners) yield { ...plan, masters: plan.masters.with(index, others) };
  }
  for (const [index, { isForeign, startsAt, ...others }] of plan.clients.entries()) {
    // (Lists of masters are safe together by when their clients start and end.)
    if (others.masters) continue;
    if (isForeign || startsAt !== undefined) yield { ...plan, clients: plan.clients.with(index, others) };
  }
}

function* idealClocks(plan: Plan): Generator<Plan> {
  const ideal = { offset: 0, rate: 0 };
  for (const [index, master] of plan.masters.entries()) {
    if (master.offset !== 0 || master.rate !== 0)
      yield { ...plan, masters: plan.masters.with(index, { ...master, ...ideal }) };
  }
  for (const [index, client] of plan.clients.entries()) {
    if (client.offset !== 0 || client.rate !== 0 || client.timerLateness !== 0)
      yield { ...plan, clients: plan.clients.with(index, { ...ideal, timerLateness: 0 }) };
  }
}

function* plainNetwork(plan: Plan): Generator<Plan> {
  const { network } = plan;
  const { latency } = network;
  if (latency.shape === "constant") return;
  yield { ...plan, network: { ...network, latency: { shape: "constant", ms: typicalOf(latency) } } };
}

function* defaultSettings(plan: Plan): Generator<Plan> {
  const { nodeTimeout, waitTimeout, ...settings } = plan.settings;
  if (nodeTimeout !== undefined && waitTimeout !== undefined) yield { ...plan, settings };
  if (nodeTimeout !== undefined)
    yield { ...plan, settings: { ...settings, ...(waitTimeout === undefined ? {} : { waitTimeout }) } };
  if (waitTimeout !== undefined)
    yield { ...plan, settings: { ...settings, ...(nodeTimeout === undefined ? {} : { nodeTimeout }) } };
}

function* fewerTargets(plan: Plan): Generator<Plan> {
  for (const [index, fault] of plan.faults.entries()) {
    for (const field of ["clients", "masters"] as const) {
      const targets = targetsIn(fault, field);
      if (targets === "here" || targets.length === 0) continue;
      for (let gone = targets.length - 1; gone >= 0; gone -= 1) {
        const fewer = { ...fault, [field]: without(targets, gone) } as Fault;
        if (hasTarget(fewer)) yield { ...plan, faults: plan.faults.with(index, fewer) };
      }
    }
  }
}

function* plainTriggers(plan: Plan): Generator<Plan> {
  for (const [index, fault] of plan.faults.entries()) {
    if ("at" in fault || fault.after === undefined) continue;
    const { after: _, ...atOnce } = fault;
    yield { ...plan, faults: plan.faults.with(index, atOnce) };
  }
}

/** The properties of faults that can be made smaller. */
const magnitudes: ReadonlySet<string> = new Set([
  "duration",
  "downFor",
  "lag",
  "late",
  "by",
  "rate",
  "factor",
]);

function* smallerFaults(plan: Plan): Generator<Plan> {
  for (const [index, fault] of plan.faults.entries()) {
    for (const [name, magnitude] of Object.entries(fault)) {
      if (typeof magnitude !== "number" || !magnitudes.has(name)) continue;
      for (const smaller of smallerThan(magnitude))
        yield { ...plan, faults: plan.faults.with(index, { ...fault, [name]: smaller }) };
    }
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
  const isOfConnections = ["cut", "reset", "slow", "move"].includes(fault.kind);
  return isOfConnections ? counts.every((count) => count > 0) : counts.some((count) => count > 0);
}

function without<T>(list: readonly T[], index: number): readonly T[] {
  return list.toSpliced(index, 1);
}
