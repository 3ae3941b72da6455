import { guard } from "./guard-script.ts";

/** A Lua script and the digest by which a master that knows it can be asked to run it. */
export interface Script {
  readonly source: string;
  /** SHA-1 of `source`. A test on a real server keeps the two together. */
  readonly sha1: string;
}

/**
 * Whether a key with this value belongs to `token`: it holds the very token, or that of an earlier round of the same
 * waiter (PROTOCOL 14.3). A command of an old round so never touches the vote of a later one.
 */
const isMine = `
local function isMine(owner, token)
  if owner == token then return true end
  if not owner then return false end
  local waiter, round = string.match(token, "^(.+)%.(%d+)$")
  local other, earlier = string.match(owner, "^(.+)%.(%d+)$")
  return waiter ~= nil and waiter == other and tonumber(earlier) < tonumber(round)
end
`;

/**
 * Claims KEYS `first` to `last` for `token` and at least `ttl` ms, or none. With `create` free keys are set, else
 * they refuse. One function is the vote (free keys are set), the repairing extension (the same), the plain
 * extension, the question after a refused SET, `verify` (an extension by 1 ms, which changes nothing), and, where a
 * `previous` token is named, the swap by which a hold is passed on within a process.
 *
 * - A key that holds the token counts as claimed (PROTOCOL 2.7) and is renewed (14.2).
 * - No key is ever shortened (14.1).
 * - All keys are looked at before the first is written: all or none.
 *
 * Returns ms that the shortest key lives (-1: for ever), or {index of the first key that refuses, its value or nil,
 * its PTTL}.
 */
const claim = `
local function claim(first, last, token, ttl, create, previous)
  local least = tonumber(ttl)
  local owners = {}
  for index = first, last do
    local owner = redis.call("GET", KEYS[index])
    owners[index] = owner
    local mine = isMine(owner, token) or previous and isMine(owner, previous)
    if not mine and (owner or not create) then
      return {index - first + 1, owner, redis.call("PTTL", KEYS[index])}
    end
  end
  local shortest
  for index = first, last do
    local left = redis.call("PTTL", KEYS[index])
    if left == -1 then
      if owners[index] ~= token then redis.call("SET", KEYS[index], token) end
    elseif left < least then
      redis.call("SET", KEYS[index], token, "PX", ttl)
      left = least
    elseif owners[index] ~= token then
      redis.call("SET", KEYS[index], token, "PX", left)
    end
    if left ~= -1 and (not shortest or left < shortest) then shortest = left end
  end
  return shortest or -1
end
`;

/**
 * Deletes those of KEYS `first` to `last` that belong to one of ARGV `from` to `to`, and returns how many. Comparing
 * and deleting in one step is what keeps a late release from taking somebody else's lock (PROTOCOL 5).
 */
const release = `
local function release(first, last, from, to)
  local deleted = 0
  for index = first, last do
    local owner = redis.call("GET", KEYS[index])
    for token = from, to do
      if isMine(owner, ARGV[token]) then deleted = deleted + redis.call("DEL", KEYS[index]) break end
    end
  end
  return deleted
end
`;

/**
 * Where the queue of a key is: a sorted set of waiters by their tickets. What a waiter wants stands beside it, in a
 * key that dies with its heartbeat. In the same slot as the key itself.
 */
const queueOf = `
local function queueOf(key)
  local tag = string.match(key, "^[^{]*{([^}]*)}")
  if tag and tag ~= "" then return "quorlock:queue:tagged:" .. key end
  return "quorlock:queue:{" .. key .. "}"
end
`;

/**
 * Fencing counters (PROTOCOL 8): the largest token that was stored for a key. They are forgotten when the key was not
 * wanted for a day. `quorlock:floor` is above all that were ever stored, and never expires: by up to a million, a second's
 * worth of proposals, so that it is seldom written. What it was within the last half a day is `quorlock:floor:past`, and
 * no counter counts for less. So a counter that was forgotten is not
 * missed, and those of other keys, which may be ahead of it by a clock, stay out of its way. Numbers are exact below
 * 2^53.
 */
