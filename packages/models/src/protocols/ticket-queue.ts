import { FaultBudget } from "../search/fault-budget.ts";
import type { State } from "../search/layout.ts";
import type { Model, Step } from "../search/model.ts";
import { Messages } from "./messages.ts";
import { Protocol } from "./protocol.ts";
import { quorum, threeMasters } from "./three-masters.ts";

/**
 * The ticket queue with grants by the masters (PROTOCOL 2.13, 2.14, 7).
 *
 * Three masters, one resource, waiters whose tickets are their numbers. A waiter asks in rounds, for ever. Requests
 * arrive in any order, late, or never: a connection that is replaced leaves behind requests that may still be
 * executed.
 *
 * There is no time. A key expires as soon as no owner can rely on it: its owner has left, or asks in a later round
 * (whose start stands for the end of the grants of the round before). So this model shows that queue, grants and
 * rounds give no vote to two; other models show that leases end in time.
 *
 * Rounds are renumbered once nothing of the oldest is left: the number of rounds is unlimited, the number of rounds
 * in flight at the same time is not. Until it has a quorum a waiter does nothing with a yes or a push, so it does not
 * read them one by one.
 */
export const queueMutants = [
  "the token is the same in all rounds: an old enrolment yields a newer vote",
  "a leave of an old round deletes a newer vote",
  "a yes or a push for an old round is counted in a later one",
  "a vote that was given up is counted again",
  "the head is handed the key without being told the round",
  "keys never expire",
  "a loser keeps its vote",
] as const;
export type QueueMutant = (typeof queueMutants)[number];

export interface QueueBounds {
  /** For each waiter, how many of its rounds can be about at the same time. */
  readonly rounds: readonly number[];
  /** How much goes wrong: messages lost, waiters that die, give up, leave for a while, or send no heartbeat. */
  readonly faults: number;
  /** Whether connections keep the order, and are never replaced by others. */
  readonly inOrder: boolean;
  /** Whether the search is for two holders, or for states from which a waiter is never served. */
  readonly about: "safety" | "liveness";
}

/** The state of a waiter. */
const waiting = 0;
const holding = 1;
/** Served, given up, or dead. */
const gone = 2;

/** The messages in flight between a waiter and a node, for each round. */
const enrolment = 1;
const grant = 2;
const leave = 4;
const requests = enrolment | leave;

export class TicketQueue extends Protocol<QueueMutant> {
  readonly sights: Model["sights"];
  readonly goal: Model["goal"];
  readonly #bounds: QueueBounds;
  readonly #cells: Cells;

  constructor(bounds: QueueBounds, mutant?: QueueMutant) {
    const cells = cellsOf(bounds);
    super(cells.layout, mutant);
    this.#cells = cells;
    this.#bounds = bounds;
    const last = bounds.rounds.length;
    this.sights = {
      "the waiter with the largest ticket holds the lock": (now) =>
        this.#cells.phase.get(now, last) === holding,
      ...(!bounds.inOrder && {
        "an old enrolment is on its way to a node that votes in a newer round": (now: State) =>
          this.#isOldEnrolmentNear(now),
      }),
    };
    // Reached without any waiter leaving the queue: leaving counts as a fault.
    const reached = (now: State): boolean => this.#present(now) === 0;
    this.goal = bounds.about === "liveness" ? { name: "everyone was served or is gone", reached } : undefined;
  }

  steps(now: State, anyStep: Step): void {
    const { nodes, waiters, rounds, budget } = this.#cells;
    // States without waiters do not matter, and a single waiter cannot meet a second holder.
    if (this.#present(now) < (this.#bounds.about === "safety" ? 2 : 1)) return;
    const step = budget.limited(now, anyStep);
    for (const waiter of waiters.all) {
      this.#nextRound(now, step, waiter);
      this.#proceed(now, step, waiter);
      for (const node of nodes.all) {
        for (const of of rounds.all) {
          this.#enqueue(now, step, waiter, node, of);
          this.#part(now, step, waiter, node, of);
          if (this.#bounds.about === "liveness") this.#lose(now, step, waiter, node, of);
        }
      }
    }
    for (const node of nodes.all) this.#expire(now, step, node);
  }

  violation(now: State): string | undefined {
    const [one, other] = this.#holders(now);
    return other === undefined ? undefined : `waiters ${one} and ${other} hold the lock`;
  }

  /** Whether nothing of `of` or before is in front of it on the connection. */
  #isFirst(now: State, waiter: number, node: number, of: number): boolean {
    const { rounds, messages } = this.#cells;
    return (
      !this.#bounds.inOrder ||
      rounds.all.every((older) => older >= of || !messages.areOnTheirWay(now, requests, waiter, node, older))
    );
  }

  /** A yes, or a push. For an old round it is never counted (PROTOCOL 2.14), so it need not be kept. */
  #sendGrant(next: State, waiter: number, node: number, of: number): void {
    const { phase, round, messages } = this.#cells;
    const current = phase.get(next, waiter) === waiting && round.get(next, waiter) === of;
    const late =
      phase.get(next, waiter) === waiting &&
      this.is("a yes or a push for an old round is counted in a later one");
    if (current || late) messages.send(next, grant, waiter, node, of);
  }

