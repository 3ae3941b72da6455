-- Deletes a key that belongs to one of ARGV `from` to `to`, and returns the number of deleted keys. Comparing and deleting in one
-- step keeps a late release from deleting the lock of a later holder (PROTOCOL 5.1).
local function drop(key, from, to)
  local owner = ownerOf(key)
  for token = from, to do
    if isMine(owner, ARGV[token]) then return call("DEL", key) end
  end
  return 0
end