const fence = `
local counterTtl, pastTtl, most = 86400000, 43200000, 2 ^ 53 - 2 ^ 20
local tooLarge = "ERR the fencing token is too large"

local function exactly(number) return string.format("%.0f", number) end

local function counterOf(keys)
  local past = redis.call("GET", "quorlock:floor:past")
  if not past then
    past = redis.call("GET", "quorlock:floor") or "0"
    redis.call("SET", "quorlock:floor:past", past, "PX", pastTtl)
  end
  local largest = tonumber(past)
  for _, key in ipairs(keys) do
    largest = math.max(largest, tonumber(redis.call("GET", "quorlock:fence:" .. key) or 0))
  end
  return largest
end

local function raise(keys, counter)
  for _, key in ipairs(keys) do
    redis.call("SET", "quorlock:fence:" .. key, exactly(counter), "PX", counterTtl)
  end
  if counter >= tonumber(redis.call("GET", "quorlock:floor") or 0) then
    redis.call("SET", "quorlock:floor", exactly(counter + 1000000))
  end
  -- The clock was set back: the counter might be forgotten before the past is.
  if redis.call("PTTL", "quorlock:floor:past") > pastTtl then redis.call("DEL", "quorlock:floor:past") end
end

-- What is replied to a claim that is granted: with its proposal stored, the largest counter before.
local function fenced(keys, granted, proposal)
  local counter = counterOf(keys)
  raise(keys, math.max(counter, tonumber(proposal)))
  return {-1, granted, exactly(counter)}
end
`;

/**
 * The ticket queue (PROTOCOL 7). It only ever withholds votes, or moves a key that its owner has given up.
 *
 * An entry is "round ttl inbox proposal" (nothing for none) and then, for each key that is wanted, its length, a colon
 * and its name. What is told to the inbox is the token, and for a fenced one the counter behind it.
 */
const queue = `${queueOf}${fence}
-- The smallest ticket that is alive, and its entry. What died is swept out on the way.
local function headOf(line)
  while true do
    local waiter = redis.call("ZRANGE", line, 0, 0)[1]
    if not waiter then return nil end
    local entry = redis.call("GET", line .. ":" .. waiter)
    if entry then return waiter, entry end
    redis.call("ZREM", line, waiter)
  end
end

local function forget(key, waiter)
  local line = queueOf(key)
  if redis.call("ZREM", line, waiter) == 1 then redis.call("DEL", line .. ":" .. waiter) end
end

local function keysIn(text)
  local keys, position = {}, 1
  while position <= #text do
    local from, to, length = string.find(text, "^(%d+):", position)
    keys[#keys + 1] = string.sub(text, to + 1, to + tonumber(length))
    position = to + tonumber(length) + 1
  end
  return keys
end

-- Whether the waiter could be granted all its keys now: each free or set aside for it, and it is the first for each.
local function isReady(keys, given, waiter, token)
  for _, key in ipairs(keys) do
    if key ~= given then
      local owner = redis.call("GET", key)
      if owner and not isMine(owner, token) then return false end
      if headOf(queueOf(key)) ~= waiter then return false end
    end
  end
  return true
end

-- Gives a key that nobody owns any more to the first in its queue. Where that one hears it, the key is its vote at
-- once; where nobody listens for it, it is dead, and what was set aside for it is an orphan. Where it cannot be told,
-- or waits for another key as well, the key is only set aside, for as long as its heartbeat lasts: its next one finds
-- it. So it is for the one that is asking just now: it is answered.
local function give(key, asking, orphans)
  local line = queueOf(key)
  while true do
    local waiter, entry = headOf(line)
    if not waiter then
      redis.call("DEL", key)
      return
    end
    local round, ttl, inbox, proposal, list = string.match(entry, "^(%d+) (%d+) (%S+) (%d*) (.*)$")
    local token, keys = waiter .. "." .. round, keysIn(list)
    local listening, counter = -1, nil
    if inbox ~= "-" and waiter ~= asking and isReady(keys, key, waiter, token) then
      counter = proposal ~= "" and counterOf(keys)
      local told = redis.pcall("PUBLISH", inbox, counter and token .. " " .. exactly(counter) or token)
      if type(told) == "number" then listening = told end
    end
    if listening > 0 then
      for _, wanted in ipairs(keys) do
        redis.call("SET", wanted, token, "PX", ttl)
        forget(wanted, waiter)
      end
      if counter then raise(keys, math.max(counter, tonumber(proposal))) end
      return
    elseif listening < 0 then
      redis.call("SET", key, token, "PX", math.max(1, redis.call("PTTL", line .. ":" .. waiter)))
      return
    end
    for _, wanted in ipairs(keys) do
      forget(wanted, waiter)
      if wanted ~= key then orphans[#orphans + 1] = {wanted, token} end
    end
  end
end

-- First the key itself, then the orphans that this has made: a key that was given already is nobody's to give again.
local function handOver(key, asking)
  local orphans, next = {}, 1
  give(key, asking, orphans)
  while orphans[next] do
    local wanted, token = unpack(orphans[next])
    if isMine(redis.call("GET", wanted), token) then give(wanted, asking, orphans) end
    next = next + 1
  end
end
`;

/**
 * Votes for `token` where all KEYS `first` to `last` are free or its own already and nobody waits before it. If not,
 * it has a place in each queue from now on, for `patience` ms, and what it was given before goes to whoever is first:
 * heartbeat, vote and yield in one step (PROTOCOL 7). Returns what `claim` returns; a refusal also tells the largest
 * ticket there is.
 */
