import type * as SemaphoreModule from "@quorlock/redlock/semaphore";
import type { Mutant } from "../mutants/mutant.ts";
import { importMutated } from "../mutants/mutated-client.ts";
import { type ClientModule, clientOf, type Subject } from "../run/subject.ts";
import { perNodeLimit } from "./per-node-limit.ts";
import { semaphoresOf, semaphoreTraits } from "./semaphore-client.ts";

/** Each must be found, as the mutants of the client must. */
export const semaphoreMutants: readonly Mutant[] = [
  {
    name: "a slot more than the limit",
    breaks: ["10.1"],
    edits: { "primitives/semaphore-slots.ts constructor #limit value": "limit + 1" },
  },
  {
    name: "several permits are one slot",
    breaks: ["10.1"],
    edits: { "primitives/semaphore.ts #tryFreeSlots take": "this.#slots.take(1, refused)" },
  },
  {
    name: "slots are kept beside the lock that they became",
    breaks: ["10.2"],
    edits: { "primitives/semaphore.ts #acquireFreedSlots release": "lock" },
  },
];

export const semaphoreMutantNames: readonly string[] = [
  perNodeLimit.name,
  ...semaphoreMutants.map(({ name }) => name),
];

/** The mutant of this name, if there is one. */
export async function semaphoreMutant(name: string): Promise<Subject | undefined> {
  if (name === perNodeLimit.name) return perNodeLimit;
  const mutant = semaphoreMutants.find((candidate) => candidate.name === name);
  if (!mutant) return undefined;
  const client = await importMutated<ClientModule & typeof SemaphoreModule>(
    mutant,
    'export * from "./primitives/semaphore.ts";',
  );
  return {
    name,
    ...semaphoreTraits,
    create: (connections, runtime, settings) =>
      semaphoresOf(clientOf(client, connections, runtime, settings), client.Semaphore),
  };
}
