-- The key of a key's queue: a sorted set of waiters by ticket. Both are in one slot of a Cluster. (Finding a brace is faster
-- than matching the pattern.)
local function queueOf(key)
  local isTagged = string.find(key, "{", 1, true) and string.find(key, "^[^{]*{[^}]+}")
  return isTagged and "quorlock:queue:tagged:" .. key or "quorlock:queue:{" .. key .. "}"
end