const enrol = `
local function enrol(first, last, token, ttl, ticket, patience, proposal, inbox)
  local waiter, round = string.match(token, "^(.+)%.(%d+)$")
  local free = true
  for index = first, last do
    local owner = redis.call("GET", KEYS[index])
    if owner and not isMine(owner, token) then free = false end
  end
  if free then
    local waited = 0
    for index = first, last do waited = waited + redis.call("EXISTS", queueOf(KEYS[index])) end
    if waited == 0 then return claim(first, last, token, ttl, true) end
  end
  local list = {round, " ", ttl, " ", inbox, " ", proposal, " "}
  for index = first, last do
    list[#list + 1] = #KEYS[index] .. ":" .. KEYS[index]
  end
  local entry = table.concat(list)
  for index = first, last do
    local line = queueOf(KEYS[index])
    redis.call("ZADD", line, ticket, waiter)
    redis.call("SET", line .. ":" .. waiter, entry, "PX", patience)
    if redis.call("PTTL", line) < tonumber(patience) then redis.call("PEXPIRE", line, patience) end
  end
  for index = first, last do
    free = free and headOf(queueOf(KEYS[index])) == waiter
  end
  if not free then
    local refusal
    for index = first, last do
      local owner = redis.call("GET", KEYS[index])
      if not owner or isMine(owner, token) then
        handOver(KEYS[index], waiter)
        owner = redis.call("GET", KEYS[index])
      end
      if not refusal and not isMine(owner, token) then
        local latest = redis.call("ZRANGE", queueOf(KEYS[index]), -1, -1, "WITHSCORES")[2]
        refusal = {index - first + 1, owner, redis.call("PTTL", KEYS[index]), latest}
      end
    end
    -- (None where only dead waiters were in the way.)
    if refusal then return refusal end
  end
  for index = first, last do forget(KEYS[index], waiter) end
  return claim(first, last, token, ttl, true)
end
`;

/**
 * As `release`, but what is given up goes to the first in the queue, and the waiters of the tokens leave it: all queues
 * before anything is given, and a place that a later round has taken stays (PROTOCOL 7).
 */
const leave = `
local function forgetAll(key, from, to)
  local line = queueOf(key)
  if redis.call("EXISTS", line) == 0 then return end
  for token = from, to do
    local waiter, round = string.match(ARGV[token], "^(.+)%.(%d+)$")
    local entry = waiter and redis.call("GET", line .. ":" .. waiter)
    if waiter and not (entry and tonumber(string.match(entry, "^%d+")) > tonumber(round)) then forget(key, waiter) end
  end
end

local function leave(first, last, from, to)
  for index = first, last do forgetAll(KEYS[index], from, to) end
  local given = 0
  for index = first, last do
    local owner, mine = redis.call("GET", KEYS[index]), false
    for token = from, to do mine = mine or isMine(owner, ARGV[token]) end
    if mine then
      given = given + 1
      handOver(KEYS[index])
    end
  end
  return given
end
`;

/** `claim` of all KEYS: ARGV is token, ttl, and "1" for `create`; then a proposal, where there is one. */
export const claimScript: Script = {
  source: `${isMine}${claim}
local token, ttl, create, proposal = ARGV[1], ARGV[2], ARGV[3] == "1", ARGV[4]
if not proposal then return claim(1, #KEYS, token, ttl, create) end
${fence}
if tonumber(proposal) >= most then return redis.error_reply(tooLarge) end
local isSet = create and #KEYS == 1 and redis.call("SET", KEYS[1], token, "NX", "PX", ttl)
local granted = isSet and tonumber(ttl) or claim(1, #KEYS, token, ttl, create)
return type(granted) == "number" and fenced(KEYS, granted, proposal) or granted
`,
  sha1: "51db0b10e49c5e2fda15a8cea42afe1dbfa377ed",
};

/** `release` of all KEYS: ARGV is the tokens. */
export const releaseScript: Script = {
  source: `${isMine}${release}return release(1, #KEYS, 1, #ARGV)
`,
  sha1: "a9251849477cd937c9e55e02c5dbf9950c786fc9",
};

/** `leave` of all KEYS: ARGV is the tokens. Mostly one key for which nobody waits: that is looked at first. */
export const leaveScript: Script = {
  source: `${queueOf}
local key = KEYS[1]
if #KEYS == 1 and redis.call("GET", key) == ARGV[#ARGV] and redis.call("EXISTS", queueOf(key)) == 0 then
  return redis.call("DEL", key)
end
${isMine}${queue}${leave}return leave(1, #KEYS, 1, #ARGV)
`,
  sha1: "b5b1a73390c357ea8a43d184cb9acaff73a3f1af",
};

