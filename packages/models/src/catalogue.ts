import type { Check } from "./check.ts";
import { Fencing, type FencingMutant } from "./protocols/fencing.ts";
import { ReadersWriter, type ReadersWriterMutant } from "./protocols/readers-writer.ts";
import { type GuardMutant, RestartGuard } from "./protocols/restart-guard.ts";
import { Semaphore, type SemaphoreMutant } from "./protocols/semaphore.ts";
import { type QueueMutant, TicketQueue } from "./protocols/ticket-queue.ts";
import type { Model } from "./search/model.ts";

/** Everything that is searched, and within which bounds. */
export const catalogue: readonly Check[] = [
  ...fencingChecks(),
  ...guardChecks(),
  ...queueChecks(),
  ...semaphoreChecks(),
  ...readersWriterChecks(),
];

interface Parts<Mutant extends string> extends Omit<Check, "protocol" | "model" | "mutants"> {
  readonly model: (mutant?: Mutant) => Model;
  /** Their names, and the rule of docs/protocol.md that each breaks. */
  readonly mutants?: Readonly<Partial<Record<Mutant, string>>>;
}

function check<Mutant extends string>(protocol: string, parts: Parts<Mutant>): Check {
  const { model, mutants = {}, ...rest } = parts;
  return {
    ...rest,
    protocol,
    model: () => model(),
    mutants: (Object.entries(mutants) as [Mutant, string][]).map(([name, breaks]) => ({
      name,
      breaks,
      model: () => model(name),
    })),
  };
}

function fencingChecks(): Check[] {
  return [
    check<FencingMutant>("fencing", {
      bounds: "two attempts",
      level: "quick",
      limit: 1_000_000,
      // Proposals below, at and above what a counter may have been before.
      model: (mutant) => new Fencing({ waiters: [1, 2], proposals: [1, 2, 3], counters: [0, 2] }, mutant),
      mutants: {
        "the token is the largest of per-node INCRs": "8.1",
        "round two stores without looking whose the key is": "8.2",
        "round two stores nothing": "8.2",
        "an acknowledgement counts though the counter was not below the token": "8.3",
      },
    }),
    check<FencingMutant>("fencing", {
      bounds: "two attempts, one of them asks twice",
      level: "usual",
      limit: 3_000_000,
      model: (mutant) => new Fencing({ waiters: [1, 1, 2], proposals: [1, 2], counters: [0] }, mutant),
      mutants: { "the fast path counts yeses to votes with another proposal": "8.3" },
    }),
    check<FencingMutant>("fencing", {
      bounds: "three attempts",
      level: "deep",
      limit: 5_000_000,
      model: () => new Fencing({ waiters: [1, 2, 3], proposals: [1, 2], counters: [0] }),
    }),
  ];
}

function guardChecks(): Check[] {
  return [
    check<GuardMutant>("restart guard", {
      bounds: "two attempts with the same proposal, one may extend",
      level: "quick",
      limit: 2_000_000,
      model: (mutant) => new RestartGuard({ proposals: [1], extending: 1 }, mutant),
      mutants: {
        "votes are accepted during the quarantine": "9.1",
        "the quarantine is shorter than the longest ttl": "9.8",
        "the key is handed over during the quarantine": "9.6",
        "the floor is read before the quarantine ends": "8.8",
        "the floor is read from a single node": "8.8",
        "votes do not wait for the floor": "8.8",
      },
    }),
    check<GuardMutant>("restart guard", {
      bounds: "two attempts, one may extend",
      level: "usual",
      limit: 4_000_000,
      model: (mutant) => new RestartGuard({ proposals: [1, 2], extending: 1 }, mutant),
      mutants: { "a repair during the quarantine counts where the holder had no vote": "9.7" },
    }),
    check<GuardMutant>("restart guard", {
      bounds: "two attempts, both may extend",
      level: "deep",
      limit: 15_000_000,
      model: () => new RestartGuard({ proposals: [1, 2], extending: 2 }),
    }),
  ];
}

