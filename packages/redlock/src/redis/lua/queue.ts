import { fence } from "./fencing.ts";

/**
 * The first line of scripts that make the key of a queue of that of a resource: Dragonfly refuses keys that are not declared
 * unless this asks for them. To other servers it is a comment.
 */
export const undeclaredKeys = "--!df flags=allow-undeclared-keys";

/** The name of a key's queue, without a call. (Finding a brace is faster than matching the pattern.) */
export const queueNameOf = (key: string): string =>
  `(string.find(${key}, "{", 1, true) and string.find(${key}, "^[^{]*{[^}]+}") and "quorlock:queue:tagged:" .. ${key} or "quorlock:queue:{" .. ${key} .. "}")`;

const shownOfWaiter = 20;

/**
 * The name of a waiter's entry: no more than 20 characters of the waiter, since monitors see the names of keys, and a whole
 * token releases its lock (PROTOCOL 2.17).
 */
export const entryNameOf = (queue: string, waiter = "waiter"): string =>
  `${queue} .. ":" .. string.sub(${waiter}, 1, ${shownOfWaiter})`;
/**
 * The key of a key's queue: a sorted set of waiters by ticket. The entry of each waiter is in a key beside
 * it, which expires without heartbeats. All are in the slot of the key itself, for plain clients of a
 * Cluster's master.
 */
export const queueOf: string = `
<<local function queueOf(key) return ${queueNameOf("key")} end||local function queueOf(key) return "quorlock:queue:tagged:" .. exclusive(key) end>>
`;

/** Conditions on a key: it holds exactly `token` (PROTOCOL 5.1); and its queue is empty, so that a release deletes it. */
const isOwn = (key: string): string => `redis.pcall("GET", ${key}) == token`;
const isUnwaited = (key: string): string => `call("EXISTS", queueOf(${key})) == 0`;

/**
 * The beginning of a script that releases all KEYS, with the token as the last of ARGV. It handles the most
 * frequent cases of one key before any function is defined: a master that was idle for milliseconds takes longer for
 * the functions than for the commands. `otherwise`: the case with waiters.
 */
export const releaseFirst = (otherwise: string): string => `
local key, token = KEYS[1], ARGV[#ARGV]
if not KEYS[2] and ${isOwn("key")} then
  local queue = ${queueNameOf("key")}
  if call("EXISTS", queue) == 0 then return call("DEL", key) end
${otherwise}end
${queueOf}`;

/** The commands of `leave` and of `enqueue` that an ACL may refuse. */
const toGive = "DEL GET PTTL SET ZRANGE ZREM";
const toEnter = `${toGive} PEXPIRE ZADD`;
/** A condition: the user may run all of these on `key`; `demand` explains what it may not. */
const isAllowed = (...commands: readonly string[]): string =>
  `(not redis.acl_check_cmd or ${commands.map((name) => `redis.acl_check_cmd("${name}", key)`).join(" and ")})`;

/** Before Redis 5 a script may write after PUBSUB only with replicate_commands. */
const asking = `
local mayAsk = redis.replicate_commands or redis.REDIS_VERSION_NUM
if redis.replicate_commands then redis.replicate_commands() end
`;
/**
 * Subscribers of the inbox itself: {inbox, their number}, or an error where the ACL forbids PUBSUB. (PUBLISH also
 * counts subscribers of patterns, such as a monitor of all channels, which takes no vote.)
 */
const subscribersOf = (inbox: string): string => `mayAsk and redis.pcall("PUBSUB", "NUMSUB", ${inbox})`;

/**
 * For {@link releaseFirst}: handles a first waiter that wants this key alone and has a subscriber. Nothing is
 * deleted before the grant, as a full master requires: a write that it refuses here is left to `leave`. A
 * token of the releasing waiter's own queue entry is left to it as well.
 */
