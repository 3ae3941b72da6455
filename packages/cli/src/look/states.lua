-- The states of KEYS, by a client whose clock shows ARGV[1], ms since the epoch. Of a token its digest and its beginning are read.

-- @include "parts/is-token"
-- @include "../../../redlock/src/redis/lua/exclusive/queue-of"
local states = {}

-- Whether a restart guard keeps this master from voting; "none" if it has never seen this memory. A quarantine begins with the
-- next question of a client, which knows alone whether a restarted master is durable.
local function guardOf()
  -- (What this user may not read is taken for what it should be.)
  local marker = redis.pcall("GET", "quorlock:guard")
  local since, ends, state = string.match(type(marker) == "string" and marker or "", "^%S+ (%d+) (%d+) %d+ %d+ (%d)$")
  if not since then return "none" end
  local left = state == "2" and math.max(tonumber(ends) - ARGV[1], redis.call("PTTL", "quorlock:quarantine")) or 0
  if left > 0 then return "QUARANTINE" end
  local function isOr(other, value) return type(value) == "table" or value == other end
  local isKept = isOr(since, redis.pcall("GET", "quorlock:guard:memory"))
    and isOr("raw", redis.pcall("OBJECT", "ENCODING", "quorlock:guard:memory"))
  return isKept and "" or "QUARANTINE?"
end
local guard = guardOf()

-- Why the master refuses to set this free key.
local function refusalOf(key)
  -- It changes nothing, since there is no key.
  local set = redis.pcall("SET", key, "", "XX", "PX", 1)
  for _, code in ipairs({"OOM", "READONLY", "MISCONF", "NOREPLICAS"}) do
    if set and string.find(set.err, code, 1, true) then return code end
  end
  return ""
end

for index, key in ipairs(KEYS) do
  local kind, token = "string", redis.pcall("GET", key)
  if not token then kind, token = "none", "" end
  if type(token) == "table" then
    -- The rights of locks have no TYPE.
    if not string.find(token.err, "^WRONGTYPE") then return token end
    kind, token = redis.pcall("TYPE", key).ok or "key of another type", ""
  end
  local isRevoked = string.sub(token, 1, 8) == "revoked:"
  local shown = isRevoked and token or string.sub(token, 1, math.min(8, math.floor(#token / 2)))
  local queue, waiters = queueOf(key), {}
  local waiting, first = redis.pcall("ZCARD", queue), redis.pcall("ZRANGE", queue, 0, 49)
  if first.err or type(waiting) == "table" then waiting, first = 0, {} end
  -- One that has crashed stays in the queue, without an entry.
  for _, waiter in ipairs(first) do
    if redis.pcall("EXISTS", queue .. ":" .. string.sub(waiter, 1, 20)) == 0 then waiting = waiting - 1
    else waiters[#waiters + 1] = string.sub(waiter, 1, 8) end
  end
  local left = redis.call("PTTL", key)
  states[index] = {kind, redis.sha1hex(token), shown, left, waiting, waiters, isToken(token) and 1 or 0,
    kind == "none" and refusalOf(key) or "", guard}
end
return states
