import type { State } from "../search/layout.ts";
import type { Model, Step } from "../search/model.ts";
import { FencedAttempts, idle, storing, type TokenRule, underWay, voting } from "./fenced-attempts.ts";
import { Protocol } from "./protocol.ts";
import { threeMasters } from "./three-masters.ts";

/**
 * Fencing tokens over independent masters, without clocks (PROTOCOL 8).
 *
 * Three masters, each with a key and a counter. Keys expire at any moment, even under a holder: there is no time in
 * this model, so its results hold when leases are violated as well. A request may be executed at any later moment or
 * never, a reply may be read or not.
 *
 * Left out, because each would add states but no new behaviour:
 * - A refused vote changes nothing, so it is equivalent to one that is still on its way.
 * - A release and a rollback free the key, as an expiry does.
 */
export interface FencingBounds {
  /**
   * The waiters, by client: `[1, 2]` are attempts of two clients, `[1, 1, 2]` are two rounds of one attempt, each with
   * its own token and proposal (PROTOCOL 2.13), and one attempt of another client.
   */
  readonly waiters: readonly number[];
  /** The values that any attempt may propose: nothing is assumed of the clocks that proposals come from. */
  readonly proposals: readonly number[];
  /** The initial values of the counters, left by attempts that failed. */
  readonly counters: readonly number[];
}

export const fencingMutants = [
  "the token is the largest of per-node INCRs",
  "round two stores without looking whose the key is",
  "round two stores nothing",
  "an acknowledgement counts though the counter was not below the token",
  "the fast path counts yeses to votes with another proposal",
] as const;
export type FencingMutant = (typeof fencingMutants)[number];

/** Only in a mutant: the attempt that reads the largest INCR gets the token. */
const oneMoreAtOnce: TokenRule = (largest) => ({ token: largest + 1, atOnce: true });

export class Fencing extends Protocol<FencingMutant> {
  override readonly initial: readonly State[];
  readonly sights: Model["sights"] = {
    "two grants, both in one round": (now) => this.#isGrantedTwice(now, false),
    "two grants, both in two rounds": (now) => this.#isGrantedTwice(now, true),
  };
  readonly #bounds: FencingBounds;
  readonly #cells: Cells;

  constructor(bounds: FencingBounds, mutant?: FencingMutant) {
    const cells = cellsOf(bounds);
    super(cells.layout, mutant);
    this.#cells = cells;
    this.#bounds = bounds;
    this.initial = this.#initialStates();
  }

  steps(now: State, step: Step): void {
    const { nodes, attempts } = this.#cells;
    for (const attempt of attempts.all) {
      this.#begin(now, step, attempt);
      this.#decide(now, step, attempt);
      for (const node of nodes.all) {
        this.#takeVote(now, step, attempt, node);
        this.#store(now, step, attempt, node);
      }
    }
    for (const node of nodes.all) this.#expire(now, step, node);
  }

  violation(now: State): string | undefined {
    return this.#cells.attempts.disorder(now);
  }