export const grantFirst: string = `
  local own = string.match(token, "^(.+)%.%d+$") or ""
  local first, _, _, next = unpack(not ARGV[2] and call("ZRANGE", queue, 0, 1, "WITHSCORES") or {})
  local place = ${entryNameOf("queue", 'first or ""')}
  local entries = first and redis.pcall("MGET", place, ${entryNameOf("queue", "own")})
  local entry = entries and not entries[2] and entries[1] or ""
  local round, ttl, inbox, proposal = string.match(entry, "^(%d+) (%d+) (%S+) (%d*) g$")
  if round and inbox ~= "-" then
${asking}
    local counts, given = ${subscribersOf("inbox")}, first .. "." .. round
    local function grantKey()
      local counter = "-"
      if proposal ~= "" then
${fence}
        local largest = counterOf({key})
        raise({key}, math.max(largest, tonumber(proposal)))
        counter = exactly(largest)
      end
      call("SET", key, given, "PX", ttl)
      local told = redis.pcall("PUBLISH", inbox, given .. " " .. counter .. " " .. (next or "-"))
      if type(told) ~= "number" then
        call("SET", key, given, "PX", math.max(1, math.min(call("PTTL", place), tonumber(ttl))))
      elseif call("ZREM", queue, first) == 1 then call("DEL", place) end
    end
    if counts and not counts.err and counts[2] > 0 and ${isAllowed("DEL", "PTTL", "ZREM")}
      and pcall(grantKey) then return 1 end
  end
`;

/** Releases KEYS `first` to `last` if none of them has waiters: then nothing is granted. */
export const releaseUnwaited: string = `
local function releaseUnwaited(first, last, token)
  for index = first, last do
    if not (${isOwn("KEYS[index]")} and ${isUnwaited("KEYS[index]")}) then return nil end
  end
  local given = 0
  for index = first, last do given = given + call("DEL", KEYS[index]) end
  return given
end
`;

/**
 * `releaseUnwaited` for many locks of one key each, with ARGV from `from` on: three commands for all. If it does not
 * apply to one of them, it does nothing and returns nothing. Returns the number of released keys; or, if a
 * key appears twice, the reply to each: the second finds the key deleted by the first.
 */
export const releaseAllUnwaited = `
local function releaseAllUnwaited(first, last, from)
  local owners, queues = call("MGET", unpack(KEYS, first, last)), {}
  for place = 1, last - first + 1 do
    if owners[place] ~= ARGV[from + place - 1] then return nil end
    queues[place] = queueOf(KEYS[first + place - 1])
  end
  if call("EXISTS", unpack(queues)) > 0 then return nil end
  local gone = call("DEL", unpack(KEYS, first, last))
  if gone == #queues then return gone end
  local each, seen = {}, {}
  for place = 1, #queues do
    local key = KEYS[first + place - 1]
    each[place] = seen[key] and 0 or 1
    seen[key] = true
  end
  return each
end
`;

/**
 * The ticket queue (PROTOCOL 7). It only withholds votes, or moves a key that its owner has released.
 *
 * An entry is "round ttl inbox proposal how": "-" is no inbox, an empty proposal is none. `how` is the effect
 * of a release on this waiter: "g" grants the key (the waiter wants this key alone), "w" reserves the key and
 * wakes the waiter (this was the key that blocked it), "s" only reserves the key. A grant is published to the
 * inbox as the token, the counter for a fenced one, and the next ticket in the queue, "-" for none; a wake as "wake"
 * and the token.
 *
 * Two rules keep a refused write from creating two holders:
 * - A script writes before it publishes. Redis refuses (OOM, MISCONF, NOREPLICAS, READONLY) the first write
 *   of a script or none, so after one successful write no other is refused, and the keys agree with the
 *   messages.
 * - A script writes to no lock except those it was called for. A waiter for several keys claims them itself.
 */
