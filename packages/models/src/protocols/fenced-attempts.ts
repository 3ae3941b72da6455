import type { Field, Layout, Sort, State } from "../search/layout.ts";
import type { Step } from "../search/model.ts";
import { quorum, quorums } from "./three-masters.ts";

/** The state of an attempt. */
export const idle = 0;
export const voting = 1;
/** In round two: its token is to be stored. */
export const storing = 2;
export const granted = 3;
/** Nothing comes of it any more. */
export const over = 4;

/** The state of a vote. */
export const underWay = 1;
export const yes = 2;

/** The role of a node in a grant. `madeToken`: the token comes from its value. `elsewhere`: it does not. */
export const madeToken = 1;
export const elsewhere = 2;
/** The node has the token stored, and the attempt counts it. */
export const counted = 3;

/** The token by the largest counter that was read, and whether it needs no second round. */
export type TokenRule = (
  largest: number,
  proposed: number,
) => { readonly token: number; readonly atOnce: boolean };

const protocolsRule: TokenRule = (largest, proposed) =>
  largest < proposed ? { token: proposed, atOnce: true } : { token: largest + 1, atOnce: false };

/**
 * Attempts that are granted with a fencing token (PROTOCOL 8): the proposals, replies and decisions of each. The
 * behaviour of the masters belongs to the model.
 *
 * Until it decides, an attempt does nothing with its replies. So it does not read them one by one: when it decides, it
 * has read any quorum of those that are there.
 */
export class FencedAttempts {
  readonly all: readonly number[];
  readonly phase: Field;
  readonly proposal: Field;
  readonly token: Field;
  readonly vote: Field;
  /** The counter that came with a yes. */
  readonly value: Field;
  readonly role: Field;
  /** The position of this yes among all of its node. The protocol does not read it; the property does. */
  readonly #turn: Field;
  readonly #nodes: Sort;

  constructor(layout: Layout, nodes: Sort, attempts: Sort) {
    this.all = attempts.all;
    this.#nodes = nodes;
    this.phase = layout.field([attempts]);
    this.proposal = layout.field([attempts]);
    this.token = layout.field([attempts]);
    this.vote = layout.field([attempts, nodes]);
    this.value = layout.field([attempts, nodes]);
    this.role = layout.field([attempts, nodes]);
    this.#turn = layout.field([attempts, nodes]);
  }

  is(phase: number, now: State, attempt: number): boolean {
    return this.phase.get(now, attempt) === phase;
  }

  grants(now: State): number[] {
    return this.all.filter((attempt) => this.is(granted, now, attempt));
  }

  propose(next: State, attempt: number, chosen: number): void {
    this.phase.set(next, voting, attempt);
    this.proposal.set(next, chosen, attempt);
    for (const node of this.#nodes.all) this.vote.set(next, underWay, attempt, node);
  }

  /** The node says yes, and that its counter was `old`. */
  hearYes(next: State, attempt: number, node: number, old: number): void {
    this.vote.set(next, yes, attempt, node);
    if (this.is(voting, next, attempt)) this.value.set(next, old, attempt, node);
    if (this.is(over, next, attempt)) return;
    const before = this.all.filter((other) => this.#turn.get(next, other, node) > 0);
    this.#turn.set(next, before.length + 1, attempt, node);
  }

  /** The counters by which an attempt may decide. */
  values(now: State, attempt: number): Map<number, number> {
    const nodes = this.#nodes.all.filter((node) => this.vote.get(now, attempt, node) === yes);
    return new Map(nodes.map((node) => [node, this.value.get(now, attempt, node)]));
  }

  /** By the counters of a quorum: one that is below them all has its proposal at once. */
  decide(
    now: State,
    step: Step,
    attempt: number,
    values: ReadonlyMap<number, number> = this.values(now, attempt),
    rule: TokenRule = protocolsRule,
  ): void {
    if (!this.is(voting, now, attempt)) return;
    for (const read of quorums([...values.keys()])) {
      const largest = Math.max(...read.map((node) => values.get(node)!));
      const { token, atOnce } = rule(largest, this.proposal.get(now, attempt));
      const then = atOnce ? "at once" : "to be stored";
      step(
        () => `attempt ${attempt} reads nodes ${read.join(", ")}: token ${token}, ${then}`,
        (next) => {
          this.phase.set(next, atOnce ? granted : storing, attempt);
          this.token.set(next, token, attempt);
          this.forgetValues(next, attempt);
          for (const node of this.#nodes.all) {
            if (read.includes(node)) this.role.set(next, atOnce ? counted : madeToken, attempt, node);
            else if (!atOnce) this.role.set(next, elsewhere, attempt, node);
          }
        },
      );
    }
  }

  /** After the decision, the values that it rests on are not needed. */
  forgetValues(next: State, attempt: number): void {
    for (const node of this.#nodes.all) this.value.set(next, 0, attempt, node);
  }

  /** Whether the second round's request is on its way to a node. */
  isToStore(now: State, attempt: number, node: number): boolean {
    return [madeToken, elsewhere].includes(this.role.get(now, attempt, node));
  }

  /** Whether a token that does not come from this node's value may be too small for it. */
  isTooLow(now: State, attempt: number, node: number, counter: number): boolean {
    return this.role.get(now, attempt, node) === elsewhere && counter >= this.token.get(now, attempt);
  }

  acknowledge(next: State, attempt: number, node: number): void {
    this.role.set(next, counted, attempt, node);
    const acknowledged = this.#nodes.all.filter((other) => this.role.get(next, attempt, other) === counted);
    if (acknowledged.length >= quorum && this.is(storing, next, attempt))
      this.phase.set(next, granted, attempt);
  }

  /** All but its values. */
  giveUp(next: State, attempt: number): void {
    this.phase.set(next, over, attempt);
    this.token.set(next, 0, attempt);
    for (const node of this.#nodes.all) {
      this.role.set(next, 0, attempt, node);
      const left = this.#turn.get(next, attempt, node);
      this.#turn.set(next, 0, attempt, node);
      for (const other of this.all) {
        const place = this.#turn.get(next, other, node);
        if (left > 0 && place > left) this.#turn.set(next, place - 1, other, node);
      }
    }
  }

  /**
   * Wherever two grants count the same node, the one whose turn came later there has the larger token. Any two of
   * them share a node. So no two tokens are the same, and a grant has a larger one than each that was complete
   * before it began.
   */
  disorder(now: State): string | undefined {
    const grants = this.grants(now);
    if (grants.length < 2) return undefined;
    for (const node of this.#nodes.all) {
      const here = grants
        .filter((attempt) => this.role.get(now, attempt, node) === counted)
        .sort((one, other) => this.#turn.get(now, one, node) - this.#turn.get(now, other, node));
      for (const [index, later] of here.entries()) {
        const earlier = here[index - 1];
        if (earlier === undefined || this.token.get(now, earlier) < this.token.get(now, later)) continue;
        const tokens = `${this.token.get(now, earlier)} and ${this.token.get(now, later)}`;
        return `node ${node} was attempt ${earlier}'s first and attempt ${later}'s then, with tokens ${tokens}`;
      }
    }
    return undefined;
  }
}
