/**
 * Delayed restarts (PROTOCOL 9, 14.6 to 14.8, 14.10), for what a script claims behind it.
 *
 * `quorlock:guard` marks that this very process has been seen: "run id, epoch, maxTtl, state". Where it is missing, or
 * names another process, the master may have forgotten votes: from then on, for as long as any of them can live,
 * `quorlock:quarantine` lasts, and nothing is voted for. The epoch is another for each: it tells one loss of memory from the
 * next, where the process stays the same (FLUSHALL). State 2: in quarantine, 1: over, but its fencing counters are not
 * brought back, 0: sound.
 */
export const guard = `
local guarded

local function watch(maxTtl, epoch, isDurable, mark)
  guarded = nil
  if maxTtl == "0" then return end
  guarded = {why = "UNGUARDED maxTtl has not been compared with the other masters", wanted = maxTtl}
  local runId = string.match(call("INFO", "server"), "run_id:(%S+)")
  local marker = call("GET", "quorlock:guard") or ""
  local was, since, longest, state = string.match(marker, "^(%S+) (%d+) (%d+) (%d)$")
  if not was or was ~= runId and isDurable == "0" then
    if mark == "0" then return end
    if not was or tonumber(longest) < tonumber(maxTtl) then longest = maxTtl end
    since, state = epoch, (mark == "2" and not was) and "0" or "2"
    if state == "2" then call("SET", "quorlock:quarantine", "", "PX", longest) end
    was = runId
    call("SET", "quorlock:guard", was .. " " .. since .. " " .. longest .. " " .. state)
  elseif state == "2" and call("EXISTS", "quorlock:quarantine") == 0 then
    state = "1"
    call("SET", "quorlock:guard", was .. " " .. since .. " " .. longest .. " 1")
  end
  guarded.why, guarded.since, guarded.longest, guarded.state = nil, since, longest, state
  guarded.runId = was
end

-- Why a claim is refused, if it is. Extensions of running holds are not, unless they store a fencing token.
local function bar(kind, ttl, proposal)
  if guarded.why then return guarded.why end
  if guarded.longest ~= guarded.wanted or tonumber(ttl) > tonumber(guarded.longest) then
    return "MAXTTL the longest ttl is " .. guarded.longest .. " ms here"
  end
  if proposal == "" and (kind == "e" or kind == "p") then return nil end
  if guarded.state == "2" then
    return "QUARANTINE it may have forgotten votes, for " .. call("PTTL", "quorlock:quarantine") .. " ms more"
  end
  if proposal ~= "" and guarded.state == "1" then return "UNSEEDED " .. guarded.since end
end

local function inQuarantine() return guarded and (guarded.why or guarded.state == "2") end
`;

/** What clients do with it: what they compare before they begin, and how counters are brought back. */
export const guardSteps = `
local function findings()
  call("INFO", "server")
  local since, longest, state = string.match(call("GET", "quorlock:guard") or "", "^%S+ (%d+) (%d+) (%d)$")
  local left, floor = call("PTTL", "quorlock:quarantine"), call("GET", "quorlock:floor")
  return {tonumber(longest or 0), left, since or "", tonumber(state or 2), floor or "0"}
end

-- Brings the fencing counters back, unless memory was lost again since the floor was asked for.
local function seed(epoch, floor)
  if not guarded or guarded.state ~= "1" or guarded.since ~= epoch then return 0 end
  raise({}, math.max(counterOf({}), tonumber(floor)))
  call("SET", "quorlock:floor:past", floor, "PX", pastTtl)
  call("SET", "quorlock:guard", guarded.runId .. " " .. epoch .. " " .. guarded.longest .. " 0")
  guarded.state = "0"
  return 1
end
`;
