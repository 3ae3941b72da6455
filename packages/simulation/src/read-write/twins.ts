import type { readWriteScripts } from "@quorlock/redlock/read-write-lock";
import type { Reply } from "../master/reply.ts";
import { masked } from "../master/twins/claims.ts";
import { makeKnown } from "../master/twins/script-twins.ts";
import type { Call, Twin } from "../master/twins/twin.ts";
import { nameScript } from "../run/moments.ts";

// The scripts of readers and writers in TypeScript, line by line; see `twinScripts`.

export type ReadWriteScriptName = keyof typeof readWriteScripts;

/** SHA-1 of the texts that the twins were written from. */
export const writtenFrom: Readonly<Record<ReadWriteScriptName, string>> = {
  read: "78a203a49a4c2c38cc1044478d1cbdf067c1063f",
  write: "aab3a73051f8b88fe2bb36f2b3c714fce3df6f59",
  release: "02b8ca17ce57309bc3626a7b83b54b727ae10841",
  withdraw: "49481ada24717e6c959b8c46698d18b964c8dea9",
};

/** The decisions of the scripts; mutants change them. */
export interface ReadWriteRules {
  /** Whether each reader is gone when its own time is over, and the set lives for as long as the last of them. */
  readonly readersExpireThemselves: boolean;
  /** Whether readers keep a writer out. */
  readonly writerSeesReaders: boolean;
  /** Whether the writer's key keeps readers out. */
  readonly readerSeesWriter: boolean;
  /** Whether a downgrade leaves a reader on the master. */
  readonly swapMakesReader: boolean;
  /** Whether a writer that waits no more takes back what it has said itself, and nothing else. */
  readonly withdrawsItself: boolean;
}

export const readWriteRules: ReadWriteRules = {
  readersExpireThemselves: true,
  writerSeesReaders: true,
  readerSeesWriter: true,
  swapMakesReader: true,
  withdrawsItself: true,
};

/** As every script begins: the time, and those who are left. */
function begin(rules: ReadWriteRules, call: Call, readersKey: string): number {
  const [seconds, microseconds] = call("TIME") as readonly string[];
  const now = Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
  if (rules.readersExpireThemselves) call("ZREMRANGEBYSCORE", readersKey, "-inf", `(${now}`);
  return now;
}

function pttl(call: Call, key: string): number {
  return call("PTTL", key) as number;
}

function read(
  rules: ReadWriteRules,
  call: Call,
  [writerKey = "", readersKey = "", intentKey = ""]: readonly string[],
  [token = "", ttl = "", how]: readonly string[],
): Reply {
  const now = begin(rules, call, readersKey);
  const mine = call("ZSCORE", readersKey, token) as string | null;
  let expiry = Math.max(now + Number(ttl), Number(mine ?? 0));
  const writer = call("GET", writerKey) as string | null;
  if (writer === token) {
    expiry = Math.max(expiry, now + pttl(call, writerKey));
  } else if (writer !== null && rules.readerSeesWriter) return [masked(writer), pttl(call, writerKey)];
  else if (mine === null) {
    if (how === "renew") return [null, -2];
    if (how === "vote") {
      call("ZREMRANGEBYSCORE", intentKey, "-inf", `(${now}`);
      const [, waits] = call("ZRANGE", intentKey, "-1", "-1", "WITHSCORES") as readonly string[];
      if (waits !== undefined) return ["a writer that waits", Number(waits) - now];
    }
  }
  if (writer !== token || rules.swapMakesReader) {
    call("ZADD", readersKey, String(expiry), token);
    if (!rules.readersExpireThemselves || pttl(call, readersKey) < expiry - now)
      call("PEXPIRE", readersKey, String(expiry - now));
  }
  if (writer === token) call("DEL", writerKey);
  return expiry - now;
}

function write(
  rules: ReadWriteRules,
  call: Call,
  [writerKey = "", readersKey = "", intentKey = ""]: readonly string[],
  [token = "", ttl = "", how, patience = "", waiter = ""]: readonly string[],
): Reply {
  const now = begin(rules, call, readersKey);
  const writer = call("GET", writerKey) as string | null;
  const left = pttl(call, writerKey);
  const waits = how === "wait";
  if (writer !== null && writer !== token && !waits) return [masked(writer), left];
  if (waits || writer === null) {
    if (how === "renew") return [null, -2];
    const [, last] = call("ZRANGE", readersKey, "-1", "-1", "WITHSCORES") as readonly string[];
    if (waits || (last !== undefined && rules.writerSeesReaders)) {
      if (Number(patience) > 0) {
        call("ZADD", intentKey, String(now + Number(patience)), waiter);
        if (pttl(call, intentKey) < Number(patience)) call("PEXPIRE", intentKey, patience);
      }
      return ["readers", Number(last ?? now) - now];
    }
  }
  if (left < Number(ttl)) call("SET", writerKey, token, "PX", ttl);
  return Math.max(left, Number(ttl));
}

function release(
  rules: ReadWriteRules,
  call: Call,
  [writerKey = "", readersKey = ""]: readonly string[],
  tokens: readonly string[],
): number {
  begin(rules, call, readersKey);
  let given = 0;
  for (const token of tokens) {
    let mine = call("ZREM", readersKey, token) as number;
    if (call("GET", writerKey) === token) mine = call("DEL", writerKey) as number;
    given += mine;
  }
  return given;
}

function withdraw(
  rules: ReadWriteRules,
  call: Call,
  [, , intentKey = ""]: readonly string[],
  [waiter = ""]: readonly string[],
): Reply {
  return rules.withdrawsItself ? call("ZREM", intentKey, waiter) : call("DEL", intentKey);
}

/** With other rules: those of a mutant's scripts. */
export function readWriteTwins(
  changed: Partial<ReadWriteRules> = {},
): Readonly<Record<ReadWriteScriptName, Twin>> {
  const rules = { ...readWriteRules, ...changed };
  return {
    read: (call, keys, args) => read(rules, call, keys, args),
    write: (call, keys, args) => write(rules, call, keys, args),
    release: (call, keys, args) => release(rules, call, keys, args),
    withdraw: (call, keys, args) => withdraw(rules, call, keys, args),
  };
}

const purposes = { read: "claim", write: "claim", release: "release" } as const;

/** Makes the scripts of a copy of the client known to the masters. */
export function knowReadWriteScripts(
  scripts: typeof readWriteScripts,
  rules?: Partial<ReadWriteRules>,
): void {
  const twins = readWriteTwins(rules);
  for (const name of Object.keys(twins) as ReadWriteScriptName[]) makeKnown(scripts[name], twins[name]);
  for (const name of ["read", "write", "release"] as const) nameScript(scripts[name], purposes[name]);
}
