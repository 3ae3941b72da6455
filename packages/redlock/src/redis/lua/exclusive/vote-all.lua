-- Votes for free keys with one command each: `count` KEYS from `key` on, for the tokens from ARGV `arg` on. Stops at the first
-- that is not granted, and returns the number of grants.
local function voteAll(key, arg, count, ttl)
  for place = 0, count - 1 do
    local set = redis.pcall("SET", KEYS[key + place], ARGV[arg + place], "NX", "PX", ttl)
    if not set or set.err then return place end
  end
  return count
end
