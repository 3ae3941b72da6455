import { createHash } from "node:crypto";
import type * as ReadWriteModule from "@quorlock/redlock/read-write-lock";
import type { SourceMutant } from "../mutants/mutant.ts";
import { importMutated } from "../mutants/mutated-client.ts";
import type { ClientModule, Subject } from "../run/subject.ts";
import { readWriteClient, readWriteTraits } from "./read-write-client.ts";
import { knowReadWriteScripts, type ReadWriteRules } from "./twins.ts";

interface ReadWriteMutant extends SourceMutant {
  /** The changed decisions of the scripts, if the edits are in their text. */
  readonly readWriteRules?: Partial<ReadWriteRules>;
}

const scripts = "primitives/read-write-scripts.ts";

/** Each must be found, as the mutants of the client must. */
const readWriteMutants: readonly ReadWriteMutant[] = [
  {
    name: "readers have no expiry of their own",
    edits: [
      {
        file: scripts,
        line: 'redis.call("ZREMRANGEBYSCORE", readersKey, "-inf", "(" .. now)',
        instead: "",
      },
      {
        file: scripts,
        line: 'if redis.call("PTTL", readersKey) < expiry - now then redis.call("PEXPIRE", readersKey, expiry - now) end',
        instead: 'redis.call("PEXPIRE", readersKey, expiry - now)',
      },
    ],
    readWriteRules: { readersExpireThemselves: false },
  },
  {
    name: "the write claim stands during the downgrade",
    edits: [
      {
        file: "primitives/read-write-lock.ts",
        line: "void writing.releaseOnce(() => {",
        instead:
          'const release = (): void => void writing.releaseOnce(() => Promise.resolve(new Released("released", context.nodes)));\n    void (() => {',
      },
      {
        file: "primitives/read-write-lock.ts",
        line: 'return Promise.resolve(new Released("released", context.nodes));\n    });',
        instead: "confirmed.then(release, release);\n    })();",
      },
    ],
  },
  {
    name: "a writer does not look for readers",
    edits: [{ file: scripts, line: "if last then", instead: "if false then" }],
    readWriteRules: { writerSeesReaders: false },
  },
  {
    name: "a reader does not look for the writer",
    edits: [{ file: scripts, line: "elseif writer then", instead: "elseif false then" }],
    readWriteRules: { readerSeesWriter: false },
  },
  {
    name: "a downgrade only gives up the writer's key",
    edits: [
      {
        file: scripts,
        line: 'redis.call("ZADD", readersKey, expiry, token)',
        instead: 'if writer ~= token then redis.call("ZADD", readersKey, expiry, token) end',
      },
    ],
    readWriteRules: { swapMakesReader: false },
  },
  {
    name: "a writer that gives up removes the queue entries of all",
    edits: [
      {
        file: scripts,
        line: 'return redis.call("ZREM", KEYS[3], ARGV[1])',
        instead: 'return redis.call("DEL", KEYS[3])',
      },
    ],
    readWriteRules: { withdrawsItself: false },
  },
];

/** To be found where the masters' clocks are watched, and some of them are set. */
const watchedMutants: readonly ReadWriteMutant[] = [
  {
    name: "the votes of readers and writers skip the clock watch",
    edits: [
      {
        file: "redis/redis-node.ts",
        line: `this.#withReading(call.claim!.ttl, call.purpose, onVote, (onAnswer, onSent) => {
      void this.#scriptCalls.run(call, onSent).then(onAnswer);
    });`,
        instead: "void this.#scriptCalls.run(call).then(onVote);",
      },
    ],
  },
];

export const readWriteMutantNames: readonly string[] = readWriteMutants.map(({ name }) => name);
export const watchedReadWriteMutantNames: readonly string[] = watchedMutants.map(({ name }) => name);

/** The mutant of this name, if there is one. */
export async function readWriteMutant(name: string): Promise<Subject | undefined> {
  const mutant = [...readWriteMutants, ...watchedMutants].find((candidate) => candidate.name === name);
  if (!mutant) return undefined;
  const client = await importMutated<ClientModule & typeof ReadWriteModule>(
    mutant,
    'export * from "./primitives/read-write-lock.ts";',
  );
  if (mutant.readWriteRules) {
    for (const script of Object.values(client.readWriteScripts) as { source: string; sha1: string }[])
      script.sha1 = createHash("sha1").update(script.source).digest("hex");
    knowReadWriteScripts(client.readWriteScripts, mutant.readWriteRules);
  }
  return { name, ...readWriteTraits, create: readWriteClient(client, client.ReadWriteLock) };
}
