import { guard } from "./guard-script.ts";

/** A Lua script and the digest by which a master that knows it can be asked to run it. */
export interface Script {
  readonly source: string;
  /** SHA-1 of `source`. A test on a real server keeps the two together. */
  readonly sha1: string;
}

/** Looked up once: a script calls it often. */
const calls = `local call = redis.call
`;

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
    local owner = call("GET", KEYS[index])
    owners[index] = owner
    local mine = previous and owner == previous or isMine(owner, token) or previous and isMine(owner, previous)
    if not mine and (owner or not create) then
      return {index - first + 1, owner, call("PTTL", KEYS[index])}
    end
  end
  local shortest
  for index = first, last do
    local left = call("PTTL", KEYS[index])
    if left == -1 then
      if owners[index] ~= token then call("SET", KEYS[index], token) end
    elseif left < least then
      call("SET", KEYS[index], token, "PX", ttl)
      left = least
    elseif owners[index] ~= token then
      call("SET", KEYS[index], token, "PX", left)
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
    local owner = call("GET", KEYS[index])
    for token = from, to do
      if isMine(owner, ARGV[token]) then deleted = deleted + call("DEL", KEYS[index]) break end
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
  -- (To look for a brace alone takes less time than to match.)
  local tag = string.find(key, "{", 1, true) and string.match(key, "^[^{]*{([^}]*)}")
  if tag and tag ~= "" then return "quorlock:queue:tagged:" .. key end
  return "quorlock:queue:{" .. key .. "}"
end
`;

/** Gives up a key for which nobody waits, as nearly all are: then there is nothing to hand over. */
const letGo = `
local function letGo(key, token)
  return call("GET", key) == token and call("EXISTS", queueOf(key)) == 0 and call("DEL", key) == 1
