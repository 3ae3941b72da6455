-- The readers of a lock: up to 50 of {masked token, ms that it has left}, those that stay for longest first. KEYS: the shared key.

-- @include "parts/masked"
local time, readers = redis.call("TIME"), {}
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local found = redis.call("ZRANGE", KEYS[1], -50, -1, "WITHSCORES")
for place = #found - 1, 1, -2 do
  local left = tonumber(found[place + 1]) - now
  if left >= 0 then readers[#readers + 1] = {masked(found[place]), left} end
end
return readers
