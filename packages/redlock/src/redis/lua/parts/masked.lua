-- A token as replies show it: its beginning tells owners apart, and the number of a round is kept. Tools record replies,
-- and the whole token is enough to release the lock (PROTOCOL 2.17). A type stays as it is.
local function masked(owner)
  if not owner or string.find(owner, "^%([%a -]+%)$") then return owner end
  local round = string.match(owner, "%.%d+$") or ""
  local length = #owner - #round
  local shown = math.min(8, math.floor(length / 2))
  return string.sub(owner, 1, shown) .. string.rep("*", length - shown) .. round
end
