import type { State } from "../search/layout.ts";
import type { Model, Step } from "../search/model.ts";
import { Protocol } from "./protocol.ts";
import { quorum, threeMasters } from "./three-masters.ts";

/**
 * A semaphore of two permits over three masters, by slots: each an ordinary quorum lock (PROTOCOL 10.1).
 *
 * An attempt chooses its slots: one, the other, or both at once. Each node grants all of them or none. Requests and
 * rollbacks arrive at any later time, or never; each attempt has its own token, so a try at another slot is
 * another attempt. Leases end when their holders end them: time is left to other models.
 *
 * The mutant has no slots: each node admits one holder for each permit, and an attempt with a majority holds.
 */
export const semaphoreMutants = ["each node admits as many as there are permits"] as const;
export type SemaphoreMutant = (typeof semaphoreMutants)[number];

export interface SemaphoreBounds {
  readonly attempts: number;
}

const permits = 2;

/** The state of an attempt. */
const idle = 0;
const voting = 1;
const holding = 2;
const over = 3;

/** The state of a vote. */
const underWay = 1;
const yes = 2;
/** Given, and to be taken back. */
const released = 3;

export class Semaphore extends Protocol<SemaphoreMutant> {
  readonly sights: Model["sights"] = {
    "both permits, held by two": (now) => this.#holders(now).length === permits,
    "both permits, held by one after another has released": (now) => this.#isTakenWhole(now),
  };
  readonly #cells: Cells;

  constructor(bounds: SemaphoreBounds, mutant?: SemaphoreMutant) {
    const cells = cellsOf(bounds);
    super(cells.layout, mutant);
    this.#cells = cells;
  }

  steps(now: State, step: Step): void {
    const { nodes, attempts } = this.#cells;
    for (const attempt of attempts.all) {
      this.#choose(now, step, attempt);
      this.#proceed(now, step, attempt);
      for (const node of nodes.all) this.#atNode(now, step, attempt, node);
    }
  }

  violation(now: State): string | undefined {
    const held = this.#holders(now).reduce((sum, attempt) => sum + this.#wantedBy(now, attempt).length, 0);
    return held > permits
      ? `${held} permits of ${permits} are held, by ${this.#holders(now).length}`
      : undefined;
  }

  #wantedBy(now: State, attempt: number): number[] {
    const { slots, wants } = this.#cells;
    return slots.all.filter((slot) => wants.get(now, attempt, slot) > 0);
  }

  #has(now: State, attempt: number, node: number): boolean {
    const { vote } = this.#cells;
    return vote.get(now, attempt, node) === yes || vote.get(now, attempt, node) === released;
  }

  #choose(now: State, step: Step, attempt: number): void {
    const { nodes, slots, phase, wants, vote } = this.#cells;
    if (phase.get(now, attempt) !== idle) return;
    for (const choice of [...slots.all.map((slot) => [slot]), [...slots.all]]) {
      step(
        () => `attempt ${attempt} asks for slot ${choice.join(" and ")}`,
        (next) => {
          phase.set(next, voting, attempt);
          for (const slot of choice) wants.set(next, 1, attempt, slot);
          for (const node of nodes.all) vote.set(next, underWay, attempt, node);
        },
      );
    }
  }

  #isFree(now: State, attempt: number, node: number): boolean {
    const { attempts, wants } = this.#cells;
    const owners = attempts.all.filter((other) => this.#has(now, other, node));
    const wanted = this.#wantedBy(now, attempt);
    if (this.is("each node admits as many as there are permits")) {
      return owners.reduce((sum, other) => sum + this.#wantedBy(now, other).length, wanted.length) <= permits;
    }
    return owners.every((other) => wanted.every((slot) => wants.get(now, other, slot) === 0));
  }

  #proceed(now: State, step: Step, attempt: number): void {
    const { nodes, phase, vote } = this.#cells;
    const doing = phase.get(now, attempt);
    const votes = nodes.all.filter((node) => vote.get(now, attempt, node) === yes);
    if (doing === voting && votes.length >= quorum) {
      step(
        () => `attempt ${attempt} has a quorum, and holds`,
        (next) => phase.set(next, holding, attempt),
      );
    }
    if (doing !== voting && doing !== holding) return;
    step(
      () => `attempt ${attempt} ${doing === holding ? "releases" : "rolls back"}`,
      (next) => {
        phase.set(next, over, attempt);
        for (const node of votes) vote.set(next, released, attempt, node);
      },
    );
  }

  #atNode(now: State, step: Step, attempt: number, node: number): void {
    const { phase, vote } = this.#cells;
    if (vote.get(now, attempt, node) === underWay && this.#isFree(now, attempt, node)) {
      step(
        () => `node ${node} votes for attempt ${attempt}`,
        (next) => vote.set(next, phase.get(now, attempt) === over ? released : yes, attempt, node),
      );
    }
    if (vote.get(now, attempt, node) === released) {
      step(
        () => `node ${node} takes back its vote for attempt ${attempt}, or it expires`,
        (next) => vote.set(next, 0, attempt, node),
      );
    }
  }

  #holders(now: State): number[] {
    const { attempts, phase } = this.#cells;
    return attempts.all.filter((attempt) => phase.get(now, attempt) === holding);
  }

  #isTakenWhole(now: State): boolean {
    const { attempts, phase } = this.#cells;
    const whole = this.#holders(now).some((attempt) => this.#wantedBy(now, attempt).length === permits);
    return whole && attempts.all.some((attempt) => phase.get(now, attempt) === over);
  }
}

type Cells = ReturnType<typeof cellsOf>;

function cellsOf(bounds: SemaphoreBounds) {
  const { layout, nodes } = threeMasters();
  const slots = layout.sort(permits, { interchangeable: true });
  const attempts = layout.sort(bounds.attempts, { interchangeable: true });
  const phase = layout.field([attempts]);
  const wants = layout.field([attempts, slots]);
  /** A node has what it gave and did not take back, so the masters need no numbers. */
  const vote = layout.field([attempts, nodes]);
  return { layout, nodes, slots, attempts, phase, wants, vote };
}