  #waiterOf(attempt: number): number {
    return this.#bounds.waiters[attempt - 1]!;
  }

  /** The round of the same waiter before this one, if there is one. */
  #previousRound(attempt: number): number {
    return attempt > 1 && this.#waiterOf(attempt - 1) === this.#waiterOf(attempt) ? attempt - 1 : 0;
  }

  #begin(now: State, step: Step, attempt: number): void {
    const { attempts } = this.#cells;
    const previous = this.#previousRound(attempt);
    if (!attempts.is(idle, now, attempt)) return;
    if (previous !== 0 && !attempts.is(voting, now, previous) && !attempts.is(storing, now, previous)) return;
    for (const chosen of this.#bounds.proposals) {
      step(
        () => `attempt ${attempt} proposes ${chosen} and sends its votes`,
        (next) => {
          if (previous !== 0) this.#giveUp(next, previous);
          attempts.propose(next, attempt, chosen);
        },
      );
    }
  }

  /** A yes counts only in the round that asked (PROTOCOL 2.14), so what this one has heard need not be remembered. */
  #giveUp(next: State, attempt: number): void {
    const { attempts } = this.#cells;
    attempts.giveUp(next, attempt);
    if (!this.is("the fast path counts yeses to votes with another proposal"))
      attempts.forgetValues(next, attempt);
  }

  /** Free, or held by an earlier round of the same waiter. */
  #mayTake(now: State, attempt: number, node: number): boolean {
    const { key } = this.#cells;
    const owner = key.get(now, node);
    return owner === 0 || (this.#waiterOf(owner) === this.#waiterOf(attempt) && owner < attempt);
  }

  #takeVote(now: State, step: Step, attempt: number, node: number): void {
    const { attempts, key, counter } = this.#cells;
    if (attempts.vote.get(now, attempt, node) !== underWay || !this.#mayTake(now, attempt, node)) return;
    const old = counter.get(now, node);
    const stored = this.is("the token is the largest of per-node INCRs")
      ? old + 1
      : Math.max(old, attempts.proposal.get(now, attempt));
    step(
      () => `node ${node} votes for attempt ${attempt}: its counter was ${old}, now it is ${stored}`,
      (next) => {
        key.set(next, attempt, node);
        counter.set(next, stored, node);
        attempts.hearYes(next, attempt, node, old);
      },
    );
  }

  #decide(now: State, step: Step, attempt: number): void {
    const { attempts } = this.#cells;
    const previous = this.#previousRound(attempt);
    if (this.is("the token is the largest of per-node INCRs")) {
      attempts.decide(now, step, attempt, attempts.values(now, attempt), oneMoreAtOnce);
    } else if (previous !== 0 && this.is("the fast path counts yeses to votes with another proposal")) {
      const ofBoth = [...attempts.values(now, previous), ...attempts.values(now, attempt)];
      attempts.decide(now, step, attempt, new Map(ofBoth));
    } else attempts.decide(now, step, attempt);
  }

  /** Round two at a node: it stores the token where the key is still the attempt's, and acknowledges. */
  #store(now: State, step: Step, attempt: number, node: number): void {
    const { attempts, key, counter } = this.#cells;
    if (!attempts.isToStore(now, attempt, node)) return;
    if (key.get(now, node) !== attempt && !this.is("round two stores without looking whose the key is"))
      return;
    const old = counter.get(now, node);
    if (
      attempts.isTooLow(now, attempt, node, old) &&
      !this.is("an acknowledgement counts though the counter was not below the token")
    )
      return;
    const token = attempts.token.get(now, attempt);
    const stored = this.is("round two stores nothing") ? old : Math.max(old, token);
    step(
      () =>
        `node ${node} acknowledges token ${token} of attempt ${attempt}: its counter was ${old}, now it is ${stored}`,
      (next) => {
        counter.set(next, stored, node);
        attempts.acknowledge(next, attempt, node);
      },
    );
  }

  #expire(now: State, step: Step, node: number): void {
    const { key } = this.#cells;
    if (key.get(now, node) === 0) return;
    step(
      () => `the key expires on node ${node}`,
      (next) => key.set(next, 0, node),
    );
  }

  #initialStates(): State[] {
    const { layout, nodes, counter } = this.#cells;
    return combinations(this.#bounds.counters, nodes.all.length).map((counters) => {
      const state = layout.blank();
      for (const [index, start] of counters.entries()) counter.set(state, start, index + 1);
      return state;
    });
  }

  #isGrantedTwice(now: State, inTwoRounds: boolean): boolean {
    const { attempts } = this.#cells;
    const hasStored = (attempt: number) =>
      attempts.token.get(now, attempt) > attempts.proposal.get(now, attempt);
    return attempts.grants(now).filter((attempt) => hasStored(attempt) === inTwoRounds).length >= 2;
  }
}

type Cells = ReturnType<typeof cellsOf>;

function cellsOf(bounds: FencingBounds) {
  const { layout, nodes } = threeMasters();
  const numbers = layout.sort(bounds.waiters.length, {
    interchangeable: new Set(bounds.waiters).size === bounds.waiters.length,
  });
  const key = layout.field([nodes], numbers);
  const counter = layout.field([nodes]);
  const attempts = new FencedAttempts(layout, nodes, numbers);
  return { layout, nodes, attempts, key, counter };
}

/** Every way to choose one of `values` so many times, order aside: nodes are interchangeable at the start. */
function combinations(values: readonly number[], count: number): number[][] {
  if (count === 0) return [[]];
  return values.flatMap((value, index) =>
    combinations(values.slice(index), count - 1).map((rest) => [value, ...rest]),
  );
}
