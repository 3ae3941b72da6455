-- The keys of locks among a part of all keys, and how many keys this user may not read.

-- @include "parts/is-token"
local reply = redis.call("SCAN", ARGV[1], "COUNT", ARGV[2])
local locks, unread = {}, 0
for _, key in ipairs(reply[2]) do
  local kind = redis.pcall("TYPE", key)
  if kind.err then unread = unread + 1
  elseif kind.ok == "string" and redis.call("STRLEN", key) < 400 then
    if isToken(redis.call("GET", key)) then locks[#locks + 1] = key end
  elseif kind.ok == "zset" and string.find(key, "^quorlock:rw:{.+}:readers$") then locks[#locks + 1] = key
  end
end
return {reply[1], #reply[2], locks, unread}
