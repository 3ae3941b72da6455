-- Like `release`, but grants released keys to the first waiter and removes the entries of the token's own waiter: from all queues
-- before anything is granted, and without an entry that a later round has made (PROTOCOL 7.10).
local function leave(first, last, token)
  demand(KEYS[first], toGive)
  local waiter, round = string.match(token, "^(.+)%.(%d+)$")
  for index = first, waiter and last or 0 do
    local queue = queueOf(KEYS[index])
    -- (A dead entry of an earlier round is swept when it reaches the head.)
    local entry = call("GET", queue .. ":" .. string.sub(waiter, 1, 20))
    local entered = entry and tonumber(string.match(entry, "^%d+"))
    if entered and entered <= tonumber(round) then forget(queue, waiter) end
  end
  local released = 0
  for index = first, last do
    local dropped = drop(KEYS[index], token)
    released = released + dropped
    -- (An entry that leaves may have been all that readers waited for.)
    if dropped == 1 or mayShare then give(KEYS[index]) end
  end
  return released
end
