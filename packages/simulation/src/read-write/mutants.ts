import type * as ReadWriteModule from "@quorlock/redlock/read-write-lock";
import type { Mutant } from "../mutants/mutant.ts";
import { importMutated, renew } from "../mutants/mutated-client.ts";
import type { ClientModule, Subject } from "../run/subject.ts";
import { readWriteClient, readWriteTraits } from "./read-write-client.ts";
import { knowReadWriteScripts, type ReadWriteRules } from "./twins.ts";

interface ReadWriteMutant extends Mutant {
  /** The scripts of readers and writers decide otherwise. */
  readonly readWriteRules?: Partial<ReadWriteRules>;
}

/** Sends at once, and ends the write claim only when that is confirmed. */
const releaseAfterwards = (releaseOnce: string): string => `(send: () => Promise<Released>) => {
  const sent = send();
  const release = (): void => void ${releaseOnce}(() => sent);
  confirmed.then(release, release);
}`;

/** Each must be found, as the mutants of the client must. */
export const readWriteMutants: readonly ReadWriteMutant[] = [
  {
    name: "readers have no expiry of their own",
    breaks: ["10.3"],
    readWriteRules: { readersExpireThemselves: false },
  },
  {
    name: "the write claim stands during the downgrade",
    breaks: ["10.5"],
    edits: { "primitives/read-write-lock.ts 10.5 releaseOnce callee": releaseAfterwards },
  },
  {
    name: "a writer does not look for readers",
    breaks: ["10.3"],
    readWriteRules: { writerSeesReaders: false },
  },
  {
    name: "a reader does not look for the writer",
    breaks: ["10.3"],
    readWriteRules: { readerSeesWriter: false },
  },
  {
    name: "a downgrade only gives up the writer's key",
    breaks: ["10.5"],
    readWriteRules: { swapMakesReader: false },
  },
  {
    name: "a writer that gives up removes the queue entries of all",
    breaks: ["10.4"],
    readWriteRules: { withdrawsItself: false },
  },
  {
    name: "a writer that few masters answer keeps readers out",
    breaks: ["10.4"],
    edits: { "primitives/read-write-masters.ts onVoted isWithinReach value": 'hindrance !== "late"' },
  },
  {
    name: "a writer whose votes come too late keeps readers out",
    breaks: ["10.4"],
    edits: { "primitives/read-write-masters.ts onVoted isWithinReach value": 'hindrance !== "cut off"' },
  },
];

/** To be found where the masters' clocks are watched, and some of them are set. */
export const watchedReadWriteMutants: readonly ReadWriteMutant[] = [
  {
    name: "the votes of readers and writers skip the clock watch",
    breaks: ["11.4"],
    edits: {
      "redis/redis-node.ts ask #isPlain": "operation.family !== undefined || this.#isPlain",
    },
  },
];

export const readWriteMutantNames: readonly string[] = readWriteMutants.map(({ name }) => name);
export const watchedReadWriteMutantNames: readonly string[] = watchedReadWriteMutants.map(({ name }) => name);

/** The mutant of this name, if there is one. */
export async function readWriteMutant(name: string): Promise<Subject | undefined> {
  const mutant = [...readWriteMutants, ...watchedReadWriteMutants].find(
    (candidate) => candidate.name === name,
  );
  if (!mutant) return undefined;
  const client = await importMutated<ClientModule & typeof ReadWriteModule>(
    mutant,
    'export * from "./primitives/read-write-lock.ts";',
  );
  if (mutant.readWriteRules) {
    for (const script of Object.values(client.readWriteScripts)) renew(script, name);
    knowReadWriteScripts(client.readWriteScripts, mutant.readWriteRules);
  }
  return { name, ...readWriteTraits, create: readWriteClient(client, client.ReadWriteLock) };
}
