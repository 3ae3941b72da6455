--!df flags=allow-undeclared-keys
-- Claims all KEYS, or none. ARGV: token, ttl, "1" to set free keys, then a proposal or nothing.

local call = redis.call
local token, ttl, create, proposal = ARGV[1], ARGV[2], ARGV[3] == "1", ARGV[4] or ""
-- The most frequent case: one key, which is renewed.
if proposal == "" and #KEYS == 1 and redis.pcall("GET", KEYS[1]) == token then
  local left = call("PTTL", KEYS[1])
  if left ~= -1 and left < tonumber(ttl) then
    if call("PEXPIRE", KEYS[1], ttl) == 0 then call("SET", KEYS[1], token, "PX", ttl) end
    return tonumber(ttl)
  end
end
-- @include "parts/is-mine"
-- @include "parts/masked"
-- @include "exclusive/claim"
if proposal == "" then return claim(1, #KEYS, token, ttl, create) end
-- @include "parts/fencing"
-- @include "parts/refuse-large"
local isSet = create and #KEYS == 1 and call("SET", KEYS[1], token, "NX", "PX", ttl)
local granted = isSet and tonumber(ttl) or claim(1, #KEYS, token, ttl, create)
return type(granted) == "number" and fenced(KEYS, granted, proposal) or granted
