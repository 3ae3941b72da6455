import { Layout, type State } from "../search/layout.ts";
import type { Model, Step } from "../search/model.ts";
import { quorums } from "./quorums.ts";

/**
 * Fencing tokens over independent masters, without clocks (PROTOCOL 8, 14.9).
 *
 * Three masters, each with a key and a counter. Keys expire at any moment, whoever relies on them: there is no time
 * in this model, so what it shows holds when leases are violated as well. A request may be executed at any later
 * moment or never, a reply may be read or not.
 *
 * Left out, because it would add states and nothing that can happen in them:
 * - A refused vote changes nothing, so it is as if it were still on its way.
 * - Until it decides, an attempt does nothing with its replies. So it does not read them one by one: when it
 *   decides, it has read any quorum of those that are there.
 * - A release and a roll-back free the key, as an expiry does.
 */
export interface FencingBounds {
  /**
   * What asks for votes, by whose it is: `[1, 2]` are attempts of two clients, `[1, 1, 2]` are two rounds of one
   * attempt, each with a token and a proposal of its own (14.3), and one of another.
   */
  readonly waiters: readonly number[];
  /** What may be proposed, by anyone: nothing is assumed of the clocks that proposals come from. */
  readonly proposals: readonly number[];
  /** What the counters may be before, left there by attempts that came to nothing. */
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

/** What an attempt is doing. */
const idle = 0;
const voting = 1;
/** In round two. */
const storing = 2;
const granted = 3;
/** A round that another one of the same waiter has taken the place of. */
const givenUp = 4;

/** What became of a vote. */
const underWay = 1;
const yes = 2;

/** What a node is to a grant. `madeToken`: the token comes from its value. `elsewhere`: it does not. */
const madeToken = 1;
const elsewhere = 2;
/** The node has the token stored, and the attempt counts it. */
const counted = 3;

export class Fencing implements Model {
  readonly layout: Layout;
  readonly initial: readonly State[];
  readonly sights: Model["sights"] = {
    "two grants, both in one round": (now) => this.#isGrantedTwice(now, false),
    "two grants, both in two rounds": (now) => this.#isGrantedTwice(now, true),
  };
  readonly #bounds: FencingBounds;
  readonly #mutant: FencingMutant | undefined;
  readonly #cells: Cells;

  constructor(bounds: FencingBounds, mutant?: FencingMutant) {
    this.#bounds = bounds;
    this.#mutant = mutant;
    this.#cells = cellsOf(bounds);
    this.layout = this.#cells.layout;
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

  /**
   * Wherever two grants count the same node, the one whose turn came later there has the larger token. Any two of
   * them share a node. So no two tokens are the same, and a grant has a larger one than each that was complete
   * before it began.
   */
  violation(now: State): string | undefined {
    const { nodes, attempts, phase, token, role, turn } = this.#cells;
    const grants = attempts.all.filter((attempt) => phase.get(now, attempt) === granted);
    for (const node of nodes.all) {
      const here = grants
        .filter((attempt) => role.get(now, attempt, node) === counted)
        .sort((one, other) => turn.get(now, one, node) - turn.get(now, other, node));
      for (const [index, later] of here.entries()) {
        const earlier = here[index - 1];
        if (earlier === undefined || token.get(now, earlier) < token.get(now, later)) continue;
        const tokens = `${token.get(now, earlier)} and ${token.get(now, later)}`;
        return `node ${node} was attempt ${earlier}'s first and attempt ${later}'s then, with tokens ${tokens}`;
      }
    }
    return undefined;
  }

  #waiterOf(attempt: number): number {
    return this.#bounds.waiters[attempt - 1]!;
  }

  /** The round of the same waiter before this one, if there is one. */
  #previousRound(attempt: number): number {
    return attempt > 1 && this.#waiterOf(attempt - 1) === this.#waiterOf(attempt) ? attempt - 1 : 0;
  }

