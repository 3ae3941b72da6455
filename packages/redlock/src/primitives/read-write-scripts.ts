import type { Script } from "../redis/lua/scripts.ts";

/**
 * KEYS are the writer's, the readers' and that of the writers that wait. The writer's key holds its token, as that of any
 * lock. The others are sorted sets, of tokens and of the names of clients that have a writer waiting: each member has an
 * expiry of its own by this master's clock, and the key outlives the last of them. Comparing and writing is one step, so
 * a writer and a reader never both have the vote of one master (PROTOCOL 10.3).
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
 * A reader's claim: ARGV is token, ttl, and how: "vote", "repair" (what has expired is set again, whoever waits) or
 * "renew". A writer's key that holds the very token becomes the reader's: that is the downgrade, and whatever extends
 * the read lock makes up for it where it was lost. Nothing is shortened (PROTOCOL 2.11), the set's expiry neither (PROTOCOL 10.3).
 *
 * Returns how long the claim lives, ms; or {who refuses, or nil; how long it still lives, as PTTL}.
 */
const readScript: Script = {
  source: `${start}
local token, ttl, how = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local mine = redis.call("ZSCORE", readersKey, token)
local expiry = math.max(now + ttl, tonumber(mine or 0))
local writer = redis.call("GET", writerKey)
if writer == token then
  expiry = math.max(expiry, now + redis.call("PTTL", writerKey))
elseif writer then
  return {writer, redis.call("PTTL", writerKey)}
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
  sha1: "cb212dd18c38b0500f2c9b247161a1c62e960a64",
};

/**
 * A writer's claim: ARGV is token, ttl, how, for how many ms no further reader is let in where readers refuse this one
 * (0: it does not wait), and the name of its client.
 *
 * A client is one member, which nobody else changes: a writer that gives up, or is granted, takes no other's place. Only
 * a refusal by readers adds it or makes it last longer, a refusal by another writer does not. So while no reader is let
 * in the set only shrinks, and readers have their turn when it is empty (PROTOCOL 10.4).
 */
const writeScript: Script = {
  source: `${start}
local token, ttl, how, patience, waiter = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4]), ARGV[5]
local writer = redis.call("GET", writerKey)
local left = redis.call("PTTL", writerKey)
if writer and writer ~= token then return {writer, left} end
if not writer then
  if how == "renew" then return {false, -2} end
  local last = redis.call("ZRANGE", readersKey, -1, -1, "WITHSCORES")[2]
  if last then
    if patience > 0 then
      redis.call("ZADD", intentKey, now + patience, waiter)
      if redis.call("PTTL", intentKey) < patience then redis.call("PEXPIRE", intentKey, patience) end
    end
    return {"readers", tonumber(last) - now}
  end
end
if left < ttl then
  redis.call("SET", writerKey, token, "PX", ttl)
  left = ttl
end
return left
`,
  sha1: "88792440e22d27b14fd9c4075ce8b697272fd2cd",
};

/** Gives up what ARGV, tokens, have, as a reader or as the writer. Returns how many had anything. */
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

/** No writer of the client ARGV[1] waits any more. */
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
