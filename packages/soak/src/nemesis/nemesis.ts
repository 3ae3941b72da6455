import { setTimeout as pause } from "node:timers/promises";
import { now } from "../clock.ts";
import type { Fault, FaultName } from "../plan/fault.ts";
import type { Mode, PlannedFault } from "../plan/plan.ts";
import { masterCount } from "../terms.ts";
import { Seats } from "./seats.ts";
import { type Battlefield, isRefusal, strike } from "./strike.ts";

const minority = Math.floor((masterCount - 1) / 2);
/** Workers in a bad way at once: the others must get somewhere. */
const mostWorkers = 3;
/** Pause after a fault of a master ends and before the next may begin, ms: clients reconnect. */
const convalescence = 300;

/** A fault that was struck, and when. */
export interface Stroke {
  readonly name: FaultName;
  readonly fault: Fault;
  readonly at: number;
  /** When it was healed. */
  until: number;
}

/** Carries out a plan. In the safe mode never more than a minority of the masters is struck at once. */
export class Nemesis {
  readonly strokes: Stroke[] = [];
  readonly failures: string[] = [];
  readonly #field: Battlefield;
  readonly #masters: Seats;
  readonly #workers: Seats = new Seats(mostWorkers);
  /** All may refuse to write at once, each for one reason. */
  readonly #refusing: Seats = new Seats(masterCount);
  /** The one slot moves once at a time. */
  readonly #resharding: Seats = new Seats(1);
  readonly #running = new Set<Promise<void>>();

  constructor(field: Battlefield, mode: Mode) {
    this.#field = field;
    this.#masters = new Seats(mode === "safe" ? minority : masterCount);
  }

  /** Strikes until the time is over, and resolves when all is healed. */
  async rage(plan: Iterable<PlannedFault>, until: number): Promise<void> {
    let due = now();
    for (const { after, fault } of plan) {
      due = Math.max(due + after, now());
      if (due >= until) break;
      await pause(due - now());
      const giveBack = await this.#takeSeats(fault);
      if (now() >= until) {
        giveBack();
        break;
      }
      const stroke: Stroke = { name: fault.name, fault, at: now(), until: Number.POSITIVE_INFINITY };
      this.strokes.push(stroke);
      const running = this.#strike(fault).finally(() => {
        stroke.until = now();
        giveBack();
      });
      this.#running.add(running);
      void running.finally(() => this.#running.delete(running));
    }
    await Promise.all(this.#running);
  }

  async #strike(fault: Fault): Promise<void> {
    try {
      await strike(this.#field, fault);
    } catch (error) {
      this.failures.push(`${fault.name}: ${String(error)}`);
    }
    if (mastersOf(fault).length > 0) await pause(convalescence);
  }

  async #takeSeats(fault: Fault): Promise<() => void> {
    const worker = "worker" in fault ? [fault.worker] : [];
    const given = [
      await this.#masters.take(mastersOf(fault)),
      await this.#refusing.take(refusingIn(fault)),
      await this.#workers.take(worker),
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
  const isLookedAt = ["move-master", "rotate-password", "freeze"].includes(fault.name);
  return isLookedAt && "master" in fault ? [fault.master] : [];
}

/** The masters that everybody misses. A worker that is cut off is the only one that misses its masters. */
function mastersOf(fault: Fault): readonly number[] {
  if ("worker" in fault || isRefusal(fault) || fault.name === "listener" || fault.name === "reshard")
    return [];
  return "masters" in fault ? fault.masters : [fault.master];
}
