import type { Check } from "./check.ts";
import { fencing, type FencingMutant } from "./protocols/fencing.ts";
import { readersWriter, type ReadersWriterMutant } from "./protocols/readers-writer.ts";
import { type GuardMutant, restartGuard } from "./protocols/restart-guard.ts";
import { semaphore, type SemaphoreMutant } from "./protocols/semaphore.ts";
import { type QueueMutant, ticketQueue } from "./protocols/ticket-queue.ts";
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
  readonly mutants?: readonly Mutant[];
}

function check<Mutant extends string>(protocol: string, parts: Parts<Mutant>): Check {
  const { model, mutants = [], ...rest } = parts;
  return {
    ...rest,
    protocol,
    model: () => model(),
    mutants: mutants.map((name) => ({ name, model: () => model(name) })),
  };
}

function fencingChecks(): Check[] {
  const fencingCheck = (parts: Parts<FencingMutant>): Check => check("fencing", parts);
  return [
    fencingCheck({
      bounds: "two attempts",
      level: "quick",
      limit: 1_000_000,
      // Proposals below, at and above what a counter may have been before.
      model: (mutant) => fencing({ waiters: [1, 2], proposals: [1, 2, 3], counters: [0, 2] }, mutant),
      mutants: [
        "the token is the largest of per-node INCRs",
        "round two stores without looking whose the key is",
        "round two stores nothing",
        "an acknowledgement counts though the counter was not below the token",
      ],
    }),
    fencingCheck({
      bounds: "two attempts, one of them asks twice",
      level: "usual",
      limit: 3_000_000,
      model: (mutant) => fencing({ waiters: [1, 1, 2], proposals: [1, 2], counters: [0] }, mutant),
      mutants: ["the fast path counts yeses to votes with another proposal"],
    }),
    fencingCheck({
      bounds: "three attempts",
      level: "deep",
      limit: 5_000_000,
      model: () => fencing({ waiters: [1, 2, 3], proposals: [1, 2], counters: [0] }),
    }),
  ];
}

function guardChecks(): Check[] {
  const guardCheck = (parts: Parts<GuardMutant>): Check => check("restart guard", parts);
  return [
    guardCheck({
      bounds: "two attempts with the same proposal, one may extend",
      level: "quick",
      limit: 2_000_000,
      model: (mutant) => restartGuard({ proposals: [1], extending: 1 }, mutant),
      mutants: [
        "votes are accepted during the quarantine",
        "the quarantine is shorter than the longest ttl",
        "the key is handed over during the quarantine",
        "the floor is read before the quarantine ends",
        "the floor is read from a single node",
        "votes do not wait for the floor",
      ],
    }),
    guardCheck({
      bounds: "two attempts, one may extend",
      level: "usual",
      limit: 4_000_000,
      model: (mutant) => restartGuard({ proposals: [1, 2], extending: 1 }, mutant),
      mutants: ["a repair during the quarantine counts where the holder had no vote"],
    }),
    guardCheck({
      bounds: "two attempts, both may extend",
      level: "deep",
      limit: 15_000_000,
      model: () => restartGuard({ proposals: [1, 2], extending: 2 }),
    }),
  ];
}

function queueChecks(): Check[] {
  const queueCheck = (parts: Parts<QueueMutant>): Check => check("ticket queue", parts);
  const two = [2, 2];
  return [
    queueCheck({
      bounds: "two waiters, messages late and out of order",
      level: "quick",
      limit: 500_000,
      model: (mutant) => ticketQueue({ rounds: two, faults: 0, inOrder: false, about: "safety" }, mutant),
      mutants: [
        "the token is the same in all rounds: an old enrolment yields a newer vote",
        "a push for an old round is counted in a later one",
        "a vote that was given up is counted again",
        "the head is handed the key without being told the round",
      ],
    }),
    queueCheck({
      bounds: "two waiters, messages late and out of order, one fault",
      level: "usual",
      limit: 2_000_000,
      model: (mutant) => ticketQueue({ rounds: two, faults: 1, inOrder: false, about: "safety" }, mutant),
      mutants: ["a leave of an old round deletes a newer vote"],
    }),
    queueCheck({
      bounds: "two waiters, one fault; is everyone served?",
      level: "quick",
      limit: 1_000_000,
      model: (mutant) => ticketQueue({ rounds: two, faults: 1, inOrder: true, about: "liveness" }, mutant),
      mutants: ["keys never expire"],
    }),
    queueCheck({
      bounds: "three waiters; is everyone served?",
      level: "quick",
      limit: 1_000_000,
      model: (mutant) => ticketQueue({ rounds: [1, 1, 2], faults: 0, inOrder: true, about: "liveness" }, mutant),
      mutants: ["a loser keeps its vote"],
    }),
    queueCheck({
      bounds: "three waiters, messages late and out of order",
      level: "usual",
      limit: 2_000_000,
      model: () => ticketQueue({ rounds: [1, 1, 2], faults: 0, inOrder: false, about: "safety" }),
    }),
    queueCheck({
      bounds: "two waiters, messages late and out of order, two faults",
      level: "deep",
      limit: 20_000_000,
      model: () => ticketQueue({ rounds: two, faults: 2, inOrder: false, about: "safety" }),
    }),
    queueCheck({
      bounds: "two waiters, messages late and out of order; is everyone served?",
      level: "deep",
      limit: 20_000_000,
      model: () => ticketQueue({ rounds: two, faults: 1, inOrder: false, about: "liveness" }),
    }),
  ];
}

function semaphoreChecks(): Check[] {
  return [3, 4].map((attempts) =>
    check<SemaphoreMutant>("semaphore", {
      bounds: `two permits, ${attempts} attempts`,
      level: attempts === 3 ? "quick" : "usual",
      limit: 500_000,
      model: (mutant) => semaphore({ attempts }, mutant),
      mutants: ["each node admits as many as there are permits"],
    }),
  );
}

function readersWriterChecks(): Check[] {
  const rwCheck = (parts: Parts<ReadersWriterMutant>): Check => check("readers-writer", parts);
  return [
    rwCheck({
      bounds: "two readers and a writer",
      level: "quick",
      limit: 1_000_000,
      model: (mutant) => readersWriter({ faults: 0 }, mutant),
      mutants: [
        "the readers of a node share one expiry, that of the last to come",
        "the write claim stands during the downgrade",
        "readers upgrade by waiting for each other to leave",
      ],
    }),
    rwCheck({
      bounds: "two readers and a writer, one fault",
      level: "usual",
      limit: 1_000_000,
      model: () => readersWriter({ faults: 1 }),
    }),
    rwCheck({
      bounds: "two readers and a writer, three faults",
      level: "deep",
      limit: 10_000_000,
      model: () => readersWriter({ faults: 3 }),
    }),
  ];
}
