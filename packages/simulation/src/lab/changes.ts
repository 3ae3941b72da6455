import type { Fault, Targets } from "../plan/fault.ts";
import type { Plan } from "../plan/plan.ts";

// Plans are data: what a reader does by hand becomes a part of the plan, which runs again from its beginning.

/** The parts of a plan that the sliders of the lab show, and change. */
export interface Knobs {
  readonly masters: number;
  readonly clients: number;
  /** ms */
  readonly ttl: number;
  /** One way, the median, ms. */
  readonly latency: number;
  /** How much too fast the clocks of a majority of the masters are, per cent. */
  readonly drift: number;
}

export const ranges: Readonly<Record<keyof Knobs, readonly [least: number, most: number, step: number]>> = {
  masters: [1, 7, 1],
  clients: [1, 10, 1],
  ttl: [200, 5000, 100],
  latency: [0.5, 40, 0.5],
  drift: [0, 10, 0.5],
};

export function knobsOf({ masters, clients, settings, network }: Plan): Knobs {
  return {
    masters: masters.length,
    clients: clients.length,
    ttl: settings.ttl,
    latency: network.latency.shape === "log-normal" ? network.latency.median : 1,
    drift: Math.max(0, ...masters.map(({ rate }) => rate)) / 10_000,
  };
}

/** The plan with one knob at another place, and otherwise as it is. */
export function turned(plan: Plan, knob: keyof Knobs, value: number): Plan {
  switch (knob) {
    case "masters":
      return withMasters(plan, value);
    case "clients":
      return withClients(plan, value);
    case "ttl":
      return { ...plan, settings: withTtl(plan, value) };
    case "latency": {
      const latency = { shape: "log-normal", median: value, sigma: 0.3 } as const;
      return { ...plan, network: { ...plan.network, latency, longestLatency: Math.max(50, 4 * value) } };
    }
    case "drift": {
      const quorum = Math.floor(plan.masters.length / 2) + 1;
      const masters = plan.masters.map((master, index) => ({
        ...master,
        rate: index < quorum ? value * 10_000 : 0,
      }));
      return { ...plan, masters };
    }
  }
}

function withTtl({ settings }: Plan, ttl: number): Plan["settings"] {
  const { restartGuard, nodeTimeout } = settings;
  return {
    ...settings,
    ttl,
    automaticExtensionThreshold: Math.floor(ttl / 2),
    ...(nodeTimeout === undefined ? {} : { nodeTimeout: Math.min(nodeTimeout, Math.floor(ttl / 4)) }),
    ...(restartGuard ? { restartGuard: { ...restartGuard, maxTtl: ttl } } : {}),
  };
}

function withMasters(plan: Plan, count: number): Plan {
  const masters = Array.from({ length: count }, (_, index) => plan.masters[index % plan.masters.length]!);
  return { ...plan, masters, faults: plan.faults.flatMap((fault) => among(fault, "masters", count)) };
}

/** New clients do what the first of the plan do, each a little later. */
function withClients(plan: Plan, count: number): Plan {
  const { script } = plan.workload;
  const had = plan.clients.length;
  const clients = Array.from({ length: count }, (_, index) => plan.clients[index % had]!);
  const tasks = script
    ? {
        script: clients.map((_, index) =>
          (script[index % had] ?? []).map((task) => ({
            ...task,
            at: task.at + 15 * Math.floor(index / had),
          })),
        ),
      }
    : {};
  const faults = plan.faults.flatMap((fault) => among(fault, "clients", count));
  return { ...plan, clients, workload: { ...plan.workload, ...tasks }, faults };
}

/** A fault without the targets that are gone; none if no target is left, or if the process that triggers it is gone. */
function among(fault: Fault, kind: "masters" | "clients", count: number): readonly Fault[] {
  const trigger = "on" in fault ? fault[kind === "masters" ? "master" : "client"] : undefined;
  if ((trigger ?? 0) >= count) return [];
  const { [kind]: targets }: { readonly masters?: Targets; readonly clients?: Targets } = fault;
  if (targets === undefined || targets === "here" || targets.length === 0) return [fault];
  const left = targets.filter((target) => target < count);
  return left.length === 0 ? [] : [{ ...fault, [kind]: left }];
}

export type Process = { readonly client: number } | { readonly master: number };

/** The actions of a reader on a process, and the kinds of processes that they are for. */
export const actions = {
  kill: "kill: a master is back after 1 s, with the data that its disk kept; a client never",
  cut: "cut off for 2 s",
  hang: "hang for 2 s",
  fill: "fill its memory for 2 s (masters)",
  step: "step its clock 20 s forward",
} as const;

export type Action = keyof typeof actions;

/** The fault of an action at `at` ms; none where it is not for this kind of process. */
export function faultOf(
  action: Action,
  process: Process,
  at: number,
  { clients, masters }: Plan,
): Fault | undefined {
  const isMaster = "master" in process;
  const targets = {
    masters: isMaster ? [process.master] : [],
    clients: isMaster ? [] : [process.client],
  };
  switch (action) {
    case "kill":
      return isMaster
        ? { at, kind: "crash", masters: targets.masters, how: "process", downFor: 1000 }
        : { at, kind: "kill", clients: targets.clients };
    case "cut":
      return {
        at,
        kind: "cut",
        clients: isMaster ? clients.map((_, index) => index) : targets.clients,
        masters: isMaster ? targets.masters : masters.map((_, index) => index),
        direction: "both",
        duration: 2000,
        ending: "heal",
      };
    case "hang":
      return { at, kind: "freeze", ...targets, duration: 2000 };
    case "fill":
      return isMaster
        ? { at, kind: "refuse", masters: targets.masters, why: "OOM", duration: 2000 }
        : undefined;
    case "step":
      return { at, kind: "step", ...targets, by: 20_000 };
  }
}

/** The plan in which this was done as well. */
export function withFault(plan: Plan, fault: Fault): Plan {
  const at = "at" in fault ? fault.at : 0;
  return { ...plan, duration: Math.max(plan.duration, Math.ceil(at) + 1), faults: [...plan.faults, fault] };
}