export const queue: string = `${queueOf}${asking}${fence}
-- An ACL refuses a command behind a write as well: then a queue would have no expiry, or a waiter would not get the key
-- that was freed. So the commands are checked before the first write. (Before Redis 7 a script cannot ask.)
local function demand(key, commands)
  for command in string.gmatch(redis.acl_check_cmd and commands or "", "%u+") do
    if not redis.acl_check_cmd(command, key) then
      error({err = "NOPERM this user has no permissions to run the '" .. string.lower(command) .. "' command"})
    end
  end
end
<<||local needed = "DEL EXISTS GET PEXPIRE PTTL SET ZADD ZRANGE ZREM ZSCORE"
>>
local function isSubscribed(inbox)
  local counts = ${subscribersOf("inbox")}
  if not counts or counts.err then return nil end
  return counts[2] > 0
end

local function forget(key, waiter)
  local queue = queueOf(key)
  if call("ZREM", queue, waiter) == 1 then call("DEL", ${entryNameOf("queue")}) end
end

-- Sets the key to the waiter's token for as long as its entry lives, and at most for the ttl that it asks for.
local function reserve(key, token, lives, ttl)
  <<call("SET", key, token, "PX", ||set(key, token, >>math.max(1, math.min(lives, tonumber(ttl))))
end

local function push(inbox, message)
  local told = redis.pcall("PUBLISH", inbox, message)
  return type(told) == "number" and told or nil
end

-- Sets a free key to a waiter's token, publishes the grant and removes the waiter's entry. \`next\`: the ticket behind it.
-- Returns the number of subscribers that received it.
local function grant(key, waiter, token, ttl, inbox, proposal, next)
  local counter = proposal ~= "" and counterOf({key})
  <<call("SET", key, token, "PX", ttl)||set(key, token, ttl)>>
  if counter then raise({key}, math.max(counter, tonumber(proposal))) end
  local told = push(inbox, token .. " " .. (counter and exactly(counter) or "-") .. " " .. (next or "-"))
  if told then forget(key, waiter) else reserve(key, token, call("PTTL", ${entryNameOf("queueOf(key)")}), ttl) end
  return told
end

-- Whether the master has its fencing counters: without them it gives no fenced vote (PROTOCOL 8.8).
local isSeeded = true
-- A script sweeps at most \`sweeps\` times \`swept\` members of one queue, and \`unswept\` members of all queues, some 2 us
-- each. The next script sweeps the rest.
local sweeps, swept, unswept = 8, 128, 4096
-- A script skips at most \`skips\` waiters without a subscriber, some 20 us each. Then it frees the key, and the next
-- entry that asks for the key continues from there.
local skips = 256

-- Removes dead waiters among the members \`from\` to \`to\` of a queue. Returns the first live one, its entry, and the
-- number of members. \`asking\` counts as live, even before it has an entry.
local function sweep(queue, from, to, asking)
  local waiters, names, dead = unswept > 0 and call("ZRANGE", queue, from, to) or {}, {}, {}
  if #waiters == 0 then return nil, nil, 0 end
  unswept = unswept - #waiters
  for index, waiter in ipairs(waiters) do names[index] = ${entryNameOf("queue")} end
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
  local entry = call("GET", ${entryNameOf("queue", "first")})
  if entry then return first, entry end
  for _ = 1, sweeps do
    local waiter, found, count = sweep(queue, 0, swept - 1, asking)
    if waiter or count < swept then return waiter, found end
  end
end

-- The ticket behind the head of a queue; nil for none.
local function behind(queue) return call("ZRANGE", queue, 1, 1, "WITHSCORES")[2] end

-- Gives a key without an owner to the first waiter of its queue, or frees it. A waiter that is subscribed and waits for
-- this key alone gets its vote at once. For any other waiter the key is reserved as long as its entry lives: the
-- waiter's next heartbeat finds it. A waiter without a subscriber is dead.
local function give(key)
<<  -- A master that refuses writes refuses this one, before a grant is published.
  call("DEL", key)
||>>  local queue, isSet = queueOf(key), false
  while true do
    local waiter, entry = headOf(queue)
    if not waiter or skips == 0 then
<<      if isSet then call("DEL", key) end
||>>      return
    end
    local round, ttl, inbox, proposal, how = string.match(entry, "^(%d+) (%d+) (%S+) (%d*) ([gws<<||r>>])$")
    local token = waiter .. "." .. (round or "")
    local isTold = round and inbox ~= "-"
<<||    key = how == "r" and shared(key) or exclusive(key)
>>    if not round or isTold and isSubscribed(inbox) == false then
      forget(key, waiter)
<<||    elseif ownerFor(key, token) then return
>>    elseif isTold and <<how == "g" and ||>>(isSeeded or proposal == "") then
      isSet = true
      local told = grant(key, waiter, token, ttl, inbox, proposal, behind(queue))
      if told ~= 0 <<||and how == "g" >>then return end
<<||      if told == 0 then drop(key, token) end
>>    else
      reserve(key, token, call("PTTL", ${entryNameOf("queue")}), ttl)
      if isTold and how == "w" then push(inbox, "wake " .. token) end
      return
    end
    skips = skips - 1
  end
end
`;

