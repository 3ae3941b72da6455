-- Deletes a key that belongs to `token`, and returns the number of deleted keys. Comparing and deleting in one step keeps a late
-- release from deleting the lock of a later holder (PROTOCOL 5.1).
local function drop(key, token)
  return isMine(ownerOf(key), token) and call("DEL", key) or 0
end
