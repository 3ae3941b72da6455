-- The ticket queue (PROTOCOL 7): a sorted set of waiters by ticket, `queueOf` the key. It only withholds votes, or moves a key
-- that its owner has released. The entry of each waiter is in a key beside the queue, which expires without heartbeats; its name
-- has no more than 20 characters of the waiter, since monitors see the names of keys, and a whole token releases its lock
-- (PROTOCOL 2.17).
--
-- An entry is "round ttl inbox proposal how": "-" is no inbox, an empty proposal is none. `how` is the effect of a release on this
-- waiter: "g" grants the key (the waiter wants this key alone), "r" the same to a reader, "w" reserves the key and wakes the
-- waiter (this was the key that blocked it), "s" only reserves the key. A grant is published to the inbox as the token, the
-- counter for a fenced one, and the next ticket in the queue, "-" for none; a wake as "wake" and the token.
--
-- Two rules keep a refused write from creating two holders:
-- - A script writes before it publishes. Redis refuses (OOM, MISCONF, NOREPLICAS, READONLY) the first write of a script or none,
--   so after one successful write no other is refused, and the keys agree with the messages.
-- - A script writes to no lock except those it was called for. A waiter for several keys claims them itself.

-- @include "asking"
-- @include "fencing"

-- An ACL refuses a command behind a write as well: then a queue would have no expiry, or a waiter would not get the key that was
-- freed. So the commands are checked before the first write. (Before Redis 7 a script cannot ask.)
local function demand(key, commands)
  local check = redis.acl_check_cmd
  for command in string.gmatch(check and commands or "", "%u+") do
    if not check(command, key) then
      error({err = "NOPERM this user has no permissions to run the '" .. string.lower(command) .. "' command"})
    end
  end
end

local function forget(queue, waiter)
  if call("ZREM", queue, waiter) == 1 then call("DEL", queue .. ":" .. string.sub(waiter, 1, 20)) end
end

-- Sets the key to the waiter's token for as long as its entry `lives`, and at most for the ttl that it asks for.
local function reserve(key, token, lives, ttl)
  set(key, token, math.max(1, math.min(lives, tonumber(ttl))))
end

-- Sets a free key to a waiter's token, publishes the grant and removes the waiter's entry. Returns the number of subscribers that
-- received it.
local function grant(key, queue, waiter, token, ttl, inbox, proposal)
  local next = call("ZRANGE", queue, 1, 1, "WITHSCORES")[2] or "-"
  local counter = proposal ~= "" and counterOf({lockOf(key)})
  set(key, token, ttl)
  if counter then raise({lockOf(key)}, math.max(counter, tonumber(proposal))) end
  local told = redis.pcall("PUBLISH", inbox, token .. " " .. (counter and exactly(counter) or "-") .. " " .. next)
  if type(told) == "number" then forget(queue, waiter)
  else reserve(key, token, call("PTTL", queue .. ":" .. string.sub(waiter, 1, 20)), ttl) end
  return told
end

-- Whether the master has its fencing counters: without them it gives no fenced vote (PROTOCOL 8.8).
local isSeeded = true
-- A script sweeps at most `sweeps` times `swept` members of one queue, and `unswept` members of all queues, some 2 us each. The
-- next script sweeps the rest.
local sweeps, swept, unswept = 8, 128, 4096
-- A script skips at most `skips` waiters without a subscriber, some 20 us each. Then it frees the key, and the next entry that
-- asks for the key continues from there.
local skips = 256

-- Removes dead waiters among the members `from` to `to` of a queue. Returns the first live one, its entry, and the number of
-- members. `asking` counts as live, even before it has an entry.
local function sweep(queue, from, to, asking)
  local waiters, names, dead = unswept > 0 and call("ZRANGE", queue, from, to) or {}, {}, {}
  if #waiters == 0 then return nil, nil, 0 end
  unswept = unswept - #waiters
  for index, waiter in ipairs(waiters) do names[index] = queue .. ":" .. string.sub(waiter, 1, 20) end
  local entries, head, entry = redis.pcall("MGET", unpack(names)), nil, nil
  -- (An ACL may forbid MGET. A refusal behind a write would leave the waiter without the key.)
  if entries.err then for index, name in ipairs(names) do entries[index] = call("GET", name) end end
  for index, waiter in ipairs(waiters) do
    if not entries[index] and waiter ~= asking then dead[#dead + 1] = waiter
    elseif not head then head, entry = waiter, entries[index] end
  end
  if #dead > 0 then call("ZREM", queue, unpack(dead)) end
  return head, entry, #waiters
end

-- The live waiter with the smallest ticket, and its entry.
local function headOf(queue, asking)
  local first = call("ZRANGE", queue, 0, 0)[1]
  if not first or first == asking then return first end
  local entry = call("GET", queue .. ":" .. string.sub(first, 1, 20))
  if entry then return first, entry end
  for _ = 1, sweeps do
    local waiter, found, count = sweep(queue, 0, swept - 1, asking)
    if waiter or count < swept then return waiter, found end
  end
end

-- Gives a key to those at the head of its queue whom nobody keeps out: to one waiter, or to readers until a writer waits. The
-- claim of `ending` ends before. A waiter that is subscribed and waits for this key alone gets its vote at once. For any other
-- waiter the key is reserved as long as its entry lives: the waiter's next heartbeat finds it. A waiter without a subscriber is
-- dead. (PUBLISH also counts subscribers of patterns, such as a monitor of all channels, which takes no vote. An ACL may forbid
-- PUBSUB.)
local function give(key, ending)
  -- A master that refuses writes refuses this one, before a grant is published.
  if ending then finish(key, ending) end
  local queue = queueOf(key)
  while skips > 0 do
    local waiter, entry = headOf(queue)
    if not waiter then return end
    local round, ttl, inbox, proposal, how = string.match(entry, "^(%d+) (%d+) (%S+) (%d*) ([gwsr])$")
    local token, isTold = waiter .. "." .. (round or ""), round and inbox ~= "-"
    local counts = isTold and mayAsk and redis.pcall("PUBSUB", "NUMSUB", inbox)
    key = keyFor(key, how)
    if not round or counts and not counts.err and counts[2] == 0 then
      forget(queue, waiter)
    elseif mayShare and ownerFor(key, token) then return
    elseif isTold and (how == "g" or how == "r") and (isSeeded or proposal == "") then
      local told = grant(key, queue, waiter, token, ttl, inbox, proposal)
      if told ~= 0 and how == "g" then return end
      if told == 0 then finish(key, token) end
    else
      reserve(key, token, call("PTTL", queue .. ":" .. string.sub(waiter, 1, 20)), ttl)
      if isTold and how == "w" then redis.pcall("PUBLISH", inbox, "wake " .. token) end
      return
    end
    skips = skips - 1
  end
end
