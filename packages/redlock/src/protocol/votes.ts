import { never, nodeDeadline } from "../time/lease-clock.ts";
import type { Gaps } from "./gaps.ts";

/** As far as votes need it: the databases of the keys (PROTOCOL 2.15). */
type Placement = { readonly whyLeft: string | undefined };

/** A server that voted through master `before`, until `deadline`, and votes through `index` from now on. */
interface Move {
  readonly before: number;
  readonly index: number;
  readonly deadline: number;
}

/** Many locks are held at once, and most of their lists are empty: one empty list serves them all. */
const none: readonly never[] = [];

/**
 * The keys that the masters keep under one token, by their place: until when for sure (PROTOCOL 3.1). A ballot asks for them, its
 * lease counts on them, and so does the lease that continues under the token.
 */
export class Votes {
  /** Once it is left, no vote counts. */
  readonly placement: Placement;
  readonly resources: readonly string[];
  /** No deadline allows for less drift (PROTOCOL 1.1, 1.9). */
  readonly driftFactor: number;
  /** Replaced once another lease has it. */
  token: string;
  /** The longest ttl that was asked for, ms: no key under the token lives longer. */
  ttl: number;
  /** The masters that were never sent a command with the token: they have no key to delete (PROTOCOL 2.6). */
  unasked: readonly number[] = none;
  /** Whether the token was exposed outside of this client. */
  isExposed = false;
  /** Whether a quorum has confirmed the latest request. */
  isConfirmed = true;
  /** Made by the first answer of a master to an extension. */
  gaps: Gaps | undefined = undefined;
  /** In lease time; {@link never} for a master that has given none. */
  readonly deadlines: number[];
  /** Kept until the new vote has replaced the old one. */
  #moves: readonly Move[] = none;
  /** The number of moves of servers before the first vote, while these are of no active lease. */
  #movesSeen = 0;
  #extending: Promise<unknown> | undefined = undefined;

  constructor(
    placement: Placement,
    resources: readonly string[],
    token: string,
    ttl: number,
    driftFactor: number,
    deadlines: number[],
  ) {
    this.placement = placement;
    this.resources = resources;
    this.token = token;
    this.ttl = ttl;
    this.driftFactor = driftFactor;
    this.deadlines = deadlines;
  }

  /** For the lease that continues this one, which has ended or is about to, with the same list of deadlines. */
  continuedAs(resources: readonly string[], ttl: number): Votes {
    const { placement, token, driftFactor, deadlines } = this;
    const votes = new Votes(placement, resources, token, ttl, driftFactor, deadlines);
    votes.gaps = this.gaps;
    // A vote that has moved is still to be replaced (PROTOCOL 2.10).
    votes.#moves = this.#moves;
    return votes;
  }

  /** Whether an extension is on its way. */
  get isExtending(): boolean {
    return this.#extending !== undefined;
  }

  /** Returns the token for use outside of this client. */
  exposeToken(): string {
    this.isExposed = true;
    return this.token;
  }

  /** Records that the masters are about to be asked to keep the key for `ttl` ms. */
  askedFor(ttl: number): void {
    this.unasked = none;
    this.ttl = Math.max(this.ttl, ttl);
  }

  /**
   * Master `index` has confirmed a command that was sent at `sentAt`: it keeps the key for at least `ttl` from then.
   * Returns whether its deadline is later than before.
   */
  count(sentAt: number, index: number, ttl: number, driftFactor: number = this.driftFactor): boolean {
    const deadline = nodeDeadline(sentAt, ttl, driftFactor);
    // PROTOCOL 3.3: a deadline only grows.
    if (deadline <= this.deadlines[index]!) return false;
    this.deadlines[index] = deadline;
    if (this.#moves.length > 0) this.#replaceMoved(index);
    return true;
  }

  /** Whether this master certainly had the key until `now`, so that it cannot have voted for a rival and forgotten it. */
  isKeptBy(index: number, now: number): boolean {
    return this.deadlines[index]! > now;
  }

  /** Master `index` does not hold the key (PROTOCOL 3.3). */
  refuse(index: number): void {
    this.deadlines[index] = never;
  }

  /** Moves of servers are noted of active leases alone: any other one begins again (PROTOCOL 2.10). `moves`: their number. */
  startAfter(moves: number): void {
    if (this.#movesSeen === moves) return;
    this.#movesSeen = moves;
    this.deadlines.fill(never);
  }

  /**
   * Records that the server that voted through master `before` votes through `index` from now on: its next vote
   * replaces the earlier one, instead of counting beside it (PROTOCOL 2.10).
   */
  move(before: number, index: number): void {
    const stands = ({ before: master, deadline }: Move): boolean => this.deadlines[master] === deadline;
    const moves = this.#moves.filter(stands);
    this.gaps?.moved(before, index);
    // A vote that moved to `before`, and is not replaced yet, moves on from there.
    const further = moves.filter((move) => move.index === before).map((move) => ({ ...move, index }));
    this.#moves = [...moves, ...further, { before, index, deadline: this.deadlines[before]! }];
  }

  #replaceMoved(index: number): void {
    for (const { before, index: after, deadline } of this.#moves)
      if (after === index && before !== index && this.deadlines[before] === deadline) this.refuse(before);
    this.#moves = this.#moves.filter((move) => move.index !== index);
  }

  /** Runs the rounds of extensions one after the other: each says whether a quorum has confirmed the lease. */
  async exclusively<T>(round: () => Promise<T>): Promise<T> {
    while (this.#extending) await this.#extending;
    const result = round();
    const over = () => {
      this.#extending = undefined;
    };
    this.#extending = result.then(over, over);
    return result;
  }
}