  /** The key goes to the smallest live ticket: by a reply if that is who asks, else by a push. */
  #giveToHead(next: State, node: number, asking?: number): void {
    const { waiters, key, keyRound, entry, round } = this.#cells;
    const head = waiters.all.find((waiter) => entry.get(next, waiter, node) > 0) ?? 0;
    const of = head === 0 ? 0 : entry.get(next, head, node);
    key.set(next, head, node);
    keyRound.set(next, of, node);
    if (head === 0) return;
    const isNamed = head === asking || !this.is("the head is handed the key without being told the round");
    this.#sendGrant(next, head, node, isNamed ? of : round.get(next, head));
  }

  /** Vote, enqueue and yield in one step. My own token counts as free, and is rewritten to the round that asks. */
  #enqueue(now: State, step: Step, waiter: number, node: number, of: number): void {
    const { waiters, key, keyRound, entry, messages } = this.#cells;
    if (!messages.areOnTheirWay(now, enrolment, waiter, node, of) || !this.#isFirst(now, waiter, node, of))
      return;
    const owner = key.get(now, node);
    const newest = Math.max(entry.get(now, waiter, node), owner === waiter ? keyRound.get(now, node) : 0);
    const stale =
      newest > of && !this.is("the token is the same in all rounds: an old enrolment yields a newer vote");
    const outcome = (): string => {
      if (stale) return "which is older than what it knows, so it ignores it";
      const head = waiters.all.find((other) => other === waiter || entry.get(now, other, node) > 0)!;
      if (owner !== 0 && owner !== waiter) return `and refuses, for the key is waiter ${owner}'s`;
      return head === waiter ? "and votes for it" : `and hands the key to waiter ${head}, the head`;
    };
    step(
      () => `node ${node} receives the enrolment of waiter ${waiter}, round ${of}, ${outcome()}`,
      (next) => {
        messages.takeAway(next, enrolment, waiter, node, of);
        if (stale) return;
        entry.set(next, of, waiter, node);
        if (owner === waiter && this.is("a loser keeps its vote")) {
          keyRound.set(next, of, node);
          this.#sendGrant(next, waiter, node, of);
        } else if (owner === 0 || owner === waiter) this.#giveToHead(next, node, waiter);
      },
    );
  }

  /** A release, or a leave: the entry goes, and so does the vote, to the next, if they are of rounds up to this. */
  #part(now: State, step: Step, waiter: number, node: number, of: number): void {
    const { key, keyRound, entry, messages } = this.#cells;
    if (!messages.areOnTheirWay(now, leave, waiter, node, of) || !this.#isFirst(now, waiter, node, of))
      return;
    if (this.#bounds.inOrder && messages.areOnTheirWay(now, enrolment, waiter, node, of)) return;
    const anyRound = this.is("a leave of an old round deletes a newer vote");
    step(
      () => `node ${node} receives that waiter ${waiter} leaves, round ${of}`,
      (next) => {
        messages.takeAway(next, leave, waiter, node, of);
        if (entry.get(now, waiter, node) <= of || anyRound) entry.set(next, 0, waiter, node);
        if (key.get(now, node) === waiter && (keyRound.get(now, node) <= of || anyRound))
          this.#giveToHead(next, node);
      },
    );
  }

  /**
   * A heartbeat, and the response to any failure: the waiter forgets its votes first, then asks again. A waiter that
   * reached too few nodes leaves all queues before (PROTOCOL 7.12).
   */
  #nextRound(now: State, step: Step, waiter: number): void {
    const { nodes, rounds, phase, round, messages } = this.#cells;
    if (phase.get(now, waiter) !== waiting) return;
    const current = round.get(now, waiter);
    const full = current === this.#bounds.rounds[waiter - 1];
    if (full && this.#hasTraces(now, waiter, 1)) return;
    const next = full ? current : current + 1;
    const begin = (state: State): void => {
      if (full) this.#renumber(state, waiter);
      round.set(state, next, waiter);
      for (const node of nodes.all) {
        for (const of of rounds.all)
          if (!this.is("a vote that was given up is counted again"))
            messages.takeAway(state, grant, waiter, node, of);
        messages.send(state, enrolment, waiter, node, next);
      }
    };
    const renumbered = full ? ", with its rounds renumbered" : "";
    step(() => `waiter ${waiter} begins round ${next}${renumbered}`, begin);
    // Nothing is left of what it would leave, if only one round may be about.
    if (current === 0 || next === 1) return;
    step(
      () =>
        `waiter ${waiter} reached too few nodes: it leaves all queues, and begins round ${next}${renumbered}`,
      (state) => {
        begin(state);
        for (const node of nodes.all) messages.send(state, leave, waiter, node, next - 1);
      },
      "fault",
    );
  }

  #hasTraces(now: State, waiter: number, of: number): boolean {
    const { nodes, key, keyRound, entry, messages } = this.#cells;
    return nodes.all.some(
      (node) =>
        messages.areOnTheirWay(now, requests, waiter, node, of) ||
        entry.get(now, waiter, node) === of ||
        (key.get(now, node) === waiter && keyRound.get(now, node) === of),
    );
  }

  /** Round 2 becomes round 1, and so on. Nothing is left of round 1. */
  #renumber(next: State, waiter: number): void {
    const { nodes, rounds, key, keyRound, entry, messages } = this.#cells;
    for (const node of nodes.all) {
      entry.set(next, earlier(entry.get(next, waiter, node)), waiter, node);
      if (key.get(next, node) === waiter) keyRound.set(next, earlier(keyRound.get(next, node)), node);
      for (const of of rounds.all) {
        const left = messages.takeAll(next, waiter, node, of);
        if (of > 1) messages.send(next, left, waiter, node, of - 1);
      }
    }
  }

  /** Nodes whose yes or push the waiter counts: only those of its round. */
  #votes(now: State, waiter: number): number {
    const { nodes, rounds, round, messages } = this.#cells;
    const current = round.get(now, waiter);
    const countsOld =
      this.is("a yes or a push for an old round is counted in a later one") ||
      this.is("a vote that was given up is counted again");
    const counted = rounds.all.filter((of) => of === current || (of < current && countsOld));
    return nodes.all.filter((node) =>
      counted.some((of) => messages.areOnTheirWay(now, grant, waiter, node, of)),
    ).length;
  }

  #proceed(now: State, step: Step, waiter: number): void {
    const { nodes, phase, round, messages } = this.#cells;
    const doing = phase.get(now, waiter);
    const current = round.get(now, waiter);
    const parts = (next: State): void => {
      this.#stop(next, waiter, gone);
      for (const node of nodes.all) messages.send(next, leave, waiter, node, round.get(next, waiter));
    };
    if (doing === waiting && this.#votes(now, waiter) >= quorum) {
      step(
        () => `waiter ${waiter} has a quorum, and holds the lock`,
        (next) => this.#stop(next, waiter, holding),
      );
    }
    if (doing === holding) step(() => `waiter ${waiter} releases`, parts);
    if (doing === waiting && current > 0) {
      step(() => `waiter ${waiter} gives up and leaves`, parts, "fault");
    }
    if (doing !== gone && current > 0) {
      const story = (): string => `waiter ${waiter} dies, or is told that its time is up`;
      step(story, (next) => this.#stop(next, waiter, gone), "fault");
    }
  }

  /** It counts nothing any more. And what is left of one who is gone is of one round: its leave means them all. */
  #stop(next: State, waiter: number, then: number): void {
    const { nodes, rounds, key, keyRound, entry, phase, round, messages } = this.#cells;
    phase.set(next, then, waiter);
    for (const node of nodes.all) {
      for (const of of rounds.all) messages.takeAway(next, grant, waiter, node, of);
      if (then !== gone) continue;
      for (const of of rounds.all) {
        const left = messages.takeAll(next, waiter, node, of);
        messages.send(next, left, waiter, node, 1);
      }
      entry.set(next, Math.min(1, entry.get(next, waiter, node)), waiter, node);
      if (key.get(next, node) === waiter) keyRound.set(next, 1, node);
    }
    if (then === gone) round.set(next, 1, waiter);
  }

  #lose(now: State, step: Step, waiter: number, node: number, of: number): void {
    const { messages } = this.#cells;
    for (const [what, name] of [
      [enrolment, "enrolment"],
      [grant, "yes or push"],
      [leave, "leave"],
    ] as const) {
      if (!messages.areOnTheirWay(now, what, waiter, node, of)) continue;
      step(
        () => `the ${name} of waiter ${waiter}, round ${of}, at node ${node} is lost`,
        (next) => messages.takeAway(next, what, waiter, node, of),
        "fault",
      );
    }
  }

  #expire(now: State, step: Step, node: number): void {
    const { waiters, rounds, key, keyRound, entry, phase, round, messages } = this.#cells;
    const owner = key.get(now, node);
    if (
      owner !== 0 &&
      !this.is("keys never expire") &&
      this.#mayExpire(now, owner, keyRound.get(now, node))
    ) {
      step(
        () => `the key of waiter ${owner}, round ${keyRound.get(now, node)}, expires on node ${node}`,
        (next) => {
          key.set(next, 0, node);
          keyRound.set(next, 0, node);
        },
        // Where messages are never late, what renews or releases it arrives before.
        this.#bounds.inOrder &&
          rounds.all.some((of) => messages.areOnTheirWay(now, requests, owner, node, of))
          ? "fault"
          : undefined,
      );
    }
    for (const waiter of waiters.all) {
      const enrolled = entry.get(now, waiter, node);
      if (enrolled === 0) continue;
      // In time for one whose present heartbeat has not come, too early for one whose heartbeat has.
      const due = phase.get(now, waiter) === gone || enrolled < round.get(now, waiter);
      step(
        () => `no heartbeat of waiter ${waiter} has come to node ${node}: its entry ends`,
        (next) => entry.set(next, 0, waiter, node),
        due ? undefined : "fault",
      );
    }
  }

  /** The owner no longer relies on it. */
  #mayExpire(now: State, owner: number, of: number): boolean {
    const { phase, round } = this.#cells;
    const doing = phase.get(now, owner);
    return doing === gone || (doing === waiting && of < round.get(now, owner));
  }

  #holders(now: State): number[] {
    const { waiters, phase } = this.#cells;
    return waiters.all.filter((waiter) => phase.get(now, waiter) === holding);
  }

  /** How many are neither served nor gone. */
  #present(now: State): number {
    const { waiters, phase } = this.#cells;
    return waiters.all.filter((waiter) => phase.get(now, waiter) !== gone).length;
  }

  #isOldEnrolmentNear(now: State): boolean {
    const { nodes, key, keyRound, messages } = this.#cells;
    return nodes.all.some((node) => {
      const owner = key.get(now, node);
      return (
        owner !== 0 && keyRound.get(now, node) === 2 && messages.areOnTheirWay(now, enrolment, owner, node, 1)
      );
    });
  }
}

