import { everyMutant } from "../mutants/every-mutant.ts";
import { mutatedClient } from "../mutants/mutated-client.ts";
import { theOnce } from "../once/once-client.ts";
import { theMixedSubject, theReadWriteLock } from "../read-write/read-write-client.ts";
import { type Subject, theClient } from "../run/subject.ts";
import type { ScenarioSubject } from "../scenarios/evidence.ts";
import { perNodeLimit } from "../semaphore/per-node-limit.ts";
import { theSemaphore } from "../semaphore/semaphore-client.ts";
import { redlock5 } from "./redlock-5.ts";

/** The names of the subjects that are no mutants. */
export const subjectNames: readonly string[] = [
  "quorlock",
  "redlock-5",
  "semaphore",
  "read-write-lock",
  "once",
];

/** The names of all mutants. */
export function mutantNames(): string[] {
  return [perNodeLimit.name, ...everyMutant.map(({ name }) => name)];
}

/** The client, a peer, or a mutant by its own name; nothing where there is none of that name. */
export async function subjectNamed(name: string): Promise<Subject | undefined> {
  if (name === "redlock-5") return redlock5();
  if (name === "quorlock") return theClient;
  const primitives = [theSemaphore, theReadWriteLock, theOnce, theMixedSubject, perNodeLimit];
  const primitive = primitives.find((subject) => subject.name === name);
  if (primitive) return primitive;
  const mutant = everyMutant.find((candidate) => candidate.name === name);
  return mutant && mutatedClient(mutant);
}

/** The subjects of every scenario. */
export async function scenarioImplementations(): Promise<Readonly<Record<ScenarioSubject, Subject>>> {
  return { quorlock: theClient, "redlock-5": await redlock5() };
}
