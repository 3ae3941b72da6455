-- Fencing counters (PROTOCOL 8): the largest token stored for a lock. A counter expires after a day without use.
-- `quorlock:floor` is above all counters ever stored and never expires. It is raised by a million at a time, a second's worth of
-- proposals, so it is seldom written. `quorlock:floor:past` is its value within the last 12 hours, and counts as a lower bound
-- for every counter. So an expired counter does no harm, and the counters of other locks, which may be ahead because of a
-- clock, do not interfere. All numbers are exact, below 2^53.
local counterTtl, pastTtl = 86400000, 43200000

local function exactly(number) return string.format("%.0f", number) end

local function counterOf(locks)
  local past = call("GET", "quorlock:floor:past")
  if not past then
    past = call("GET", "quorlock:floor") or "0"
    call("SET", "quorlock:floor:past", past, "PX", pastTtl)
  end
  local largest = tonumber(past)
  for _, lock in ipairs(locks) do
    largest = math.max(largest, tonumber(call("GET", "quorlock:fence:" .. lock) or 0))
  end
  return largest
end

local function raise(locks, counter)
  for _, lock in ipairs(locks) do
    call("SET", "quorlock:fence:" .. lock, exactly(counter), "PX", counterTtl)
  end
  if counter >= tonumber(call("GET", "quorlock:floor") or 0) then
    call("SET", "quorlock:floor", exactly(counter + 1000000))
  end
  -- The clock was set back: a counter could expire before the past floor.
  if call("PTTL", "quorlock:floor:past") > pastTtl then call("DEL", "quorlock:floor:past") end
end

-- The reply to a granted claim, with the largest counter from before its proposal was stored. (The ticket of the next waiter
-- comes from `enqueue`.)
local function fenced(locks, granted, proposal, next)
  local counter = counterOf(locks)
  raise(locks, math.max(counter, tonumber(proposal)))
  return {-1, granted, exactly(counter), next}
end
