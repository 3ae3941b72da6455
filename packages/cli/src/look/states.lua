-- The states of KEYS. Of a token its digest and its beginning are read.

-- @include "parts/is-token"
-- @include "../../../redlock/src/redis/lua/exclusive/queue-of"
local states = {}
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
  local waiting = redis.pcall("ZCARD", queueOf(key))
  local waiters = redis.pcall("ZRANGE", queueOf(key), 0, 49)
  if waiters.err then waiting, waiters = 0, {} end
  for place, waiter in ipairs(waiters) do waiters[place] = string.sub(waiter, 1, 8) end
  local left = redis.call("PTTL", key)
  states[index] = {kind, redis.sha1hex(token), shown, left, waiting, waiters, isToken(token) and 1 or 0}
end
return states