end
`;

/**
 * `letGo` for KEYS `first` to `last`, with ARGV from `from` on: two commands less for each. Where that does not do
 * for one, nothing is done, and nothing returned. (Nor where a key is there twice: the second has to see what the
 * first has done.)
 */
const letAllGo = `
local function letAllGo(first, last, from)
  local queues, seen = {}, {}
  for index = first, last do
    local key = KEYS[index]
    if seen[key] or call("GET", key) ~= ARGV[from + index - first] then return nil end
    seen[key] = true
    queues[#queues + 1] = queueOf(key)
  end
  if call("EXISTS", unpack(queues)) > 0 then return nil end
  return call("DEL", unpack(KEYS, first, last))
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
  local past = call("GET", "quorlock:floor:past")
  if not past then
    past = call("GET", "quorlock:floor") or "0"
    call("SET", "quorlock:floor:past", past, "PX", pastTtl)
  end
  local largest = tonumber(past)
  for _, key in ipairs(keys) do
    largest = math.max(largest, tonumber(call("GET", "quorlock:fence:" .. key) or 0))
  end
  return largest
end

local function raise(keys, counter)
  for _, key in ipairs(keys) do
    call("SET", "quorlock:fence:" .. key, exactly(counter), "PX", counterTtl)
  end
  if counter >= tonumber(call("GET", "quorlock:floor") or 0) then
    call("SET", "quorlock:floor", exactly(counter + 1000000))
  end
  -- The clock was set back: the counter might be forgotten before the past is.
  if call("PTTL", "quorlock:floor:past") > pastTtl then call("DEL", "quorlock:floor:past") end
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
    local waiter = call("ZRANGE", line, 0, 0)[1]
    if not waiter then return nil end
    local entry = call("GET", line .. ":" .. waiter)
    if entry then return waiter, entry end
    call("ZREM", line, waiter)
  end
end

local function forget(key, waiter)
  local line = queueOf(key)
  if call("ZREM", line, waiter) == 1 then call("DEL", line .. ":" .. waiter) end
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
      local owner = call("GET", key)
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
      call("DEL", key)
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
        call("SET", wanted, token, "PX", ttl)
        forget(wanted, waiter)
      end
      if counter then raise(keys, math.max(counter, tonumber(proposal))) end
      return
    elseif listening < 0 then
      call("SET", key, token, "PX", math.max(1, call("PTTL", line .. ":" .. waiter)))
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
    if isMine(call("GET", wanted), token) then give(wanted, asking, orphans) end
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
  local owners, lines, free, waited = {}, {}, true, 0
  for index = first, last do
    local owner = call("GET", KEYS[index])
    owners[index], lines[index] = owner, queueOf(KEYS[index])
    if owner and not isMine(owner, token) then free = false end
  end
  if free then
    for index = first, last do waited = waited + call("EXISTS", lines[index]) end
    if waited == 0 then return claim(first, last, token, ttl, true) end
  end
  local list = {round, " ", ttl, " ", inbox, " ", proposal, " "}
  for index = first, last do
    list[#list + 1] = #KEYS[index] .. ":" .. KEYS[index]
  end
  local entry = table.concat(list)
  for index = first, last do
    local line = lines[index]
    call("ZADD", line, ticket, waiter)
    call("SET", line .. ":" .. waiter, entry, "PX", patience)
    if call("PTTL", line) < tonumber(patience) then call("PEXPIRE", line, patience) end
  end
  for index = first, last do
    free = free and headOf(lines[index]) == waiter
  end
  if not free then
    local refusal, given
    for index = first, last do
      local owner = owners[index]
      -- (What was handed over may have taken this key along.)
      if given then owner = call("GET", KEYS[index]) end
      if not owner or isMine(owner, token) then
        handOver(KEYS[index], waiter)
        given, owner = true, call("GET", KEYS[index])
      end
      if not refusal and not isMine(owner, token) then
        local latest = call("ZRANGE", lines[index], -1, -1, "WITHSCORES")[2]
        refusal = {index - first + 1, owner, call("PTTL", KEYS[index]), latest}
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
  for token = from, to do
    local waiter, round = string.match(ARGV[token], "^(.+)%.(%d+)$")
    -- (One that died before is swept out when it is its turn.)
    local entry = waiter and call("GET", queueOf(key) .. ":" .. waiter)
    if entry and tonumber(string.match(entry, "^%d+")) <= tonumber(round) then forget(key, waiter) end
  end
end

local function leave(first, last, from, to)
  for index = first, last do forgetAll(KEYS[index], from, to) end
  local given = 0
  for index = first, last do
    local owner, mine = call("GET", KEYS[index]), false
    for token = from, to do mine = mine or isMine(owner, ARGV[token]) end
    if mine then
      given = given + 1
      handOver(KEYS[index])
    end
  end
  return given
end
`;

/**
 * `claim` of all KEYS: ARGV is token, ttl, and "1" for `create`; then a proposal, or nothing, and for a swap the previous
 * token.
 */
export const claimScript: Script = {
  source: `${calls}
local token, ttl, create, proposal, previous = ARGV[1], ARGV[2], ARGV[3] == "1", ARGV[4], ARGV[5]
if (proposal or "") == "" then
  -- Mostly one key, which is renewed or swapped.
  local owner = #KEYS == 1 and call("GET", KEYS[1])
  if owner and (owner == token or owner == previous) then
    local left = call("PTTL", KEYS[1])
    if left ~= -1 and left < tonumber(ttl) then
      call("SET", KEYS[1], token, "PX", ttl)
      return tonumber(ttl)
    end
  end
${isMine}${claim}
  return claim(1, #KEYS, token, ttl, create, previous)
end
${isMine}${claim}${fence}
if tonumber(proposal) >= most then return redis.error_reply(tooLarge) end
local isSet = create and #KEYS == 1 and call("SET", KEYS[1], token, "NX", "PX", ttl)
local granted = isSet and tonumber(ttl) or claim(1, #KEYS, token, ttl, create, previous)
return type(granted) == "number" and fenced(KEYS, granted, proposal) or granted
`,
  sha1: "9c9924bc071fb67ffd18fc5883440a8d26ffada7",
};

/** `enrol` for all KEYS: ARGV is token, ttl, ticket, patience, a proposal or nothing, and the inbox. */
export const enrolScript: Script = {
  source: `${calls}${isMine}${claim}${queue}${enrol}
local token, ttl, ticket, patience, proposal, inbox = unpack(ARGV)
if proposal ~= "" and tonumber(proposal) >= most then return redis.error_reply(tooLarge) end
local granted = enrol(1, #KEYS, token, ttl, ticket, patience, proposal, inbox)
return proposal ~= "" and type(granted) == "number" and fenced(KEYS, granted, proposal) or granted
`,
  sha1: "e44a844454a799127c9ace9076f93f7824ad97e9",
};

/** `release` of all KEYS: ARGV is the tokens. */
export const releaseScript: Script = {
  source: `${calls}${isMine}${release}return release(1, #KEYS, 1, #ARGV)
`,
  sha1: "ef6eb39eeb1327525518368f92b7194f0fd638f7",
};

/** `leave` of all KEYS: ARGV is the tokens. */
export const leaveScript: Script = {
  source: `${calls}${queueOf}${letGo}
if #KEYS == 1 and letGo(KEYS[1], ARGV[#ARGV]) then return 1 end
${isMine}${queue}${leave}return leave(1, #KEYS, 1, #ARGV)
`,
  sha1: "99f7065258b7b34f414fb04d4f1552073bfe182d",
};

/**
 * Group commit (PROTOCOL 12, 14.16): many operations, one after the other, each with a reply of its own.
 *
 * ARGV[1] lists them in short, since what a call costs is mostly the number of its arguments: for each a letter, the
 * number of its keys, and its numbers. "v1,5000;e2,1;r1,1;" is a vote, an extension without `create` ("p" is one with
 * it), and a release of one token ("l" also leaves the queue). "s1,5000;" is a swap, "q1,5000,1700000000000,3000;"
 * enrols: ttl, ticket and patience. "64v1,5000;" is the same 64 times. Their keys follow each other in KEYS; in ARGV, for
 * a claim its token, for a swap the previous one behind it, for a waiter its inbox ("-" for none), for a release all its
 * tokens. "i1,0;" takes no token: it tells what is in a key, its PTTL, and how many wait for it.
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
  source: `${calls}${isMine}${claim}${release}${queue}${letGo}${letAllGo}${enrol}${leave}${guard}
local replies, key, arg = {}, 1, 2
local function claimed(kind, last, number, ticket, patience, proposal)
  local token = ARGV[arg]
  -- Mostly a free key and a single one: then one command is the vote.
  if kind == "v" and key == last and call("SET", KEYS[key], token, "NX", "PX", number) then
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
  if kind == "c" then return call("TIME") end
  -- What may have been promised to somebody else is not handed over.
  if kind == "r" or kind == "l" and inQuarantine() then
    return release(key, last, arg, arg + tonumber(number) - 1)
  end
  if kind == "l" then
    if key == last and number == "1" and letGo(KEYS[key], ARGV[arg]) then return 1 end
    return leave(key, last, arg, arg + tonumber(number) - 1)
  end
  if kind == "i" then
    return {call("GET", KEYS[key]), call("PTTL", KEYS[key]), call("ZCARD", queueOf(KEYS[key]))}
  end
  if proposal ~= "" and tonumber(proposal) >= most then error(tooLarge, 0) end
  local why = guarded and bar(kind, number, proposal)
  if why then error(why, 0) end
  local reply = claimed(kind, last, number, ticket, patience, proposal)
  if guarded and inQuarantine() and type(reply) == "number" then return {-2, reply} end
  if proposal == "" or type(reply) ~= "number" then return reply end
  return fenced({unpack(KEYS, key, last)}, reply, proposal)
end
local operation = "(%d*)(%a)(%d+),(%d+),?(%d*),?(%d*),?(%d*);"
for times, kind, keys, number, ticket, patience, proposal in string.gmatch(ARGV[1], operation) do
  local keyCount, argCount = tonumber(keys), 0
  if kind == "r" or kind == "l" then argCount = tonumber(number)
  elseif kind == "q" or kind == "s" then argCount = 2
  elseif kind == "v" or kind == "p" or kind == "e" then argCount = 1 end
  local count = tonumber(times) or 1
  if kind == "l" and count > 1 and keys == "1" and number == "1" then
    local done, gone = pcall(letAllGo, key, key + count - 1, arg)
    if done and gone == count then
      for _ = 1, count do replies[#replies + 1] = 1 end
      key, arg, count = key + count, arg + count, 0
    end
  end
  for _ = 1, count do
    local last = key + keyCount - 1
    local done, reply = pcall(run, kind, last, number, ticket, patience, proposal)
    if not done then reply = {0, type(reply) == "table" and reply.err or tostring(reply)} end
    if kind ~= "g" then replies[#replies + 1] = reply
    elseif not done then guarded = {why = reply[2]} end
    key, arg = last + 1, arg + argCount
  end
end
return replies
`,
  sha1: "fbb064de9341a7e84b5a01e51d945bfa94b3c9a8",
};
