import type { Field, State } from "../search/layout.ts";
import type { Model, Step } from "../search/model.ts";
import { counted, FencedAttempts, granted, idle, storing, underWay, voting, yes } from "./fenced-attempts.ts";
import { Protocol } from "./protocol.ts";
import { quorum, threeMasters } from "./three-masters.ts";

/**
 * Fencing and mutual exclusion when a master loses its memory, and the guard that restores them (PROTOCOL 8.8,
 * 9).
 *
 * Three masters, two attempts that take the lock for `maxTtl` ticks and may extend it once. Time passes in ticks, the
 * same for all. Between two ticks anything may happen in any order; requests are executed at any later time or never.
 * One master loses its memory once. A key lives for the time that it was set for, and a holder stops in time.
 *
 * A node that has lost its memory is noticed by the first script that runs there, refuses votes for the length of the
 * quarantine, then waits for its floor: the largest counter of both others, read after the quarantine. It accepts
 * repairs all along.
 *
 * Grants from the queue are not distinguished from votes: a node that grants from its queue does the same as for a
 * vote that arrives at that moment.
 */
export const guardMutants = [
  "votes are accepted during the quarantine",
  "the quarantine is shorter than the longest ttl",
  "the key is handed over during the quarantine",
  "the floor is read before the quarantine ends",
  "the floor is read from a single node",
  "votes do not wait for the floor",
  "a repair during the quarantine counts where the holder had no vote",
] as const;
export type GuardMutant = (typeof guardMutants)[number];

export interface GuardBounds {
  readonly proposals: readonly number[];
  /** How many attempts may extend. */
  readonly extending: number;
}

/** In ticks. Two is the least that a quarantine can be shorter than. */
const maxTtl = 2;

/** Further states of a vote: refused by the quarantine, and in the queue of the node. */
const enrolled = 3;

/** An extension that set the key, and still is no yes. */
const notCounted = 3;

/** The state of a node. */
const healthy = 0;
/** It has restarted, and no script has run since. */
const forgetful = 1;
const quarantined = 2;
const withoutFloor = 3;

export class RestartGuard extends Protocol<GuardMutant> {
  readonly sights: Model["sights"] = {
    "a holder is repaired on a node in quarantine": (now) => this.#isRepairedInQuarantine(now),
    "two grants count a node that had forgotten, one before and one after": (now) =>
      this.#isCountedTwice(now),
  };
  readonly #bounds: GuardBounds;
  readonly #cells: Cells;

  constructor(bounds: GuardBounds, mutant?: GuardMutant) {
    const cells = cellsOf(bounds);
    super(cells.layout, mutant);
    this.#cells = cells;
    this.#bounds = bounds;
  }

  steps(now: State, step: Step): void {
    const { nodes, attempts } = this.#cells;
    for (const attempt of attempts.all) {
      this.#begin(now, step, attempt);
      attempts.decide(now, step, attempt);
      this.#extend(now, step, attempt);
      for (const node of nodes.all) {
        this.#takeVote(now, step, attempt, node);
        this.#store(now, step, attempt, node);
      }
    }
    for (const node of nodes.all) {
      this.#loseMemory(now, step, node);
      this.#guard(now, step, node);
    }
    step(
      () => "a tick passes",
      (next) => this.#tick(next),
    );
  }

  /** Never two holders, and tokens as without memory loss. */
  violation(now: State): string | undefined {
    const { attempts } = this.#cells;
    if (attempts.all.every((attempt) => this.#holds(now, attempt))) return "two hold the lock";
    return attempts.disorder(now);
  }

  #begin(now: State, step: Step, attempt: number): void {
    const { attempts, validity } = this.#cells;
    if (!attempts.is(idle, now, attempt)) return;
    for (const chosen of this.#bounds.proposals) {
      step(
        () => `attempt ${attempt} proposes ${chosen} and sends its votes`,
        (next) => {
          attempts.propose(next, attempt, chosen);
          validity.set(next, maxTtl, attempt);
        },
      );
    }
  }

  #acceptsVotes(now: State, node: number): boolean {
    const { condition } = this.#cells;
    const state = condition.get(now, node);
    if (state === quarantined) return this.is("votes are accepted during the quarantine");
    if (state === withoutFloor) return this.is("votes do not wait for the floor");
    return state === healthy;
  }

  #takeVote(now: State, step: Step, attempt: number, node: number): void {
    const { attempts, key, counter } = this.#cells;
    if (
      attempts.vote.get(now, attempt, node) === underWay &&
      key.get(now, node) === 0 &&
      this.#acceptsVotes(now, node)
    ) {
      const story = (): string =>
        `node ${node} votes for attempt ${attempt}: its counter was ${counter.get(now, node)}`;
      step(story, (next) => this.#give(next, attempt, node));
    }
    if (this.is("the key is handed over during the quarantine")) this.#handOver(now, step, attempt, node);
  }

