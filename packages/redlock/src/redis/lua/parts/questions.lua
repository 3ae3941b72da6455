-- The questions of a batch: see batch.lua.
-- @include "refused"
local function run(kind, last, number, ticket, entryTtl, proposal)
  if kind == "g" then
    watch(ARGV[arg])
    isSeeded = not guarded or guarded.state ~= "1"
    return
  end
  if kind == "h" then return guardState() end
  if kind == "f" then
    local seeded = restoreCounters(number, ticket)
    isSeeded = isSeeded or seeded == 1
    return seeded
  end
  if kind == "c" then return call("TIME") end
  -- A key that may be promised to another client is not granted.
  if kind == "r" or kind == "l" and inQuarantine() then return release(key, last, ARGV[arg]) end
  if kind == "l" then return releaseUnwaited(key, last, ARGV[arg]) or leave(key, last, ARGV[arg]) end
  if kind == "i" then
    return {masked(call("GET", KEYS[key])), call("PTTL", KEYS[key]), call("ZCARD", queueOf(KEYS[key]))}
  end
  if proposal ~= "" and tonumber(proposal) >= 2 ^ 53 - 2 ^ 20 then error("ERR the fencing token is too large", 0) end
  local why = guarded and bar(kind, number, proposal)
  if why then error(why, 0) end
  if kind == "u" then
    local owner = ownerOf(KEYS[last])
    if owner then return {last - key + 1, masked(owner), call("PTTL", KEYS[last])} end
    kind, last = "v", last - 1
  end
  local reply, next = claimed(kind, last, number, ticket, entryTtl, proposal)
  if type(reply) ~= "number" then return refused(reply, isNew()) end
  if guarded and inQuarantine() then return {-2, reply} end
  if proposal ~= "" then
    -- (unpack takes 8,000 at most.)
    local locks = {}
    for index = key, last do locks[index - key + 1] = lockOf(KEYS[index]) end
    return fenced(locks, reply, proposal, next)
  end
  return next and {-3, reply, next} or reply
end
