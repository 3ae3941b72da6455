/** A Lua script and the digest by which a master that knows it can be asked to run it. */
export interface Script {
  readonly source: string;
  /** SHA-1 of `source`. A test on a real server keeps the two together. */
  readonly sha1: string;
}

/**
 * Claims KEYS `first` to `last` for `token` and at least `ttl` ms, or none. With `create` free keys are set, else
 * they refuse. One function is the vote (free keys are set), the repairing extension (the same), the plain
 * extension, the question after a refused SET, and `verify` (an extension by 1 ms, which changes nothing).
 *
 * - A key that holds the token counts as claimed (PROTOCOL 2.7) and is renewed (14.2).
 * - No key is ever shortened (14.1).
 * - All keys are looked at before the first is written: all or none.
 *
 * Returns ms that the shortest key lives (-1: for ever), or {index of the first key that refuses, its value or nil,
 * its PTTL}.
 */
const claim = `
local function claim(first, last, token, ttl, create)
  local least = tonumber(ttl)
  for index = first, last do
    local owner = redis.call("GET", KEYS[index])
    if owner ~= token and (owner or not create) then
      return {index - first + 1, owner, redis.call("PTTL", KEYS[index])}
    end
  end
  local shortest
  for index = first, last do
    local left = redis.call("PTTL", KEYS[index])
    if left ~= -1 and left < least then
      redis.call("SET", KEYS[index], token, "PX", ttl)
      left = least
    end
    if left ~= -1 and (not shortest or left < shortest) then shortest = left end
  end
  return shortest or -1
end
`;

/**
 * Deletes those of KEYS `first` to `last` whose value is one of ARGV `from` to `to`, and returns how many. Comparing
 * and deleting in one step is what keeps a late release from taking somebody else's lock (PROTOCOL 5).
 */
const release = `
local function release(first, last, from, to)
  local deleted = 0
  for index = first, last do
    local owner = redis.call("GET", KEYS[index])
    for token = from, to do
      if owner == ARGV[token] then deleted = deleted + redis.call("DEL", KEYS[index]) break end
    end
  end
  return deleted
end
`;

/** `claim` of all KEYS: ARGV is token, ttl, and "1" for `create`. */
export const claimScript: Script = {
  source: `${claim}return claim(1, #KEYS, ARGV[1], ARGV[2], ARGV[3] == "1")
`,
  sha1: "43767932e4f0cad765e3f333f3add1e948bc9c4d",
};

/** `release` of all KEYS: ARGV is the tokens. */
export const releaseScript: Script = {
  source: `${release}return release(1, #KEYS, 1, #ARGV)
`,
  sha1: "d4f7801deca021216fe3f94c3da06804becdcf30",
};

/**
 * Group commit (PROTOCOL 12, 14.16): many operations, one after the other, each with a reply of its own.
 *
 * ARGV[1] lists them in short, since what a call costs is mostly the number of its arguments: for each a letter, the
 * number of its keys, and the ttl of a claim or the number of a release's tokens. "v1,5000;e2,1;r1,1;" is a vote, an
 * extension without `create` ("p" is one with it), and a release. Their keys follow each other in KEYS, their tokens in ARGV.
 *
 * Each operation fails for itself: {0, message} is its reply then, and the others are not touched.
 */
export const batchScript: Script = {
  source: `${claim}${release}
local replies, key, token = {}, 1, 2
local function run(kind, last, number)
  if kind == "r" then return release(key, last, token, token + tonumber(number) - 1) end
  -- Mostly a free key and a single one: then one command is the vote.
  if kind == "v" and key == last and redis.call("SET", KEYS[key], ARGV[token], "NX", "PX", number) then
    return tonumber(number)
  end
  return claim(key, last, ARGV[token], number, kind ~= "e")
end
for kind, keys, number in string.gmatch(ARGV[1], "(%a)(%d+),(%d+);") do
  local last = key + tonumber(keys) - 1
  local done, reply = pcall(run, kind, last, number)
  if not done then reply = {0, type(reply) == "table" and reply.err or tostring(reply)} end
  replies[#replies + 1] = reply
  key = last + 1
  token = token + (kind == "r" and tonumber(number) or 1)
end
return replies
`,
  sha1: "b524a0f62e1f653874c7b3da771371ce96f37ddd",
};
