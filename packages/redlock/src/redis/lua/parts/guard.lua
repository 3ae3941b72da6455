-- Delayed restarts (PROTOCOL 8.8, 9), for the scripts that claim keys.
--
-- `quorlock:guard` marks a memory that clients have seen: "replication id, epoch, end, maxTtl, database,
-- state". `quorlock:guard:memory` holds the epoch as well, in a form that exists only where it was written:
-- it is not replicated, and a value that was loaded from a file or from another master has another encoding.
-- If one of the two is missing or belongs to another memory, if the database is another one, or if the epoch
-- is older than the one that the client has seen at this address, the master may have forgotten votes. It is
-- then in quarantine, and does not vote, for as long as any forgotten vote can live. The epoch identifies one
-- loss of memory, also within one process (FLUSHALL), and grows with each. State 2: in quarantine. State 1:
-- the quarantine is over, but the fencing counters are not restored. State 0: ready.
-- `quorlock:guard:clock` holds the epoch of a quarantine for a clock that has stepped: such a master may have voted for others
-- since a key expired too early.
--
-- The quarantine ends when `quorlock:quarantine` has expired *and* `end` has passed by the wall clock of the
-- asking client: a master that boots with a slow clock and is set forward expires the key at once.
--
-- The terms of a client are "maxTtl,epoch,durable,right,now,database,after", see `RestartGuard`; "0" for no
-- guard.
local guarded

local function mark(state, ends, length)
  -- In this order: if only the first of them are written, the marker still does not belong to this memory.
  if length then call("SET", "quorlock:quarantine", exactly(length), "PX", exactly(length)) end
  local words = {guarded.replId, guarded.since, exactly(ends), guarded.longest, guarded.database, state}
  call("SET", "quorlock:guard", table.concat(words, " "))
  -- A number is a text after SETRANGE, and a number again when it is loaded (PROTOCOL 9.2).
  local function keepInMemory()
    call("SET", "quorlock:guard:memory", guarded.since)
    call("SETRANGE", "quorlock:guard:memory", 0, guarded.since)
  end
  redis.set_repl(redis.REPL_NONE)
  local isKept, why = pcall(keepInMemory)
  redis.set_repl(redis.REPL_ALL)
  if not isKept then error(why, 0) end
  guarded.state, guarded.ends = state, ends
end

local function watch(terms)
  -- Whether this memory is the one of a marker with this replication id and epoch (PROTOCOL 9.3).
  local function isMemoryOf(was, since, durable, info)
    local isSame = was == guarded.replId
    -- Another id, and none before it: a new history began, which has no data of another master.
    if not isSame and not string.find(info, "master_replid2:0+\r") then return false end
    if durable == "1" and not isSame then return true end
    return call("GET", "quorlock:guard:memory") == since
      and call("OBJECT", "ENCODING", "quorlock:guard:memory") == "raw"
  end
  guarded = nil
  local maxTtl, epoch, durable, right, now, database, after =
    string.match(terms, "^(%d+),(%d+),(%d),(%d),(%d+),(%d+),(%d+)$")
  if not maxTtl then return end
  now = tonumber(now)
  guarded = {why = "UNGUARDED maxTtl has not been compared with the other masters", wanted = maxTtl, now = now}
  local info = call("INFO", "replication")
  guarded.replId = string.match(info, "master_replid:(%S+)")
  if not guarded.replId then
    guarded.why = "UNGUARDED its INFO has no master_replid"
    return
  end
  -- The memory of a replica changes at any time.
  if not string.find(info, "role:master", 1, true) then
    guarded.why = "READONLY it is a replica"
    return
  end
  local was, since, ends, longest, place, state =
    string.match(call("GET", "quorlock:guard") or "", "^(%S+) (%d+) (%d+) (%d+) (%d+) (%d)$")
  local isKnown = was and place == database and tonumber(since) >= tonumber(after)
    and isMemoryOf(was, since, durable, info)
  if isKnown then
    guarded.since, guarded.longest, guarded.database = since, longest, place
    guarded.state, guarded.ends, guarded.isKnown = state, tonumber(ends), true
    -- (If the write is refused, the next script repeats it.)
    if was ~= guarded.replId then pcall(mark, state, guarded.ends) end
  elseif right == "0" then
    return
  elseif right == "3" then
    -- The client asks whether this master is new: its declaration counts only if it finds this key, in the same
    -- memory. (A key of its own: another client may ask at the same time.)
    if not was then call("SET", "quorlock:guard:new:" .. epoch, "", "PX", 60000) end
    return
  end
  if isKnown and right ~= "4" then
    if state == "2" then
      local left, length = call("PTTL", "quorlock:quarantine"), tonumber(call("GET", "quorlock:quarantine") or "")
      -- The master's clock was set back: the key would live for as long (PROTOCOL 9.10).
      if length and left > length then
        call("PEXPIRE", "quorlock:quarantine", length)
        left = length
      end
      -- The end was set by a clock far ahead of this client's. (If the write is refused, the quarantine goes on.)
      local isFar = guarded.ends > now + math.max(tonumber(longest), left)
      if isFar then pcall(mark, "2", now + (left == -2 and tonumber(longest) or left)) end
      if left == -2 and guarded.ends <= now then pcall(mark, "1", 0) end
    end
  else
    local length = math.max(tonumber(longest or 0), tonumber(maxTtl))
    guarded.since = exactly(math.max(tonumber(since or 0) + 1, tonumber(epoch)))
    guarded.database, guarded.longest = database, isKnown and longest or maxTtl
    local isForClock = isKnown and (state ~= "2" or call("GET", "quorlock:guard:clock") == since)
    if isForClock then call("SET", "quorlock:guard:clock", guarded.since) end
    if right ~= "2" or was then mark("2", now + length, length)
    elseif call("GET", "quorlock:guard:new:" .. epoch) then mark("0", 0)
    else
      guarded.why = "UNGUARDED it was emptied since it was asked whether it is new"
      return
    end
    guarded.isKnown = true
  end
  guarded.why = nil
end

-- The reason to refuse a claim, or nil. Extensions are not refused, unless they store a fencing token.
local function bar(kind, ttl, proposal)
  if guarded.why then return guarded.why end
  if guarded.longest ~= guarded.wanted or tonumber(ttl) > tonumber(guarded.longest) then
    return "MAXTTL the longest ttl is " .. guarded.longest .. " ms here"
  end
  if proposal == "" and (kind == "e" or kind == "p") then return nil end
  if guarded.state == "2" then
    local left = math.max(call("PTTL", "quorlock:quarantine"), guarded.ends - guarded.now)
    return "QUARANTINE it may have forgotten votes, for " .. exactly(left) .. " ms more"
  end
  if proposal ~= "" and guarded.state == "1" then return "UNSEEDED " .. guarded.since end
end

local function inQuarantine() return guarded and (guarded.why or guarded.state == "2") end
local function isNew()
  return guarded and guarded.state == "2" and call("GET", "quorlock:guard:clock") ~= guarded.since
end
