-- The questions of clients on the guard: reading its state, and restoring the counters.
local function guardState()
  -- Without the right to these commands the client learns that here.
  call("INFO", "replication")
  call("OBJECT", "ENCODING", "quorlock:guard:memory")
  local since, ends, longest, state =
    string.match(call("GET", "quorlock:guard") or "", "^%S+ (%d+) (%d+) (%d+) %d+ (%d)$")
  local left, floor = call("PTTL", "quorlock:quarantine"), call("GET", "quorlock:floor")
  local isKnown = guarded and guarded.isKnown and 1 or 0
  return {tonumber(longest or 0), left, since or "0", tonumber(state or 2), floor or "0", isKnown}
end

-- Restores the fencing counters, unless memory was lost again since the floor was read.
local function restoreCounters(epoch, floor)
  if not guarded or guarded.why or guarded.state ~= "1" or guarded.since ~= epoch then return 0 end
  raise({}, math.max(counterOf({}), tonumber(floor)))
  call("SET", "quorlock:floor:past", floor, "PX", pastTtl)
  mark("0", 0)
  return 1
end
