--!df flags=allow-undeclared-keys
-- Those who wait for a key, in their order: up to 50, each masked, since a queue member is a token without its round (PROTOCOL
-- 2.17). Waiters that have crashed are left out. KEYS: the key, or the exclusive key of a lock that may be shared.

-- @include "parts/masked"
-- @include "exclusive/queue-of"
local queue, waiters = queueOf(KEYS[1]), {}
for _, waiter in ipairs(redis.call("ZRANGE", queue, 0, 49)) do
  if redis.call("EXISTS", queue .. ":" .. string.sub(waiter, 1, 20)) == 1 then waiters[#waiters + 1] = masked(waiter) end
end
return waiters