  #give(next: State, attempt: number, node: number): void {
    const { attempts, key, keyLives, counter } = this.#cells;
    const old = counter.get(next, node);
    key.set(next, attempt, node);
    keyLives.set(next, maxTtl, node);
    counter.set(next, Math.max(old, attempts.proposal.get(next, attempt)), node);
    attempts.hearYes(next, attempt, node, old);
  }

  /** Only in a mutant: what a node does during its quarantine for one who waits there. */
  #handOver(now: State, step: Step, attempt: number, node: number): void {
    const { attempts, key, condition } = this.#cells;
    if (condition.get(now, node) !== quarantined) return;
    const vote = attempts.vote.get(now, attempt, node);
    if (vote === underWay) {
      step(
        () => `node ${node} refuses attempt ${attempt}, for it is in quarantine, and enrols it`,
        (next) => attempts.vote.set(next, enrolled, attempt, node),
      );
    }
    if (vote === enrolled && key.get(now, node) === 0) {
      step(
        () =>
          `a yield reaches node ${node}, which hands its key to attempt ${attempt}, the head of its queue`,
        (next) => this.#give(next, attempt, node),
      );
    }
  }

  #store(now: State, step: Step, attempt: number, node: number): void {
    const { attempts, key, counter } = this.#cells;
    if (!attempts.isToStore(now, attempt, node) || key.get(now, node) !== attempt) return;
    if (attempts.isTooLow(now, attempt, node, counter.get(now, node))) return;
    const token = attempts.token.get(now, attempt);
    step(
      () => `node ${node} acknowledges token ${token} of attempt ${attempt}`,
      (next) => {
        counter.set(next, Math.max(counter.get(now, node), token), node);
        // After the grant nothing is counted: the key may be a repaired one, which was no vote.
        if (attempts.is(storing, now, attempt)) attempts.acknowledge(next, attempt, node);
        else attempts.role.set(next, 0, attempt, node);
      },
    );
  }

  /**
   * A holder extends, and repairs: a node that lost the key is given it again, in quarantine as well (4).
   *
   * During the quarantine the repair counts only where the holder's own vote still stands. Anywhere else the node may
   * have voted for a rival and forgotten it: it would be on both sides.
   */
  #extend(now: State, step: Step, attempt: number): void {
    const { nodes, attempts, key, keyLives, condition, validity, extension, extendedValidity } = this.#cells;
    if (attempt > this.#bounds.extending || !attempts.is(granted, now, attempt)) return;
    if (
      validity.get(now, attempt) > 0 &&
      nodes.all.every((node) => extension.get(now, attempt, node) === 0)
    ) {
      step(
        () => `attempt ${attempt} sends an extension`,
        (next) => {
          extendedValidity.set(next, maxTtl, attempt);
          for (const node of nodes.all) extension.set(next, underWay, attempt, node);
        },
      );
    }
    for (const node of nodes.all) {
      const owner = key.get(now, node);
      if (extension.get(now, attempt, node) !== underWay || (owner !== 0 && owner !== attempt)) continue;
      if (condition.get(now, node) === forgetful) continue; // It is noticed first.
      step(
        () => `node ${node} ${owner === 0 ? "is repaired" : "extends"} for attempt ${attempt}`,
        (next) => {
          key.set(next, attempt, node);
          keyLives.set(next, maxTtl, node);
          const ownVoteStood =
            attempts.vote.get(now, attempt, node) === yes ||
            this.is("a repair during the quarantine counts where the holder had no vote");
          const counts = condition.get(now, node) !== quarantined || ownVoteStood;
          extension.set(next, counts ? yes : notCounted, attempt, node);
        },
      );
    }
    const extended = nodes.all.filter((node) => extension.get(now, attempt, node) === yes);
    if (extended.length < quorum || validity.get(now, attempt) >= extendedValidity.get(now, attempt)) return;
    if (validity.get(now, attempt) === 0) return;
    step(
      () => `attempt ${attempt} has extended`,
      (next) => validity.set(next, extendedValidity.get(now, attempt), attempt),
    );
  }

  #loseMemory(now: State, step: Step, node: number): void {
    const { key, keyLives, counter, condition, losses } = this.#cells;
    if (losses.get(now) > 0) return;
    step(
      () => `node ${node} restarts and has forgotten everything`,
      (next) => {
        losses.set(next, 1);
        for (const field of [key, keyLives, counter]) field.set(next, 0, node);
        condition.set(next, forgetful, node);
      },
      "fault",
    );
  }

  #guard(now: State, step: Step, node: number): void {
    const { nodes, counter, condition, quarantineLasts, floorRead } = this.#cells;
    const state = condition.get(now, node);
    if (state === forgetful) {
      step(
        () => `a script at node ${node} finds another process: quarantine`,
        (next) => {
          condition.set(next, quarantined, node);
          const tooShort = this.is("the quarantine is shorter than the longest ttl");
          quarantineLasts.set(next, tooShort ? maxTtl - 1 : maxTtl, node);
        },
      );
    }
    if (state === healthy) return;
    const others = nodes.all.filter((other) => other !== node);
    for (const other of others) {
      if (
        floorRead.get(now, other) > 0 ||
        (state !== withoutFloor && !this.is("the floor is read before the quarantine ends"))
      )
        continue;
      step(
        () => `the counter of node ${other} is read for node ${node}: ${counter.get(now, other)}`,
        (next) => floorRead.set(next, counter.get(now, other) + 1, other),
      );
    }
    const read = others.map((other) => floorRead.get(now, other)).filter((floor) => floor > 0);
    if (state !== withoutFloor || read.length < (this.is("the floor is read from a single node") ? 1 : 2))
      return;
    const floor = Math.max(...read) - 1;
    step(
      () => `node ${node} gets its floor: ${floor}`,
      (next) => {
        counter.set(next, Math.max(counter.get(now, node), floor), node);
        condition.set(next, healthy, node);
        floorRead.fill(next, 0);
      },
    );
  }

  /** A tick, the same for all. */
  #tick(next: State): void {
    const { nodes, attempts, key, keyLives, condition, quarantineLasts, validity, extendedValidity } =
      this.#cells;
    for (const node of nodes.all) {
      if (this.#countDown(next, keyLives, node) === 0) key.set(next, 0, node);
      const lasts = this.#countDown(next, quarantineLasts, node);
      if (lasts === 0 && condition.get(next, node) === quarantined) condition.set(next, withoutFloor, node);
    }
    for (const attempt of attempts.all) {
      this.#countDown(next, extendedValidity, attempt);
      if (this.#countDown(next, validity, attempt) > 0) continue;
      // No validity is left, so it is no lock (PROTOCOL 2.5), or none any more.
      if (!attempts.is(voting, next, attempt) && !attempts.is(storing, next, attempt)) continue;
      attempts.giveUp(next, attempt);
      attempts.forgetValues(next, attempt);
    }
  }

  #countDown(next: State, field: Field, index: number): number {
    const left = Math.max(0, field.get(next, index) - 1);
    field.set(next, left, index);
    return left;
  }

  #holds(now: State, attempt: number): boolean {
    const { attempts, validity } = this.#cells;
    return attempts.is(granted, now, attempt) && validity.get(now, attempt) > 0;
  }

  #isRepairedInQuarantine(now: State): boolean {
    const { nodes, key, condition } = this.#cells;
    return nodes.all.some((node) => {
      const owner = key.get(now, node);
      return condition.get(now, node) === quarantined && owner !== 0 && this.#holds(now, owner);
    });
  }

  #isCountedTwice(now: State): boolean {
    const { nodes, attempts, losses } = this.#cells;
    if (losses.get(now) === 0 || attempts.grants(now).length < attempts.all.length) return false;
    return nodes.all.some((node) =>
      attempts.all.every((attempt) => attempts.role.get(now, attempt, node) === counted),
    );
  }
}

type Cells = ReturnType<typeof cellsOf>;

function cellsOf(bounds: GuardBounds) {
  const { layout, nodes } = threeMasters();
  const numbers = layout.sort(2, { interchangeable: bounds.extending !== 1 });
  // The masters. Times are ticks that are left.
  const key = layout.field([nodes], numbers);
  const keyLives = layout.field([nodes]);
  const counter = layout.field([nodes]);
  const condition = layout.field([nodes]);
  const quarantineLasts = layout.field([nodes]);
  const losses = layout.field([]);
  const attempts = new FencedAttempts(layout, nodes, numbers);
  /** Ticks to the deadline, from the send. */
  const validity = layout.field([numbers]);
  const extension = layout.field([numbers, nodes]);
  /** The deadline that the extension would give. */
  const extendedValidity = layout.field([numbers]);
  // The waiter that restores the floor: 1 + the counter of each node that was read, 0 for none.
  const floorRead = layout.field([nodes]);
  return {
    layout,
    nodes,
    attempts,
    key,
    keyLives,
    counter,
    condition,
    quarantineLasts,
    losses,
    validity,
    extension,
    extendedValidity,
    floorRead,
  };
}
