import { everyMutant } from "../mutants/every-mutant.ts";
import { mutatedClient } from "../mutants/mutated-client.ts";
import { readWriteMutant } from "../read-write/mutants.ts";
import { theReadWriteLock } from "../read-write/read-write-client.ts";
import { type Subject, theClient } from "../run/subject.ts";
import type { ScenarioSubject } from "../scenarios/evidence.ts";
import { semaphoreMutant, semaphoreMutantNames } from "../semaphore/mutants.ts";
import { theSemaphore } from "../semaphore/semaphore-client.ts";
import { redlock5 } from "./redlock-5.ts";

/** The names of the subjects that are no mutants. */
export const subjectNames: readonly string[] = ["quorlock", "redlock-5", "semaphore", "read-write-lock"];

/** The names of all mutants. */
export function mutantNames(): string[] {
  return [...new Set([...everyMutant.map(({ name }) => name), ...semaphoreMutantNames])];
}

/** The client, a peer, or a mutant by its own name; nothing where there is none of that name. */
export async function subjectNamed(name: string): Promise<Subject | undefined> {
  if (name === "quorlock") return theClient;
  if (name === "redlock-5") return redlock5();
  if (name === "semaphore") return theSemaphore;
  if (name === "read-write-lock") return theReadWriteLock;
  const other = (await semaphoreMutant(name)) ?? (await readWriteMutant(name));
  if (other) return other;
  const mutant = everyMutant.find((candidate) => candidate.name === name);
  return mutant && mutatedClient(mutant);
}

/** The subjects of every scenario. */
export async function scenarioImplementations(): Promise<Readonly<Record<ScenarioSubject, Subject>>> {
  return { quorlock: theClient, "redlock-5": await redlock5() };
}
