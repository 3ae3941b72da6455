-- The value of a key, false for none. A key of another type has an owner as well, since other libraries keep a lock in a hash:
-- its type, if the user may ask for it. It matches no token.
local function ownerOf(key)
  local owner = redis.pcall("GET", key)
  if type(owner) ~= "table" then return owner end
  if not string.find(owner.err, "^WRONGTYPE") then return call("GET", key) end
  return "(" .. (redis.pcall("TYPE", key).ok or "no string") .. ")"
end

-- Whether a key with this value belongs to `token`: it holds exactly that token, or the token of an earlier round of the same
-- waiter (PROTOCOL 2.13). So a command of an old round never affects the vote of a later one.
local function isMine(owner, token)
  if owner == token then return true end
  if not owner then return false end
  local waiter, round = string.match(token, "^(.+)%.(%d+)$")
  local other, earlier = string.match(owner, "^(.+)%.(%d+)$")
  return waiter ~= nil and waiter == other and tonumber(earlier) < tonumber(round)
end