function queueChecks(): Check[] {
  const two = [2, 2];
  return [
    check<QueueMutant>("ticket queue", {
      bounds: "two waiters, messages late and out of order",
      level: "quick",
      limit: 500_000,
      model: (mutant) => new TicketQueue({ rounds: two, faults: 0, inOrder: false, about: "safety" }, mutant),
      mutants: {
        "the token is the same in all rounds: an old enrolment yields a newer vote": "2.13",
        "a yes or a push for an old round is counted in a later one": "2.14",
        "a vote that was given up is counted again": "7.9",
        "the head is handed the key without being told the round": "7.4",
      },
    }),
    check<QueueMutant>("ticket queue", {
      bounds: "two waiters, messages late and out of order, one fault",
      level: "usual",
      limit: 2_000_000,
      model: (mutant) => new TicketQueue({ rounds: two, faults: 1, inOrder: false, about: "safety" }, mutant),
      mutants: { "a leave of an old round deletes a newer vote": "7.10" },
    }),
    check<QueueMutant>("ticket queue", {
      bounds: "two waiters, one fault; is everyone served?",
      level: "quick",
      limit: 1_000_000,
      model: (mutant) =>
        new TicketQueue({ rounds: two, faults: 1, inOrder: true, about: "liveness" }, mutant),
      mutants: { "keys never expire": "7.10" },
    }),
    check<QueueMutant>("ticket queue", {
      bounds: "three waiters; is everyone served?",
      level: "quick",
      limit: 1_000_000,
      model: (mutant) =>
        new TicketQueue({ rounds: [1, 1, 2], faults: 0, inOrder: true, about: "liveness" }, mutant),
      mutants: { "a loser keeps its vote": "7.8" },
    }),
    check<QueueMutant>("ticket queue", {
      bounds: "three waiters, messages late and out of order",
      level: "usual",
      limit: 2_000_000,
      model: () => new TicketQueue({ rounds: [1, 1, 2], faults: 0, inOrder: false, about: "safety" }),
    }),
    check<QueueMutant>("ticket queue", {
      bounds: "two waiters, messages late and out of order, two faults",
      level: "deep",
      limit: 20_000_000,
      model: () => new TicketQueue({ rounds: two, faults: 2, inOrder: false, about: "safety" }),
    }),
    check<QueueMutant>("ticket queue", {
      bounds: "two waiters, messages late and out of order; is everyone served?",
      level: "deep",
      limit: 20_000_000,
      model: () => new TicketQueue({ rounds: two, faults: 1, inOrder: false, about: "liveness" }),
    }),
  ];
}

function semaphoreChecks(): Check[] {
  return [3, 4].map((attempts) =>
    check<SemaphoreMutant>("semaphore", {
      bounds: `two permits, ${attempts} attempts`,
      level: attempts === 3 ? "quick" : "usual",
      limit: 500_000,
      model: (mutant) => new Semaphore({ attempts }, mutant),
      mutants: { "each node admits as many as there are permits": "10.1" },
    }),
  );
}

function readersWriterChecks(): Check[] {
  return [
    check<ReadersWriterMutant>("readers-writer", {
      bounds: "two readers and a writer",
      level: "quick",
      limit: 1_000_000,
      model: (mutant) => new ReadersWriter({ faults: 0 }, mutant),
      mutants: {
        "the readers of a node share one expiry, that of the last to come": "10.3",
        "the write claim stands during the downgrade": "10.5",
        "readers upgrade by waiting for each other to leave": "10.5",
      },
    }),
    check<ReadersWriterMutant>("readers-writer", {
      bounds: "two readers and a writer, one fault",
      level: "usual",
      limit: 1_000_000,
      model: () => new ReadersWriter({ faults: 1 }),
    }),
    check<ReadersWriterMutant>("readers-writer", {
      bounds: "two readers and a writer, three faults",
      level: "deep",
      limit: 1_000_000,
      model: () => new ReadersWriter({ faults: 3 }),
    }),
  ];
}