  #begin(now: State, step: Step, attempt: number): void {
    const { nodes, phase, proposal, vote } = this.#cells;
    const previous = this.#previousRound(attempt);
    if (phase.get(now, attempt) !== idle) return;
    if (previous !== 0 && ![voting, storing].includes(phase.get(now, previous))) return;
    for (const chosen of this.#bounds.proposals) {
      step(
        () => `attempt ${attempt} proposes ${chosen} and sends its votes`,
        (next) => {
          if (previous !== 0) this.#giveUp(next, previous);
          phase.set(next, voting, attempt);
          proposal.set(next, chosen, attempt);
          for (const node of nodes.all) vote.set(next, underWay, attempt, node);
        },
      );
    }
  }

  /** A yes counts only in the round that asked (14.4), so what this one has heard need not be remembered. */
  #giveUp(next: State, attempt: number): void {
    const { nodes, attempts, phase, token, value, role, turn } = this.#cells;
    phase.set(next, givenUp, attempt);
    token.set(next, 0, attempt);
    for (const node of nodes.all) {
      role.set(next, 0, attempt, node);
      if (this.#mutant !== "the fast path counts yeses to votes with another proposal")
        value.set(next, 0, attempt, node);
      const left = turn.get(next, attempt, node);
      turn.set(next, 0, attempt, node);
      for (const other of attempts.all) {
        const place = turn.get(next, other, node);
        if (left > 0 && place > left) turn.set(next, place - 1, other, node);
      }
    }
  }

  /** Free, or held by an earlier round of the same waiter. */
  #mayTake(now: State, attempt: number, node: number): boolean {
    const { key } = this.#cells;
    const owner = key.get(now, node);
    return owner === 0 || (this.#waiterOf(owner) === this.#waiterOf(attempt) && owner < attempt);
  }

  #takeVote(now: State, step: Step, attempt: number, node: number): void {
    const { attempts, key, counter, phase, proposal, vote, value, turn } = this.#cells;
    if (vote.get(now, attempt, node) !== underWay || !this.#mayTake(now, attempt, node)) return;
    const old = counter.get(now, node);
    const proposed = proposal.get(now, attempt);
    const stored =
      this.#mutant === "the token is the largest of per-node INCRs" ? old + 1 : Math.max(old, proposed);
    step(
      () => `node ${node} votes for attempt ${attempt}: its counter was ${old}, now it is ${stored}`,
      (next) => {
        key.set(next, attempt, node);
        counter.set(next, stored, node);
        vote.set(next, yes, attempt, node);
        if (phase.get(now, attempt) === voting) value.set(next, old, attempt, node);
        if (phase.get(now, attempt) === givenUp) return;
        turn.set(
          next,
          1 + attempts.all.filter((other) => turn.get(now, other, node) > 0).length,
          attempt,
          node,
        );
      },
    );
  }

  /** The counters by which an attempt may decide: of the votes that carried its very proposal. */
  #valuesRead(now: State, attempt: number): Map<number, number> {
    const { nodes, vote, value } = this.#cells;
    const read = new Map<number, number>();
    for (const node of nodes.all) {
      const previous = this.#previousRound(attempt);
      if (vote.get(now, attempt, node) === yes) read.set(node, value.get(now, attempt, node));
      else if (
        this.#mutant === "the fast path counts yeses to votes with another proposal" &&
        previous !== 0 &&
        vote.get(now, previous, node) === yes
      ) {
        read.set(node, value.get(now, previous, node));
      }
    }
    return read;
  }

  #decide(now: State, step: Step, attempt: number): void {
    const { nodes, phase, proposal, role } = this.#cells;
    if (phase.get(now, attempt) !== voting) return;
    const values = this.#valuesRead(now, attempt);
    const proposed = proposal.get(now, attempt);
    for (const read of quorums([...values.keys()])) {
      const largest = Math.max(...read.map((node) => values.get(node)!));
      const grant = (fenced: number) => (next: State) => {
        this.#decided(next, granted, attempt, fenced);
        for (const node of read) role.set(next, counted, attempt, node);
      };
      if (this.#mutant === "the token is the largest of per-node INCRs") {
        step(
          () => `attempt ${attempt} reads nodes ${read.join(", ")}: token ${largest + 1}`,
          grant(largest + 1),
        );
      } else if (largest < proposed) {
        step(
          () => `attempt ${attempt} reads nodes ${read.join(", ")}: token ${proposed} at once`,
          grant(proposed),
        );
      } else {
        step(
          () =>
            `attempt ${attempt} reads nodes ${read.join(", ")} and sends token ${largest + 1} to be stored`,
          (next) => {
            this.#decided(next, storing, attempt, largest + 1);
            for (const node of nodes.all) {
              role.set(next, read.includes(node) ? madeToken : elsewhere, attempt, node);
            }
          },
        );
      }
    }
  }

  /** What it has decided by need not be remembered. */
  #decided(next: State, then: number, attempt: number, fenced: number): void {
    const { nodes, phase, token, value } = this.#cells;
    phase.set(next, then, attempt);
    token.set(next, fenced, attempt);
    for (const node of nodes.all) value.set(next, 0, attempt, node);
  }

  /** Round two at a node: it stores the token where the key is still the attempt's, and acknowledges. */
  #store(now: State, step: Step, attempt: number, node: number): void {
    const { nodes, key, counter, phase, token, role } = this.#cells;
    const part = role.get(now, attempt, node);
    if (part !== madeToken && part !== elsewhere) return;
    if (
      key.get(now, node) !== attempt &&
      this.#mutant !== "round two stores without looking whose the key is"
    )
      return;
    const old = counter.get(now, node);
    const fenced = token.get(now, attempt);
    // Elsewhere the token may be too small: it comes from values of other nodes.
    if (
      part === elsewhere &&
      old >= fenced &&
      this.#mutant !== "an acknowledgement counts though the counter was not below the token"
    )
      return;
    const stored = this.#mutant === "round two stores nothing" ? old : Math.max(old, fenced);
    step(
      () =>
        `node ${node} acknowledges token ${fenced} of attempt ${attempt}: its counter was ${old}, now it is ${stored}`,
      (next) => {
        counter.set(next, stored, node);
        role.set(next, counted, attempt, node);
        const acknowledged = nodes.all.filter((other) => role.get(next, attempt, other) === counted);
        if (acknowledged.length >= 2 && phase.get(next, attempt) === storing)
          phase.set(next, granted, attempt);
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

  #hasStored(now: State, attempt: number): boolean {
    const { proposal, token } = this.#cells;
    return token.get(now, attempt) > proposal.get(now, attempt);
  }

  #isGrantedTwice(now: State, inTwoRounds: boolean): boolean {
    const { attempts, phase } = this.#cells;
    const grants = attempts.all.filter((attempt) => phase.get(now, attempt) === granted);
    return grants.filter((attempt) => this.#hasStored(now, attempt) === inTwoRounds).length >= 2;
  }
}

