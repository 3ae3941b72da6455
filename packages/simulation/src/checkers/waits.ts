import type { Kernel } from "../engine/kernel.ts";
import type { Process } from "../engine/process.ts";
import type { Findings } from "./findings.ts";
import type { Tenure } from "./tenures.ts";

/** Somebody who asks for locks and waits until they are free. */
export interface Wait {
  readonly process: Process;
  readonly resources: readonly string[];
  /** True time, us. */
  readonly begunAt: number;
  /** How often others who had asked later were served before. */
  overtaken: number;
}

export interface WaitTerms {
  /** From when on there are no faults any more; true time, us. */
  readonly calmAt: number;
  /** For how long a lock may be free in the calm while somebody waits for it, us. */
  readonly longestIdle: number;
  /** How often one who waits may be overtaken in the calm; infinite where nobody keeps a queue. */
  readonly mostOvertaken: number;
}

/** How a resource is used. */
interface Use {
  /** By whom it is held now. */
  readonly holders: Set<Tenure>;
  /** When it was last held by anybody; true time, us. */
  heldUntil: number;
}

/**
 * Nobody who waits is forgotten. Once there are no faults any more, a lock that somebody waits for is not free for
 * longer than dead holders and dead waiters can keep it from being given on; and those who come later are not served
 * again and again before.
 */
export class Waits {
  readonly #kernel: Kernel;
  readonly #findings: Findings;
  readonly #terms: WaitTerms;
  readonly #uses = new Map<string, Use>();
  readonly #open = new Set<Wait>();
  #longestIdle = 0;
  #mostOvertaken = 0;

  constructor(kernel: Kernel, findings: Findings, terms: WaitTerms) {
    this.#kernel = kernel;
    this.#findings = findings;
    this.#terms = terms;
  }

  begin(process: Process, resources: readonly string[]): Wait {
    const wait = { process, resources, begunAt: process.now, overtaken: 0 };
    this.#open.add(wait);
    return wait;
  }

  /** In a turn of whoever waited: it has what it waited for, or waits no longer. */
  end(wait: Wait): void {
    if (this.#open.delete(wait)) this.#judge(wait);
  }

  held(tenure: Tenure): void {
    const resources = waitedFor(tenure);
    for (const resource of resources) this.#useOf(resource).holders.add(tenure);
    for (const wait of this.#open) {
      // Once, however many they share.
      const shared = wait.resources.find((resource) => resources.includes(resource));
      if (shared !== undefined) this.#overtake(wait, shared, tenure);
    }
  }

  over(tenure: Tenure): void {
    for (const resource of waitedFor(tenure)) {
      const use = this.#useOf(resource);
      if (use.holders.delete(tenure)) use.heldUntil = Math.max(use.heldUntil, this.#kernel.now);
    }
  }

  /** The share of its bound that the worst of each kind took. */
  get longest(): ReadonlyMap<string, number> {
    return new Map([
      ["idle", this.#longestIdle],
      ["overtaken", this.#mostOvertaken],
    ]);
  }

  /** Whoever still waits has waited until now. */
  judgeTheRest(): void {
    for (const wait of this.#open) this.end(wait);
  }

  #overtake(wait: Wait, resource: string, { process, askedAt, lock }: Tenure): void {
    const { calmAt } = this.#terms;
    // Where so many are let in at a time, so many more are served meanwhile.
    const mostOvertaken = this.#terms.mostOvertaken * (lock.share?.limit ?? 1);
    const isLater = askedAt > wait.begunAt && this.#kernel.now > calmAt;
    if (wait.process === process || wait.process.isDead || !isLater) return;
    wait.overtaken += 1;
    if (!Number.isFinite(mostOvertaken)) return;
    this.#mostOvertaken = Math.max(this.#mostOvertaken, wait.overtaken / mostOvertaken);
    if (wait.overtaken !== mostOvertaken + 1) return;
    const who = `${wait.process.name} has waited for "${resource}" since ${wait.begunAt / 1000} ms`;
    this.#findings.violated("unfair", `${who} and was overtaken ${wait.overtaken} times in the calm`);
  }

  #judge({ process, resources, begunAt }: Wait): void {
    if (process.isDead) return;
    const { calmAt, longestIdle } = this.#terms;
    const now = process.now;
    const freeSince = Math.max(...resources.map((resource) => this.#busyUntil(resource)));
    const idle = now - Math.max(begunAt, calmAt, freeSince);
    this.#longestIdle = Math.max(this.#longestIdle, idle / longestIdle);
    if (idle <= longestIdle) return;
    const what = resources.map((resource) => `"${resource}"`).join(" and ");
    const text = `${process.name} waited for ${what}, which nobody had for ${(idle / 1000).toFixed(1)} ms`;
    this.#findings.violated("forgotten", text);
  }

  /** Until when somebody had it. (Whoever waited has not begun yet to hold what it was given in this turn.) */
  #busyUntil(resource: string): number {
    const { holders, heldUntil } = this.#useOf(resource);
    return holders.size > 0 ? Number.POSITIVE_INFINITY : heldUntil;
  }

  #useOf(resource: string): Use {
    let use = this.#uses.get(resource);
    if (!use) {
      use = { holders: new Set(), heldUntil: 0 };
      this.#uses.set(resource, use);
    }
    return use;
  }
}

/** By which names others wait for what this one holds: of a semaphore nobody knows which slot it will be. */
function waitedFor({ lock }: Tenure): readonly string[] {
  return lock.share ? [lock.share.of] : lock.resources;
}
