import { masked } from "../redis/lua/masked.ts";
import type { Script } from "../redis/lua/scripts.ts";

/**
 * KEYS: the writer's key, the readers' key, and the key of waiting writers. The writer's key holds its token,
 * like any lock. The others are sorted sets, of tokens and of the names of clients with a waiting writer.
 * Each member has an expiry of its own by this master's clock, and the key outlives the last of them.
 * Comparing and writing is one step, so a writer and a reader never both have the vote of one master
 * (PROTOCOL 10.3).
 */
const start = `
-- Before Redis 5 a script that asks for the time may write only so.
if redis.replicate_commands then redis.replicate_commands() end
local writerKey, readersKey, intentKey = KEYS[1], KEYS[2], KEYS[3]
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- As with a key, gone when its time is over, not sooner.
redis.call("ZREMRANGEBYSCORE", readersKey, "-inf", "(" .. now)
`;

/**
 * A reader's claim. ARGV: token, ttl, and how: "vote", "repair" (sets an expired claim again, even if writers
 * wait) or "renew". A writer's key with exactly this token becomes the reader's: that is the downgrade, and
 * every later extension of the read lock repeats it if it was lost. Nothing is shortened (PROTOCOL 2.11),
 * nor is the expiry of the set (PROTOCOL 10.3).
 *
 * Returns the remaining time of the claim, ms; or {the owner that refuses, or nil; its remaining time, as
 * PTTL}.
 */
const readScript: Script = {
  source: `${start}${masked}
local token, ttl, how = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local mine = redis.call("ZSCORE", readersKey, token)
local expiry = math.max(now + ttl, tonumber(mine or 0))
local writer = redis.call("GET", writerKey)
if writer == token then
  expiry = math.max(expiry, now + redis.call("PTTL", writerKey))
elseif writer then
  return {masked(writer), redis.call("PTTL", writerKey)}
elseif not mine then
  if how == "renew" then return {false, -2} end
  if how == "vote" then
    redis.call("ZREMRANGEBYSCORE", intentKey, "-inf", "(" .. now)
    local waits = redis.call("ZRANGE", intentKey, -1, -1, "WITHSCORES")[2]
    if waits then return {"a writer that waits", tonumber(waits) - now} end
  end
end
redis.call("ZADD", readersKey, expiry, token)
if redis.call("PTTL", readersKey) < expiry - now then redis.call("PEXPIRE", readersKey, expiry - now) end
-- Last: where the new claim cannot be written the old one stands (PROTOCOL 10.5).
if writer == token then redis.call("DEL", writerKey) end
return expiry - now
`,
  sha1: "78a203a49a4c2c38cc1044478d1cbdf067c1063f",
};

/**
 * A writer's claim. ARGV: token, ttl, how, the time in ms for which no further reader is admitted if readers
 * refuse this claim (0: it does not wait), and the name of its client. How is "vote", "repair", "renew", or "wait",
 * which claims nothing: it renews that time for a writer that readers have refused, between its attempts.
 *
 * Each client is one member, which only that client changes: a writer that gives up or is granted does not
 * affect others. Only a refusal by readers adds it, not a refusal by another writer (PROTOCOL 10.4).
 */
const writeScript: Script = {
  source: `${start}${masked}
local token, ttl, how, patience, waiter = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4]), ARGV[5]
local writer = redis.call("GET", writerKey)
local left = redis.call("PTTL", writerKey)
local waits = how == "wait"
if writer and writer ~= token and not waits then return {masked(writer), left} end
if waits or not writer then
  if how == "renew" then return {false, -2} end
  local last = redis.call("ZRANGE", readersKey, -1, -1, "WITHSCORES")[2]
  if waits or last then
    if patience > 0 then
      redis.call("ZADD", intentKey, now + patience, waiter)
      if redis.call("PTTL", intentKey) < patience then redis.call("PEXPIRE", intentKey, patience) end
    end
    return {"readers", tonumber(last or now) - now}
  end
end
if left < ttl then
  redis.call("SET", writerKey, token, "PX", ttl)
  left = ttl
end
return left
`,
  sha1: "aab3a73051f8b88fe2bb36f2b3c714fce3df6f59",
};

/**
 * Releases the claims of the tokens in ARGV, as a reader or as the writer. Returns the number of claims
 * found.
 */
const releaseScript: Script = {
  source: `${start}
local given = 0
for _, token in ipairs(ARGV) do
  local mine = redis.call("ZREM", readersKey, token)
  if redis.call("GET", writerKey) == token then mine = redis.call("DEL", writerKey) end
  given = given + mine
end
return given
`,
  sha1: "02b8ca17ce57309bc3626a7b83b54b727ae10841",
};

/** Withdraws the waiting writers of the client ARGV[1]. */
const withdrawScript: Script = {
  source: `
return redis.call("ZREM", KEYS[3], ARGV[1])
`,
  sha1: "49481ada24717e6c959b8c46698d18b964c8dea9",
};

export const readWriteScripts: Readonly<Record<"read" | "write" | "release" | "withdraw", Script>> = {
  read: readScript,
  write: writeScript,
  release: releaseScript,
  withdraw: withdrawScript,
};
