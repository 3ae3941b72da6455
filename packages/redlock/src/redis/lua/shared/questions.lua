-- The mark of a writer that retries because there is no queue (PROTOCOL 10.8): made where readers are in its way, kept wherever it
-- stands, and removed with `ms` 0.
local function retry(key, name, ms)
  local marks = marksOf(key)
  if ms == 0 then return call("ZREM", marks, name) end
  local isNew = tonumber(call("ZSCORE", marks, name) or -1) < now
  if isNew and (ownerOf(lockOf(key)) or not lastReader(key)) then return 0 end
  call("ZADD", marks, now + ms, name)
  if call("PTTL", marks) < ms then call("PEXPIRE", marks, ms) end
  local oldest = call("ZRANGE", marks, 0, 0, "WITHSCORES")
  if tonumber(oldest[2]) < now then call("ZREM", marks, oldest[1]) end
  return 1
end

-- A vote has no ticket, and readers do not keep readers out: so it is behind all who wait (PROTOCOL 10.4, 10.8).
local function refusalByWaiters(key, token)
  if not isShared(key) or ownerFor(key, token) then return nil end
  local mark = call("ZRANGE", marksOf(key), -1, -1, "WITHSCORES")
  if mark[1] and tonumber(mark[2]) >= now then return {1, "writers", mark[2] - now} end
  local queue = queueOf(key)
  local waiter, entry = headOf(queue)
  if not waiter then return nil end
  local left = call("PTTL", queue .. ":" .. string.sub(waiter, 1, 20))
  return {1, masked(waiter .. "." .. (string.match(entry, "^%d+") or "")), left}
end

local function claimed(kind, last, number, ticket, entryTtl, proposal)
  local token, reply, next = ARGV[arg], nil, nil
  joined = nil
  if kind == "q" then
    local alone = isShared(KEYS[key]) and "r" or "g"
    reply, next = enqueue(key, last, token, number, ticket, entryTtl, proposal, ARGV[arg + 1], alone)
    -- Others of its kind may stand directly behind it.
    if alone == "r" and type(reply) == "number" then joined = KEYS[key] end
  else
    reply = kind == "v" and refusalByWaiters(KEYS[key], token) or claim(key, last, token, number, kind ~= "e")
  end
  if joined and not inQuarantine() then give(joined) end
  return reply, next
end

-- Every release may let others in.
local function releaseUnwaited() end
local function inBulk() return 0 end
