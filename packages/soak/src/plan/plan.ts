import { Random } from "@quorlock/simulation";
import type { LinkFault } from "../links/link-fault.ts";
import { masterCount, ttl, workerCount } from "../terms.ts";
import type { Fault, LineFaultName } from "./fault.ts";

export type Mode = "safe" | "unsafe";

export interface PlannedFault {
  /** The delay after the previous fault, ms; later if no slot is free. */
  readonly after: number;
  readonly fault: Fault;
}

/** The mean time between two faults, ms. */
const meanGap = { safe: 1200, unsafe: 1200 } as const;
/** These workers are never killed: their memory is measured over the whole run. */
export const undisturbedWorkers: readonly number[] = [0, 1];

/** These last; a reset is over at once. */
const cuts: ReadonlyArray<readonly [LineFaultName, LinkFault]> = [
  ["cut", { kind: "cut" }],
  ["cut-requests", { kind: "cut", direction: "requests" }],
  ["cut-replies", { kind: "cut", direction: "replies" }],
  ["hold-requests", { kind: "hold", direction: "requests" }],
  ["hold-replies", { kind: "hold", direction: "replies" }],
];
const lineFaults: typeof cuts = [...cuts, ["reset", { kind: "reset" }], ["freeze", { kind: "freeze" }]];
/** Link faults are frequent, and lost locks are needed to measure the notification. */
const safeKinds = [
  ...(["kill", "hang", "link", "link", "link", "slow", "reply", "rotate-password"] as const),
  ...(["move-master", "greet-late"] as const),
  ...(["isolate", "isolate", "stop", "stop", "kill-worker"] as const),
  ...(["refuse", "refuse", "refuse", "refuse", "refuse", "refuse", "listener"] as const),
  ...(["reshard", "reshard"] as const),
];
const refusals = ["full", "no-replicas", "read-only"] as const;
const unsafeKinds = ["amnesia", "flush", "clock", "careless"] as const;

/** An endless sequence of the faults of a seed. In the safe mode only faults that the protocol survives. */
export function* faultsOf(seed: number, mode: Mode, hasClocks: boolean): Generator<PlannedFault, never> {
  const random = new Random(seed, "faults", mode);
  const gap = meanGap[mode];
  while (true) {
    const fault = mode === "safe" ? safeFault(random) : unsafeFault(random, hasClocks);
    yield { after: random.between(gap / 2, (gap * 3) / 2), fault };
  }
}

function safeFault(random: Random): Fault {
  const master = random.integer(0, masterCount - 1);
  const worker = random.integer(0, workerCount - 1);
  // From shorter than a node's time-out to longer than a lease.
  const lasts = Math.round(random.logUniform(50, 1.5 * ttl));
  const kind = random.pick(safeKinds);
  switch (kind) {
    case "kill":
      return { name: "kill-master", master, lasts };
    case "move-master":
    case "greet-late":
    case "rotate-password":
      return { name: kind, master, lasts };
    case "reshard":
      return { name: "reshard", lasts: Math.round(random.logUniform(100, 4 * ttl)) };
    case "hang":
      return { name: "hang-master", master, lasts };
    case "link": {
      const [name, fault] = random.pick(lineFaults);
      return { name, master, fault, lasts };
    }
    case "slow": {
      const milliseconds = random.integer(5, 100);
      return { name: "slow", master, fault: { kind: "slow", milliseconds }, lasts };
    }
    case "reply":
      return { name: "reply-lost", worker, master, lasts };
    case "isolate": {
      const [, fault] = random.pick(cuts);
      const masters = someMasters(random, random.integer(3, masterCount));
      return { name: "isolate-worker", worker, masters, fault, lasts: 1.3 * ttl };
    }
    case "refuse": {
      // A master that refuses forgets nothing, so all of them may refuse.
      const masters = someMasters(random, random.pick([1, 3, 4, masterCount]));
      return {
        name: random.pick(refusals),
        worker,
        masters,
        lasts: Math.round(random.logUniform(30, ttl / 2)),
      };
    }
    case "listener":
      return { name: "listener", masters: someMasters(random, random.integer(1, masterCount)), lasts };
    case "stop":
      return { name: "stop-worker", worker, holding: random.chance(0.5), lasts };
    case "kill-worker": {
      const mortal = random.integer(undisturbedWorkers.length, workerCount - 1);
      return { name: "kill-worker", worker: mortal };
    }
  }
}

function unsafeFault(random: Random, hasClocks: boolean): Fault {
  const masters = someMasters(random, 3);
  const kind = random.pick(unsafeKinds);
  if (kind === "careless") {
    return { name: "careless-writer", worker: random.integer(0, workerCount - 1), lasts: 1.5 * ttl };
  }
  if (kind === "clock" && hasClocks) return { name: "clock-step", masters, milliseconds: 2 * ttl };
  return { name: kind === "amnesia" ? "amnesia" : "flush", masters };
}

function someMasters(random: Random, count: number): number[] {
  const left = Array.from({ length: masterCount }, (_, index) => index);
  return Array.from({ length: count }, () => left.splice(random.integer(0, left.length - 1), 1)[0]!);
}
