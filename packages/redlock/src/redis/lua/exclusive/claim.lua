-- Claims KEYS `first` to `last` for `token` and at least `ttl` ms: all or none. With `create`, free keys are set; otherwise they
-- refuse. One function for the vote (free keys are set), the repairing extension (the same), the plain extension, the read after
-- a refused SET, and `verify` (an extension by 1 ms, which changes nothing).
--
-- - A key that holds the token counts as claimed (PROTOCOL 2.7) and is renewed (PROTOCOL 2.12).
-- - No key is ever shortened (PROTOCOL 2.11).
-- - All keys are read before the first is written: all or none.
-- - Keys that belong to the token are renewed by PEXPIRE. A master that is out of memory allows that, and allows a SET after it
--   in the same script: a full master does not lose locks (PROTOCOL 7.5).
--
-- Returns the remaining ms of the key that expires first (-1: no expiry), or {index of the first key that refuses, its value or
-- nil, its PTTL}; the value is `masked`.
local function claim(first, last, token, ttl, create)
  local least = tonumber(ttl)
  local owners = {}
  for index = first, last do
    local owner = ownerOf(KEYS[index])
    owners[index] = owner
    if not isMine(owner, token) and (owner or not create) then
      return {index - first + 1, masked(owner), call("PTTL", KEYS[index])}
    end
  end
  local shortest
  for index = first, last do
    local left = call("PTTL", KEYS[index])
    local isOther = owners[index] ~= token or left == -2
    local isShort = left ~= -1 and left < least
    local lives = isShort and ttl or left
    if isShort and left ~= -2 or isOther and left >= 0 then call("PEXPIRE", KEYS[index], lives) end
    if isOther and left == -1 then call("SET", KEYS[index], token)
    elseif isOther then call("SET", KEYS[index], token, "PX", lives) end
    if isShort then left = least end
    if left ~= -1 and (not shortest or left < shortest) then shortest = left end
  end
  return shortest or -1
end