/** Puts a waiter into a queue. The queue gets twice the time of an entry, so that most entries need not renew it. */
const entering = `
    call("ZADD", queue, ticket, waiter)
    if call("PTTL", queue) < tonumber(entryTtl) then call("PEXPIRE", queue, 2 * entryTtl) end
`;
/** One new entry in ten, by its ticket, removes dead waiters behind a live head (PROTOCOL 7.14). */
const isSweeping = `round == "1" and string.sub(ticket, -1) == "0"`;

/**
 * `enqueue` for the most frequent case, one key that another waiter has: before any function but `masked`, like
 * {@link releaseFirst}.
 */
export const enqueueFirst: string = `
local key, token, ttl, ticket, entryTtl, proposal, inbox = KEYS[1], unpack(ARGV)
local waiter, round = string.match(token, "^(.+)%.(%d+)$")
local owner = not KEYS[2] and not (${isSweeping}) and redis.pcall("GET", key)
if round and type(owner) == "string" and string.match(owner, "^(.+)%.%d+$") ~= waiter
  and ${isAllowed("DEL", "PEXPIRE", "SET", "ZADD", "ZRANGE", "ZREM")} then
  local queue, left = ${queueNameOf("key")}, call("PTTL", key)
${entering}
  call("SET", ${entryNameOf("queue")}, round .. " " .. ttl .. " " .. inbox .. " " .. proposal .. " g", "PX", entryTtl)
  return {1, masked(owner), left, call("ZRANGE", queue, -1, -1, "WITHSCORES")[2]}
end
`;

/**
 * Votes for `token` if all KEYS `first` to `last` are free or its own and no waiter is ahead of it. Otherwise
 * it gets an entry in each queue, for `entryTtl` ms, and keys granted to it earlier go to the head of the
 * queue: heartbeat, vote and yield in one step (PROTOCOL 7.8, 7.11). Free keys whose queue it heads are reserved for
 * it. Returns the result of `claim`; a refusal also contains the largest ticket, and with a yes comes the smallest
 * ticket that waits behind it for any of the keys (PROTOCOL 7.15), nil for none.
 */
