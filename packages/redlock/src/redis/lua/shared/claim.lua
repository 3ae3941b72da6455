-- @include "../exclusive/claim"
local claimExclusive = claim

local function claim(first, last, token, ttl, create)
  local key = KEYS[first]
  local owner = ownerFor(key, token)
  if not isMine(owner, token) and (owner or not create) then return {1, masked(owner), leftOf(key)} end
  if isShared(key) then return join(key, token, tonumber(ttl)) end
  return claimExclusive(first, last, token, ttl, create)
end
