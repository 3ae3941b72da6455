/** A Lua script and the digest by which a master that knows it can be asked to run it. */
export interface Script {
  readonly source: string;
  /** SHA-1 of `source`. A test on a real server keeps the two together. */
  readonly sha1: string;
}

/**
 * Claims all KEYS for the token ARGV[1] and at least ARGV[2] ms, or none. With ARGV[3] = "1" free keys are set,
 * else they refuse. One script is the vote (free keys are set), the repairing extension (the same), the plain
 * extension, the question after a refused SET, and `verify` (an extension by 1 ms, which changes nothing).
 *
 * - A key that holds the token counts as claimed (PROTOCOL 2.7) and is renewed (14.2).
 * - No key is ever shortened (14.1).
 * - All keys are looked at before the first is written: all or none.
 *
 * Returns {0, ms the shortest key lives}, or {index of the first key that refuses, its value or nil, its PTTL}.
 */
export const claimScript: Script = {
  source: `
local token, ttl, create = ARGV[1], tonumber(ARGV[2]), ARGV[3] == "1"
for index, key in ipairs(KEYS) do
  local owner = redis.call("GET", key)
  if owner ~= token and (owner or not create) then
    return {index, owner, redis.call("PTTL", key)}
  end
end
local shortest
for _, key in ipairs(KEYS) do
  local left = redis.call("PTTL", key)
  if left ~= -1 and left < ttl then
    redis.call("SET", key, token, "PX", ARGV[2])
    left = ttl
  end
  if left ~= -1 and (not shortest or left < shortest) then shortest = left end
end
return {0, shortest or -1}
`,
  sha1: "010dec9b58d110ae6848cf22ebe658c2348327fd",
};

/**
 * Deletes those KEYS whose value is one of ARGV, and returns how many. Comparing and deleting in one step is
 * what keeps a late release from taking somebody else's lock (PROTOCOL 5).
 */
export const releaseScript: Script = {
  source: `
local mine, deleted = {}, 0
for _, token in ipairs(ARGV) do mine[token] = true end
for _, key in ipairs(KEYS) do
  local owner = redis.call("GET", key)
  if owner and mine[owner] then deleted = deleted + redis.call("DEL", key) end
end
return deleted
`,
  sha1: "4c0c531ce3bed8b108b059ec517f4fee80154364",
};
