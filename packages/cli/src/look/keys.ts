import type { Redis } from "ioredis";
import { unlessAborted } from "../masters.ts";

// The keys of locks, as the masters have them. Tokens and queue members never leave a master: of a token its digest and its
// beginning are read, of a queue member the tag of its owner.

/** Whether a value has the form of a token of Quorlock, or of redlock 5. */
const isToken = `
local function isToken(value)
  if #value >= 400 then return false end
  local waiter = string.gsub(value, "%.%d+$", "")
  return #waiter == 32 and not string.find(waiter, "[^0-9a-f]") or string.sub(value, 1, 8) == "revoked:"
end
`;

const script = `${isToken}
local function queueOf(key)
  local isTagged = string.find(key, "{", 1, true) and string.find(key, "^[^{]*{[^}]+}")
  return isTagged and "quorlock:queue:tagged:" .. key or "quorlock:queue:{" .. key .. "}"
end
local states = {}
for index, key in ipairs(KEYS) do
  local kind = redis.call("TYPE", key).ok
  local token = kind == "string" and redis.call("GET", key) or ""
  local isRevoked = string.sub(token, 1, 8) == "revoked:"
  local shown = isRevoked and token or string.sub(token, 1, math.min(8, math.floor(#token / 2)))
  local waiting = redis.pcall("ZCARD", queueOf(key))
  local waiters = redis.pcall("ZRANGE", queueOf(key), 0, 49)
  if waiters.err then waiting, waiters = 0, {} end
  for place, waiter in ipairs(waiters) do waiters[place] = string.sub(waiter, 1, 8) end
  states[index] = {kind, redis.sha1hex(token), shown, redis.call("PTTL", key), waiting, waiters, isToken(token) and 1 or 0}
end
return states
`;

/** A key on one master. */
export interface KeyState {
  /** The Redis type of a key that is no lock; `undefined` for a lock and for a free key. */
  readonly otherType: string | undefined;
  /** Equal on two masters if the token is; `undefined`: the key is free. */
  readonly digest: string | undefined;
  /** The beginning of the token: the tag of its owner; or `revoked:user@host`. */
  readonly shown: string;
  /** Its value has the form of a token. */
  readonly isToken: boolean;
  /** ms; `Infinity` for a key without an expiry. */
  readonly remaining: number;
  /** The length of the queue, dead waiters included, and the tags of the first 50. */
  readonly waiting: number;
  readonly waiters: readonly string[];
}

export type Reply = readonly [
  kind: string,
  digest: string,
  shown: string,
  left: number,
  waiting: number,
  waiters: readonly string[],
  isToken: number,
];

/** The states of these keys on one master, in their order. */
export async function statesOf(
  redis: Redis,
  keys: readonly string[],
  signal: AbortSignal,
): Promise<readonly KeyState[]> {
  const replies = await unlessAborted(signal, redis.eval(script, keys.length, ...keys));
  return (replies as readonly Reply[]).map(([kind, digest, shown, left, waiting, waiters, hasToken]) => ({
    otherType: kind === "string" || kind === "none" ? undefined : kind,
    digest: kind === "string" ? digest : undefined,
    shown,
    isToken: hasToken === 1,
    remaining: kind === "none" ? 0 : left < 0 ? Number.POSITIVE_INFINITY : left,
    waiting,
    waiters,
  }));
}

/** The tags of readers whose time is not over, and how much each has left, the last to expire first, at most 1000. */
const readersScript = `
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local readers = redis.call("ZREVRANGEBYSCORE", KEYS[1], "+inf", now, "WITHSCORES", "LIMIT", 0, 1000)
for place = 1, #readers, 2 do
  readers[place] = string.sub(readers[place], 1, 8)
  readers[place + 1] = math.ceil(readers[place + 1] - now)
end
return readers
`;

/** The keys of a readers-writer lock: that of the writer is like that of any lock, and the readers are in a sorted set. */
export function keysOfReadWriteLock(name: string): { readonly writer: string; readonly readers: string } {
  return { writer: `quorlock:rw:{${name}}:write`, readers: `quorlock:rw:{${name}}:readers` };
}

/** Whether readers of a readers-writer lock have this key. */
export function isOfReaders(key: string): boolean {
  return /^quorlock:rw:\{.+\}:readers$/s.test(key);
}

/** The owners that read on one master, and the ms until the last read lock of each expires. */
export async function readersOf(
  redis: Redis,
  key: string,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number>> {
  const reply = (await unlessAborted(signal, redis.eval(readersScript, 1, key))) as (string | number)[];
  const readers = new Map<string, number>();
  for (let place = reply.length - 2; place >= 0; place -= 2)
    readers.set(String(reply[place]), Number(reply[place + 1]));
  return readers;
}

/** The keys of locks among a part of all keys. */
const scanScript = `${isToken}
local reply = redis.call("SCAN", ARGV[1], "COUNT", ARGV[2])
local locks = {}
for _, key in ipairs(reply[2]) do
  if redis.call("TYPE", key).ok == "string" and redis.call("STRLEN", key) < 400 then
    if isToken(redis.call("GET", key)) then locks[#locks + 1] = key end
  end
end
return {reply[1], #reply[2], locks}
`;

/** One script looks at this many keys, which takes a master about a millisecond. */
const keysPerScan = 500;

/** How far a search for locks came on one master. */
export interface Scan {
  readonly master: string;
  readonly looked: number;
  readonly of: number;
  readonly locks: readonly string[];
}

/** Looks at `limit` keys, or at all, and at no more once the signal is aborted. */
export async function scan(redis: Redis, limit: number, signal: AbortSignal): Promise<Omit<Scan, "master">> {
  const locks = new Set<string>();
  let looked = 0;
  let cursor: string | undefined;
  const of = await unlessAborted(signal, redis.dbsize()).catch(() => 0);
  do {
    const count = Math.min(keysPerScan, limit - looked);
    const part = redis.eval(scanScript, 0, cursor ?? "0", String(count));
    // A master that refuses ends its own search: the others go on.
    const reply = (await unlessAborted(signal, part).catch(() => undefined)) as
      | readonly [string, number, readonly string[]]
      | undefined;
    if (!reply) break;
    cursor = reply[0];
    looked += reply[1];
    for (const key of reply[2]) locks.add(key);
  } while (cursor !== "0" && looked < limit);
  return { looked: cursor === "0" ? of : Math.min(looked, of), of, locks: [...locks] };
}
