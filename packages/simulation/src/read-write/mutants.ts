import type { Mutant } from "../mutants/mutant.ts";
import { mixedSubject, readWriteSubject } from "./read-write-client.ts";

const readWriteRows: readonly Mutant[] = [
  {
    name: "readers have no expiry of their own",
    breaks: ["10.3"],
    rules: { readersExpireThemselves: false },
  },
  {
    name: "the write claim stands during the downgrade",
    from: 12,
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
    from: 7,
    breaks: ["8.2"],
    edits: { "protocol/fencing.ts tokenOf max": "proposal" },
  },
  { name: "a key is granted beside those who hold it", breaks: ["10.4"], rules: { grantsWhatIsFree: false } },
  {
    name: "the vote of a reader is granted beside writers that wait",
    from: 19,
    breaks: ["10.4"],
    rules: { waitersRefuseReaders: false },
  },
  {
    name: "a reader that waits passes the writers before it",
    from: 30,
    breaks: ["7.3", "10.4"],
    rules: { takesTurns: (isShared) => !isShared },
  },
  {
    name: "a writer that waits passes those before it",
    from: 70,
    breaks: ["7.3"],
    rules: { takesTurns: (isShared) => isShared },
  },
];

const mixedRows: readonly Mutant[] = [
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

export const readWriteMutants: readonly Mutant[] = readWriteRows.map((row) => ({
  ...row,
  subjectOf: readWriteSubject,
}));

/** To be found where the only master is a Cluster, whose slot moves. */
export const undeclaredMutant: Mutant = {
  name: "a script of readers and writers declares only the key that it claims",
  breaks: ["12.6"],
  edits: { "redis/commands.ts encodeAnew 12.6 value": "[]" },
  subjectOf: readWriteSubject,
};

/** To be found where a client uses exclusive locks beside these, and reads the masters' clocks. */
export const mixedBatchMutants: readonly Mutant[] = mixedRows.map((row) => ({
  ...row,
  subjectOf: mixedSubject,
}));