export const enqueue: string = `
local function enqueue(first, last, token, ttl, ticket, entryTtl, proposal, inbox)
  local waiter, round = string.match(token, "^(.+)%.(%d+)$")
  local queues, isTaken, blocked, isHeld = {}, {}, nil, false
  local function claimOnly(create)
    local next
    for index = first, last do
      forget(KEYS[index], waiter)
      local ticket = call("ZRANGE", queues[index], 0, 0, "WITHSCORES")[2]
      if ticket and (not next or tonumber(ticket) < tonumber(next)) then next = ticket end
    end
<<||    -- Others of its kind may stand directly behind it.
    if isShared(KEYS[first]) then joined = KEYS[first] end
>>    return claim(first, last, token, ttl, create), next
  end
  for index = first, last do
    local owner = <<ownerOf(KEYS[index])||ownerFor(KEYS[index], token)>>
    isHeld = isHeld or owner == token
    queues[index] = queueOf(KEYS[index])
    isTaken[index] = owner and not isMine(owner, token) and owner
    if isTaken[index] then blocked = blocked or index end
  end
  -- A detached lease has this key: a late queue entry must not grant it to others (PROTOCOL 5.8).
  if isHeld then return claimOnly(false) end
  local waited = 0
  for index = first, blocked and first - 1 or last do waited = waited + call("EXISTS", queues[index]) end
  if not blocked and waited == 0 then return claim(first, last, token, ttl, true) end
<<  demand(KEYS[first], "${toEnter}")
||>>  local entry = round .. " " .. ttl .. " " .. inbox .. " " .. proposal .. " "
  local isFirst, waitsFor = {}, nil
  for index = first, last do
    local queue = queues[index]
${entering}    if ${isSweeping} then sweep(queue, 1, 80, waiter) end
    isFirst[index] = not isTaken[index] and headOf(queue, waiter) == waiter
    if not isTaken[index] and not isFirst[index] then waitsFor = waitsFor or index end
  end
  local inTheWay, refusal = blocked or waitsFor, nil
  for index = first, inTheWay and last or first - 1 do
    local how = <<first == last and "g" or index == inTheWay and "w" or "s"||isShared(KEYS[index]) and "r" or "g">>
    call("SET", ${entryNameOf("queues[index]")}, entry .. how, "PX", entryTtl)
    if isFirst[index] then
      reserve(KEYS[index], token, tonumber(entryTtl), ttl)
    else
      if not isTaken[index] then <<||drop(KEYS[index], token) >>give(KEYS[index]) end
      local owner = not refusal and (isTaken[index] or <<ownerOf(KEYS[index])||ownerFor(KEYS[index], token)>>)
      if not refusal and not isMine(owner, token) then
        local latest = call("ZRANGE", queues[index], -1, -1, "WITHSCORES")[2]
        refusal = {index - first + 1, masked(owner<<|| or ownerFor(exclusive(KEYS[index]), token)>>), <<call("PTTL", KEYS[index])||leftOf(KEYS[index])>>, latest}
      end
    end
  end
  -- (No refusal where only dead waiters were ahead.)
  if refusal then return refusal end
  return claimOnly(true)
end
`;

/**
 * Like `release`, but grants released keys to the first waiter and removes the entries of the tokens' own
 * waiters: from all queues before anything is granted, and without entries that a later round has made
 * (PROTOCOL 7.10).
 */
export const leave: string = `
local function forgetAll(key, from, to)
  for token = from, to do
    local waiter, round = string.match(ARGV[token], "^(.+)%.(%d+)$")
    -- (A dead entry of an earlier round is swept when it reaches the head.)
    local entry = waiter and call("GET", ${entryNameOf("queueOf(key)")})
    local entered = entry and tonumber(string.match(entry, "^%d+"))
    if entered and entered <= tonumber(round) then forget(key, waiter) end
  end
end

local function leave(first, last, from, to)
<<  demand(KEYS[first], "${toGive}")
||>>  for index = first, last do forgetAll(KEYS[index], from, to) end
  local given = 0
  for index = first, last do
<<    local owner, mine = ownerOf(KEYS[index]), false
    for token = from, to do mine = mine or isMine(owner, ARGV[token]) end
    if mine then
      given = given + 1
      give(KEYS[index])
    end
||    -- An entry that leaves may have been all that others waited for.
    if dropAll(KEYS[index], from, to) then given = given + 1 end
    give(KEYS[index])
>>  end
  return given
end
`;
