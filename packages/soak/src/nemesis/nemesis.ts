import { setTimeout as pause } from "node:timers/promises";
import { now } from "@quorlock/simulation/processes";
import type { Fault, FaultName } from "../plan/fault.ts";
import type { Mode, PlannedFault } from "../plan/plan.ts";
import { masterCount } from "../terms.ts";
import { FaultSlots } from "./fault-slots.ts";
import { inject, isRefusal, type Targets } from "./inject.ts";

const minority = Math.floor((masterCount - 1) / 2);
/** Maximum number of faulty workers: the others must make progress. */
const maxWorkers = 3;
/** Pause after a fault of a master ends and before the next may begin, ms: clients reconnect. */
const recoveryPause = 300;

/** An injected fault, with its times. */
export interface Injection {
  readonly name: FaultName;
  readonly fault: Fault;
  readonly at: number;
  /** The time at which it ended. */
  until: number;
}

/** Carries out a plan. In the safe mode never more than a minority of the masters is faulty at once. */
export class Nemesis {
  readonly injections: Injection[] = [];
  readonly failures: string[] = [];
  readonly #field: Targets;
  readonly #masters: FaultSlots;
  readonly #workerSlots: FaultSlots = new FaultSlots(maxWorkers);
  /** All may refuse to write at once, each for one reason. */
  readonly #refusing: FaultSlots = new FaultSlots(masterCount);
  /** The one slot moves once at a time. */
  readonly #resharding: FaultSlots = new FaultSlots(1);
  readonly #running = new Set<Promise<void>>();

  constructor(field: Targets, mode: Mode) {
    this.#field = field;
    this.#masters = new FaultSlots(mode === "safe" ? minority : masterCount);
  }

  /** Injects faults until the time is over, and resolves when all of them have ended. */
  async run(plan: Iterable<PlannedFault>, until: number): Promise<void> {
    let due = now();
    for (const { after, fault } of plan) {
      due = Math.max(due + after, now());
      if (due >= until) break;
      await pause(due - now());
      const giveBack = await this.#takeSlots(fault);
      if (now() >= until) {
        giveBack();
        break;
      }
      const injection: Injection = { name: fault.name, fault, at: now(), until: Number.POSITIVE_INFINITY };
      this.injections.push(injection);
      const running = this.#inject(fault).finally(() => {
        injection.until = now();
        giveBack();
      });
      this.#running.add(running);
      void running.finally(() => this.#running.delete(running));
    }
    await Promise.all(this.#running);
  }

  async #inject(fault: Fault): Promise<void> {
    try {
      await inject(this.#field, fault);
    } catch (error) {
      this.failures.push(`${fault.name}: ${String(error)}`);
    }
    if (mastersOf(fault).length > 0) await pause(recoveryPause);
  }

  async #takeSlots(fault: Fault): Promise<() => void> {
    const worker = "worker" in fault ? [fault.worker] : [];
    const given = [
      await this.#masters.take(mastersOf(fault)),
      await this.#refusing.take(refusingIn(fault)),
      await this.#workerSlots.take(worker),
      await this.#resharding.take(fault.name === "reshard" ? [0] : []),
    ];
    return () => {
      for (const giveBack of given) giveBack();
    };
  }
}

/** Masters that refuse to write meanwhile, or must not: their votes are looked at, or they are made replicas. */
function refusingIn(fault: Fault): readonly number[] {
  if (isRefusal(fault)) return fault.masters;
  const isLookedAt = ["move-master", "greet-late", "rotate-password", "freeze"].includes(fault.name);
  return isLookedAt && "master" in fault ? [fault.master] : [];
}

/** The masters that no worker reaches. (A worker that is cut off is the only one that misses its masters.) */
function mastersOf(fault: Fault): readonly number[] {
  if ("worker" in fault || isRefusal(fault) || fault.name === "listener" || fault.name === "reshard")
    return [];
  return "masters" in fault ? fault.masters : [fault.master];
}