/** 0 is no round, and stays so. */
function earlier(of: number): number {
  return Math.max(0, of - 1);
}

type Cells = ReturnType<typeof cellsOf>;

function cellsOf(bounds: QueueBounds) {
  const { layout, nodes } = threeMasters();
  // The one with the smaller number has the smaller ticket.
  const waiters = layout.sort(bounds.rounds.length, { interchangeable: false });
  const rounds = layout.sort(Math.max(...bounds.rounds), { interchangeable: false });
  // The masters. A token is a waiter and a round.
  const key = layout.field([nodes], waiters);
  const keyRound = layout.field([nodes]);
  /** The round that a waiter is enrolled with, 0 if it is not. */
  const entry = layout.field([waiters, nodes]);
  // The waiters.
  const phase = layout.field([waiters]);
  const round = layout.field([waiters]);
  const budget = new FaultBudget(layout, bounds.faults);
  // The network.
  const messages = new Messages(layout, [waiters, nodes, rounds]);
  /** Reached without any waiter leaving the queue: leaving counts as a fault. */
  const goal = {
    name: "everyone was served or is gone",
    reached: (now: State) => waiters.all.every((waiter) => phase.get(now, waiter) === gone),
  };
  return { layout, nodes, waiters, rounds, key, keyRound, entry, phase, round, budget, messages, goal };
}
