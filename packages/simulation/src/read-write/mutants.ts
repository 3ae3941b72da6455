import type * as ReadWriteModule from "@quorlock/redlock/read-write-lock";
import type { Mutant } from "../mutants/mutant.ts";
import { importMutated, knowScripts } from "../mutants/mutated-client.ts";
import type { ClientModule, Subject } from "../run/subject.ts";
import { mixedSubject, readWriteClient, readWriteTraits } from "./read-write-client.ts";

/** Each must be found, as the mutants of the client must. */
export const readWriteMutants: readonly Mutant[] = [
  {
    name: "readers have no expiry of their own",
    breaks: ["10.3"],
    rules: { readersExpireThemselves: false },
  },
  {
    name: "the write claim stands during the downgrade",
    breaks: ["10.5"],
    edits: {
      "primitives/read-write-lock.ts 10.5 end": "undefined",
      "primitives/read-write-lock.ts 10.5 confirmed": (sent) =>
        `${sent} void confirmed.catch(() => {}).then(() => writing.end());`,
    },
  },
  { name: "a writer does not look for readers", breaks: ["10.3"], rules: { writerSeesReaders: false } },
  { name: "a reader does not look for the writer", breaks: ["10.3"], rules: { readerSeesWriter: false } },
  {
    name: "a downgrade only gives up the writer's key",
    breaks: ["10.5"],
    rules: { downgradeMakesReader: false },
  },
  {
    name: "a reader is let in beside the mark of a writer",
    breaks: ["10.8"],
    rules: { markKeepsReadersOut: false },
  },
  {
    name: "a writer that stops retrying removes the marks of all",
    breaks: ["10.8"],
    rules: { removesOwnMark: false },
  },
  {
    name: "a writer is given its proposal, whatever the masters had",
    breaks: ["8.2"],
    edits: { "protocol/fencing.ts tokenOf max": "proposal" },
  },
  { name: "a key is granted beside those who hold it", breaks: ["10.4"], rules: { grantsWhatIsFree: false } },
  {
    name: "the vote of a reader is granted beside writers that wait",
    breaks: ["10.4"],
    rules: { waitersRefuseReaders: false },
  },
  {
    name: "a reader that waits passes the writers before it",
    breaks: ["7.3", "10.4"],
    rules: { takesTurns: (isShared) => !isShared },
  },
  {
    name: "a writer that waits passes those before it",
    breaks: ["7.3"],
    rules: { takesTurns: (isShared) => isShared },
  },
];

/** Each must be found where a client uses exclusive locks beside these, and reads the masters' clocks. */
export const mixedBatchMutants: readonly Mutant[] = [
  {
    name: "a batch is by one script, whatever locks it is for",
    breaks: ["10.3"],
    edits: { "redis/commands.ts needsOtherScript body": "{ return false; }" },
  },
  {
    name: "behind a time read a batch takes locks of any kind",
    breaks: ["10.3"],
    from: 5,
    edits: {
      "redis/pipeline.ts batchOfAll body": (body) =>
        body.replace("if (operation.keys.length > 0) other =", "other ="),
    },
  },
];

/** The client of such a mutant. */
export async function mixedMutant(mutant: Mutant): Promise<Subject> {
  const client = await importOf(mutant);
  return mixedSubject(client, client.ReadWriteLock);
}

export const readWriteMutantNames: readonly string[] = readWriteMutants.map(({ name }) => name);

/** The mutant of this name, if there is one. */
export async function readWriteMutant(name: string): Promise<Subject | undefined> {
  const mutant = readWriteMutants.find((candidate) => candidate.name === name);
  if (!mutant) return undefined;
  const client = await importOf(mutant);
  if (mutant.rules) knowScripts(client, name, mutant.rules);
  return { name, ...readWriteTraits, create: readWriteClient(client, client.ReadWriteLock) };
}

function importOf(mutant: Mutant): Promise<ClientModule & typeof ReadWriteModule> {
  return importMutated(mutant, 'export * from "./primitives/read-write-lock.ts";');
}
