import { fence } from "./fence-script.ts";

/**
 * Where the queue of a key is: a sorted set of waiters by their tickets. What a waiter wants stands beside it, in a
 * key that dies with its heartbeat. In the same slot as the key itself.
 */
export const queueOf = `
local function queueOf(key)
  -- (To look for a brace alone takes less time than to match.)
  local tag = string.find(key, "{", 1, true) and string.match(key, "^[^{]*{([^}]*)}")
  if tag and tag ~= "" then return "quorlock:queue:tagged:" .. key end
  return "quorlock:queue:{" .. key .. "}"
end
`;

/** Gives up KEYS `first` to `last` where nobody waits for any, as is nearly always so: then nothing is handed over. */
export const letGo = `
local function letGo(first, last, token)
  for index = first, last do
    if call("GET", KEYS[index]) ~= token or call("EXISTS", queueOf(KEYS[index])) == 1 then return nil end
  end
  local given = 0
  for index = first, last do given = given + call("DEL", KEYS[index]) end
  return given
end
`;

/**
 * `letGo` of many holds of one key each, with ARGV from `from` on: three commands for all. Where that does not do
 * for one, nothing is done, and nothing returned. (Nor where a key is there twice: the second has to see what the
 * first has done.)
 */
export const letAllGo = `
local function letAllGo(first, last, from)
  local owners, queues, seen = call("MGET", unpack(KEYS, first, last)), {}, {}
  for place = 1, last - first + 1 do
    local key = KEYS[first + place - 1]
    if seen[key] or owners[place] ~= ARGV[from + place - 1] then return nil end
    seen[key] = true
    queues[place] = queueOf(key)
  end
  if call("EXISTS", unpack(queues)) > 0 then return nil end
  return call("DEL", unpack(KEYS, first, last))
end
`;

/**
 * The ticket queue (PROTOCOL 7). It only ever withholds votes, or moves a key that its owner has given up.
 *
 * An entry is "round ttl inbox proposal" (nothing for none) and then, for each key that is wanted, its length, a colon
 * and its name. What is told to the inbox is the token, and for a fenced one the counter behind it.
 */
export const queue: string = `${queueOf}${fence}
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
export const enrol = `
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
export const leave = `
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
