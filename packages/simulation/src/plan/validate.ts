import * as v from "valibot";
import type { Fault, FaultKind, Moment, Targets, When } from "./fault.ts";
import { goneAt, type Plan, resourcesIn } from "./plan.ts";
import { planSchema } from "./plan-schema.ts";

/** An invalid plan; the message names the place and the reason. */
export class PlanError extends Error {
  override readonly name = "PlanError";
}

/** The only version there is. */
export const planVersion = 1;

/** @throws PlanError */
export function validPlan(input: unknown): Plan {
  const plan = parsed(planSchema, versioned(input, "plan"), "plan");
  plan.faults.forEach((fault, index) => {
    checkAim(plan, fault, `plan.faults[${index}]`);
  });
  plan.masters.forEach(({ sameAs = 0 }, index) => {
    checkNumber(sameAs, plan.masters.length, "master", `plan.masters[${index}].sameAs`);
  });
  checkClients(plan);
  checkCallers(plan);
  plan.workload.script?.forEach((tasks, client) => {
    const where = `plan.workload.script[${client}]`;
    if (client >= plan.clients.length) throw new PlanError(`${where}: there is no client ${client}`);
    tasks.forEach(({ resource }, index) => {
      checkNumber(resource, plan.workload.resources, "resource", `${where}[${index}].resource`);
    });
  });
  return plan;
}

function checkClients({ clients, masters, duration, settings }: Plan): void {
  clients.forEach(({ masters: list = [], endsAt = 0 }, index) => {
    const where = `plan.clients[${index}]`;
    if (new Set(list).size < list.length) throw new PlanError(`${where}.masters: names a master twice`);
    for (const number of list) checkNumber(number, masters.length, "master", `${where}.masters`);
    if (endsAt > 0 && goneAt({ endsAt }, settings) > duration)
      throw new PlanError(`${where}.endsAt: its leases must be over when plan.duration is`);
  });
}

function checkCallers({ workload, settings }: Plan): void {
  workload.lists?.forEach((list, index) => {
    const where = `plan.workload.lists[${index}]`;
    if (new Set(list).size < list.length) throw new PlanError(`${where}: names a resource twice`);
    for (const resource of list) checkNumber(resource, resourcesIn(workload).length, "resource", where);
  });
  workload.calls?.forEach(({ ttl = 1 }, index) => {
    if (ttl > settings.ttl)
      throw new PlanError(`plan.workload.calls[${index}].ttl: must not be above plan.settings.ttl`);
  });
}

/** Validates `input`, found at `root`, and reports the first problem. */
export function parsed<T>(schema: v.GenericSchema<unknown, T>, input: unknown, root: string): T {
  const result = v.safeParse(schema, input, { abortEarly: true });
  if (result.success) return result.output;
  const [issue] = result.issues;
  const path = (issue.path ?? []).map(({ key }) =>
    typeof key === "number" ? `[${key}]` : `.${String(key)}`,
  );
  throw new PlanError(`${root}${path.join("")}: ${issue.message}`);
}

/** `input`, of a version that is known: nothing else can be said of another. */
export function versioned(input: unknown, root: string): unknown {
  if (typeof input !== "object" || input === null) throw new PlanError(`${root}: must be an object`);
  const version = "version" in input ? input.version : undefined;
  if (version === planVersion) return input;
  if (version === undefined) throw new PlanError(`${root}.version: is missing`);
  throw new PlanError(
    `${root}.version: ${JSON.stringify(version)} is unknown here: this simulator reads version ${planVersion}`,
  );
}

/** The target of a fault must exist. */
function checkAim(plan: Plan, fault: Fault, where: string): void {
  const { clients, masters } = plan;
  if ("on" in fault) {
    if (fault.client !== undefined) checkNumber(fault.client, clients.length, "client", `${where}.client`);
    if (fault.master !== undefined) {
      checkNumber(fault.master, masters.length, "master", `${where}.master`);
      if (!isOnTheWire(fault.on)) throw new PlanError(`${where}.master: "${fault.on}" happens at no master`);
    }
  }
  if ("clients" in fault) checkTargets(fault, fault.clients, clients.length, "client", `${where}.clients`);
  if (fault.kind === "move") checkNumber(fault.to, masters.length, "master", `${where}.to`);
  if ("masters" in fault) checkTargets(fault, fault.masters, masters.length, "master", `${where}.masters`);
}

function checkTargets(when: When & FaultKind, aim: Targets, count: number, who: string, where: string): void {
  if (aim !== "here") {
    aim.forEach((target, index) => {
      checkNumber(target, count, who, `${where}[${index}]`);
    });
  } else if ("at" in when) throw new PlanError(`${where}: "here" needs a trigger (\`on\`)`);
  else if (who === "master" && !isOnTheWire(when.on))
    throw new PlanError(`${where}: "here" is no master, as "${when.on}" happens at none`);
}

function checkNumber(index: number, count: number, what: string, where: string): void {
  if (index < count) return;
  throw new PlanError(`${where}: there is no ${what} ${index}: the plan has ${count}, counted from 0`);
}

function isOnTheWire(moment: Moment): boolean {
  return moment !== "granted" && moment !== "write";
}
