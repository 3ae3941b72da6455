import { guardMutants, slowBootMutants } from "../mutants/guard-mutants.ts";
import { mutants, rareMutants } from "../mutants/mutants.ts";
import { mutatedClient } from "../mutants/mutated-client.ts";
import { sharedServerMutants } from "../mutants/shared-server-mutants.ts";
import { outlierMutants, watchMutants } from "../mutants/watch-mutants.ts";
import { readWriteMutant, readWriteMutantNames, watchedReadWriteMutantNames } from "../read-write/mutants.ts";
import { theReadWriteLock } from "../read-write/read-write-client.ts";
import { type Subject, theClient } from "../run/subject.ts";
import type { ScenarioSubject } from "../scenarios/evidence.ts";
import { semaphoreMutant, semaphoreMutantNames } from "../semaphore/mutants.ts";
import { theSemaphore } from "../semaphore/semaphore-client.ts";
import { redlock5 } from "./redlock-5.ts";

/** The names of the subjects that are no mutants. */
export const subjectNames: readonly string[] = ["quorlock", "redlock-5", "semaphore", "read-write-lock"];

const clientMutants = [
  ...mutants,
  ...rareMutants,
  ...guardMutants,
  ...slowBootMutants,
  ...watchMutants,
  ...outlierMutants,
  ...sharedServerMutants,
];

/** The names of all mutants. */
export function mutantNames(): string[] {
  const ofClient = clientMutants.map(({ name }) => name);
  return [...ofClient, ...semaphoreMutantNames, ...readWriteMutantNames, ...watchedReadWriteMutantNames];
}

/** The client, a peer, or a mutant by its own name; nothing where there is none of that name. */
export async function subjectNamed(name: string): Promise<Subject | undefined> {
  if (name === "quorlock") return theClient;
  if (name === "redlock-5") return redlock5();
  if (name === "semaphore") return theSemaphore;
  if (name === "read-write-lock") return theReadWriteLock;
  const mutant = clientMutants.find((candidate) => candidate.name === name);
  if (mutant) return mutatedClient(mutant);
  return (await semaphoreMutant(name)) ?? readWriteMutant(name);
}

/** The subjects of every scenario. */
export async function scenarioImplementations(): Promise<Readonly<Record<ScenarioSubject, Subject>>> {
  return { quorlock: theClient, "redlock-5": await redlock5() };
}
