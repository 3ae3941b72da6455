-- The keys of locks among a part of all keys.

-- @include "parts/is-token"
local reply = redis.call("SCAN", ARGV[1], "COUNT", ARGV[2])
local locks = {}
for _, key in ipairs(reply[2]) do
  if redis.call("TYPE", key).ok == "string" and redis.call("STRLEN", key) < 400 then
    if isToken(redis.call("GET", key)) then locks[#locks + 1] = key end
  end
end
return {reply[1], #reply[2], locks}