/**
 * Group commit (PROTOCOL 12, 14.16): many operations, one after the other, each with a reply of its own.
 *
 * ARGV[1] lists them in short, since what a call costs is mostly the number of its arguments: for each a letter, the
 * number of its keys, and its numbers. "v1,5000;e2,1;r1,1;" is a vote, an extension without `create` ("p" is one with
 * it), and a release of one token ("l" also leaves the queue). "s1,5000;" is a swap, "q1,5000,1700000000000,3000;"
 * enrols: ttl, ticket and patience. Their keys follow each other in KEYS; in ARGV, for a claim its token, for a swap
 * the previous one behind it, for a waiter its inbox ("-" for none), for a release all its tokens. "i1,0;" takes no
 * token: it tells what is in a key, its PTTL, and how many wait for it.
 *
 * A further number of a claim, "v1,5000,0,0,1700000000000000;", proposes a fencing token (PROTOCOL 8): where the claim
 * is granted the counters of its keys are raised to it, and the reply is {-1, ms that the shortest key lives, the
 * largest counter before}. An extension that proposes stores a token where the keys are still mine.
 *
 * "g0,60000,4711,0,1;" replies nothing: the restart guard watches over what follows it. Its numbers are maxTtl (0: no
 * guard), an epoch, 1 where memory is durable, and what it may do where a mark is missing: 0 nothing, 1 quarantine,
 * 2 declare the master brand-new. An extension in quarantine replies {-2, ms that the shortest key lives}. "h0,0;"
 * replies {maxTtl here, 0 for none; how long the quarantine lasts, as PTTL; epoch; state; floor of the counters}.
 * "f0,4711,1700000000000000;" raises that floor, in this epoch alone, after which the master is sound: 1, or 0.
 *
 * "c0,0;" replies the TIME.
 *
 * Each operation fails for itself: {0, message} is its reply then, and the others are not touched.
 */
export const batchScript: Script = {
  source: `${isMine}${claim}${release}${queue}${enrol}${leave}${guard}
local replies, key, arg = {}, 1, 2
local function claimed(kind, last, number, ticket, patience, proposal)
  local token = ARGV[arg]
  -- Mostly a free key and a single one: then one command is the vote.
  if kind == "v" and key == last and redis.call("SET", KEYS[key], token, "NX", "PX", number) then
    return tonumber(number)
  end
  if kind == "q" then return enrol(key, last, token, number, ticket, patience, proposal, ARGV[arg + 1]) end
  if kind == "s" then return claim(key, last, token, number, true, ARGV[arg + 1]) end
  return claim(key, last, token, number, kind ~= "e")
end
local function run(kind, last, number, ticket, patience, proposal)
  if kind == "g" then return watch(number, ticket, patience, proposal) end
  if kind == "h" then return findings() end
  if kind == "f" then return seed(number, ticket) end
  if kind == "c" then return redis.call("TIME") end
  -- What may have been promised to somebody else is not handed over.
  if kind == "r" or kind == "l" and inQuarantine() then
    return release(key, last, arg, arg + tonumber(number) - 1)
  end
  if kind == "l" then return leave(key, last, arg, arg + tonumber(number) - 1) end
  if kind == "i" then
    return {redis.call("GET", KEYS[key]), redis.call("PTTL", KEYS[key]), redis.call("ZCARD", queueOf(KEYS[key]))}
  end
  if proposal ~= "" and tonumber(proposal) >= most then error(tooLarge, 0) end
  local why = guarded and bar(kind, number, proposal)
  if why then error(why, 0) end
  local reply = claimed(kind, last, number, ticket, patience, proposal)
  if inQuarantine() and type(reply) == "number" then return {-2, reply} end
  if proposal == "" or type(reply) ~= "number" then return reply end
  return fenced({unpack(KEYS, key, last)}, reply, proposal)
end
local operation = "(%a)(%d+),(%d+),?(%d*),?(%d*),?(%d*);"
for kind, keys, number, ticket, patience, proposal in string.gmatch(ARGV[1], operation) do
  local last = key + tonumber(keys) - 1
  local done, reply = pcall(run, kind, last, number, ticket, patience, proposal)
  if not done then reply = {0, type(reply) == "table" and reply.err or tostring(reply)} end
  if kind ~= "g" then replies[#replies + 1] = reply
  elseif not done then guarded = {why = reply[2]} end
  key = last + 1
  if kind == "r" or kind == "l" then arg = arg + tonumber(number)
  elseif kind == "q" or kind == "s" then arg = arg + 2
  elseif string.find("vpe", kind) then arg = arg + 1 end
end
return replies
`,
  sha1: "fcf6e6a0f51e3bde823c902b5d5afe235e5f9702",
};
