-- Like `release`, but grants released keys to the first waiter and removes the entries of the tokens' own waiters: from all queues
-- before anything is granted, and without entries that a later round has made (PROTOCOL 7.10).
local function leave(first, last, from, to)
  demand(KEYS[first], toGive)
  for index = first, last do
    local queue = queueOf(KEYS[index])
    for token = from, to do
      local waiter, round = string.match(ARGV[token], "^(.+)%.(%d+)$")
      -- (A dead entry of an earlier round is swept when it reaches the head.)
      local entry = waiter and call("GET", queue .. ":" .. string.sub(waiter, 1, 20))
      local entered = entry and tonumber(string.match(entry, "^%d+"))
      if entered and entered <= tonumber(round) then forget(queue, waiter) end
    end
  end
  local released = 0
  for index = first, last do
    local dropped = drop(KEYS[index], from, to)
    released = released + dropped
    -- (An entry that leaves may have been all that readers waited for.)
    if dropped == 1 or mayShare then give(KEYS[index]) end
  end
  return released
end