type Cells = ReturnType<typeof cellsOf>;

function cellsOf(bounds: FencingBounds) {
  const layout = new Layout();
  const nodes = layout.sort(3, { interchangeable: true });
  const attempts = layout.sort(bounds.waiters.length, {
    interchangeable: new Set(bounds.waiters).size === bounds.waiters.length,
  });
  // The masters.
  const key = layout.field([nodes], attempts);
  const counter = layout.field([nodes]);
  // The attempts.
  const phase = layout.field([attempts]);
  const proposal = layout.field([attempts]);
  const token = layout.field([attempts]);
  const vote = layout.field([attempts, nodes]);
  /** The counter that came with a yes. */
  const value = layout.field([attempts, nodes]);
  const role = layout.field([attempts, nodes]);
  /** The how-manieth yes of its node this was. Nobody in the protocol knows it: the property is about it. */
  const turn = layout.field([attempts, nodes]);
  return { layout, nodes, attempts, key, counter, phase, proposal, token, vote, value, role, turn };
}

/** Every way to choose one of `values` so many times, order aside: nodes are interchangeable at the start. */
function combinations(values: readonly number[], count: number): number[][] {
  if (count === 0) return [[]];
  return values.flatMap((value, index) =>
    combinations(values.slice(index), count - 1).map((rest) => [value, ...rest]),
  );
}
