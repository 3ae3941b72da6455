-- Locks whose claims may be shared: many readers or one writer (PROTOCOL 10.3). A lock has four keys: `:write` holds the writer's
-- token, like any lock; `:readers` has the readers by their expiry, `:rounds` the rounds of those whose tokens end with one,
-- `:marks` the writers that retry, by expiry. A queue, a fencing counter and the name of an exclusive claim belong to `:write`; a
-- shared claim is named by `:readers`. One script lets in readers or a writer, so they never both have the vote of one master.
-- A question has one key.

-- Before Redis 5 a script that asks for the time may write only so.
if redis.replicate_commands then redis.replicate_commands() end
local time = call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- The readers' key that a claim has joined: others who wait for it may join as well.
local joined

local function isShared(key) return string.sub(key, -8) == ":readers" end
local function lockOf(key) return (string.gsub(key, ":%a+$", ":write")) end
local function shared(key) return (string.gsub(key, ":%a+$", ":readers")) end
local function keyFor(key, how) return how == "r" and shared(key) or lockOf(key) end
local function roundsOf(key) return (string.gsub(key, ":%a+$", ":rounds")) end
local function marksOf(key) return (string.gsub(key, ":%a+$", ":marks")) end
local function queueOf(key) return "quorlock:queue:tagged:" .. lockOf(key) end

-- The waiter of a token, and its round; for a token without a round the token.
local function nameIn(token)
  local waiter, round = string.match(token, "^(.+)%.(%d+)$")
  return waiter or token, round
end

-- The token under which the waiter of `token` reads, and its expiry; false for none. As with a key, it is gone when its time is
-- over, not sooner.
local function readerOf(key, token)
  local name, round = nameIn(token)
  local expiry = tonumber(call("ZSCORE", key, name) or -1)
  if expiry < now then return false end
  return round and name .. "." .. (call("ZSCORE", roundsOf(key), name) or "0") or name, expiry
end

-- The reader that stays for longest, and its expiry.
local function lastReader(key)
  local last = call("ZRANGE", shared(key), -1, -1, "WITHSCORES")
  local expiry = tonumber(last[2] or -1)
  if expiry >= now then return last[1], expiry end
end

-- The owner that keeps `token` out, or its own claim. Readers keep a writer out under one name on all masters, which shows, like
-- a token, whether they grant what they release.
local function ownerFor(key, token)
  local writer = ownerOf(lockOf(key))
  if writer then return writer end
  if isShared(key) then return (readerOf(key, token)) end
  local last = lastReader(key)
  return last and (call("ZSCORE", roundsOf(key), last) and "readers.0" or "readers") or false
end

-- The rest of the claim in the way, as PTTL.
local function leftOf(key)
  local left = call("PTTL", lockOf(key))
  if left ~= -2 then return left end
  local _, expiry = lastReader(key)
  return expiry and expiry - now or -2
end

-- Lets a reader in, or renews it. Neither its time nor that of the set is shortened (PROTOCOL 2.11, 10.3).
local function admit(key, token, ms)
  local name, round = nameIn(token)
  local _, own = readerOf(key, token)
  local expiry = math.max(now + ms, own or 0)
  -- A master that is out of memory allows this, and what follows it in the same script (PROTOCOL 7.5).
  if own then call("PEXPIRE", key, math.max(call("PTTL", key), expiry - now)) end
  call("ZADD", key, expiry, name)
  if round then call("ZADD", roundsOf(key), round, name) end
  for _, set in ipairs({key, roundsOf(key)}) do
    if call("PTTL", set) < expiry - now then call("PEXPIRE", set, expiry - now) end
  end
  -- Each new reader removes a few dead ones.
  local oldest = call("ZRANGE", key, 0, 3, "WITHSCORES")
  for place = 1, #oldest, 2 do
    if tonumber(oldest[place + 1]) < now then
      call("ZREM", key, oldest[place])
      call("ZREM", roundsOf(key), oldest[place])
    end
  end
  return expiry - now
end

local function set(key, token, ms)
  if isShared(key) then admit(key, token, tonumber(ms)) else call("SET", key, token, "PX", ms) end
end

-- A reader's claim that nothing keeps out. A writer's key is its own: that is the downgrade, and every later extension repeats it
-- if it was lost.
local function join(key, token, ms)
  local writer = lockOf(key)
  local isWriter = call("EXISTS", writer) == 1
  if isWriter then
    ms = math.max(ms, call("PTTL", writer))
    call("PEXPIRE", writer, ms)
  end
  local left = admit(key, token, ms)
  -- Last: where the new claim cannot be written the old one stands (PROTOCOL 10.5).
  if isWriter then
    call("DEL", writer)
    joined = key
  end
  return left
end

-- Ends the claim of a token, or of an earlier round of its waiter. Returns the number of ended claims.
local function finish(key, token)
  local writer, isDropped = lockOf(key), false
  if isShared(key) and isMine(readerOf(key, token), token) then
    local name = nameIn(token)
    isDropped = call("ZREM", key, name) == 1
    call("ZREM", roundsOf(key), name)
  end
  -- (Also where a downgrade was lost.)
  if isMine(ownerOf(writer), token) then isDropped = call("DEL", writer) == 1 or isDropped end
  return isDropped and 1 or 0
end

local drop = finish
