import { fence, isTooLarge, tooLarge } from "./fencing.ts";
import { guard, guardSteps } from "./guard.ts";
import { masked } from "./masked.ts";
import {
  enqueue,
  enqueueFirst,
  grantFirst,
  leave,
  queue,
  queueOf,
  releaseAllUnwaited,
  releaseFirst,
  releaseUnwaited,
  undeclaredKeys,
} from "./queue.ts";
import { exclusiveOnly, refusalByWaiters, sharedClaims, withSharedClaims } from "./shared.ts";

/** A Lua script and its digest, by which a master that has cached it runs it. */
export interface Script {
  readonly source: string;
  /** SHA-1 of `source`. A test on a real server compares the two. */
  readonly sha1: string;
}

/** A local variable is faster than a global lookup. */
const calls = `${undeclaredKeys}
local call = redis.call
`;

/**
 * The value of a key, false for none. A key of another type has an owner as well, since other libraries keep
 * a lock in a hash; it matches no token.
 */
const ownerOf = `
local function ownerOf(key)
  local owner = redis.pcall("GET", key)
  if type(owner) ~= "table" then return owner end
  return string.find(owner.err, "^WRONGTYPE") and "(no string)" or call("GET", key)
end
`;

/**
 * Whether a key with this value belongs to `token`: it holds exactly that token, or the token of an earlier
 * round of the same waiter (PROTOCOL 2.13). So a command of an old round never affects the vote of a later
 * one.
 */
const isMine = `${ownerOf}
local function isMine(owner, token)
  if owner == token then return true end
  if not owner then return false end
  local waiter, round = string.match(token, "^(.+)%.(%d+)$")
  local other, earlier = string.match(owner, "^(.+)%.(%d+)$")
  return waiter ~= nil and waiter == other and tonumber(earlier) < tonumber(round)
end
`;

/**
 * Claims KEYS `first` to `last` for `token` and at least `ttl` ms: all or none. With `create`, free keys are
 * set; otherwise they refuse. One function for the vote (free keys are set), the repairing extension (the
 * same), the plain extension, the read after a refused SET, and `verify` (an extension by 1 ms, which changes
 * nothing).
 *
 * - A key that holds the token counts as claimed (PROTOCOL 2.7) and is renewed (PROTOCOL 2.12).
 * - No key is ever shortened (PROTOCOL 2.11).
 * - All keys are read before the first is written: all or none.
 * - Keys that belong to the token are renewed by PEXPIRE. A master that is out of memory allows that, and
 *   allows a SET after it in the same script: a full master does not lose locks (PROTOCOL 7.5).
 *
 * Returns the remaining ms of the key that expires first (-1: no expiry), or {index of the first key that
 * refuses, its value or nil, its PTTL}; the value is `masked`.
 */
const claim = `
local function claim(first, last, token, ttl, create)
  local least = tonumber(ttl)
  local owners = {}
  for index = first, last do
    local owner = <<ownerOf(KEYS[index])||ownerFor(KEYS[index], token)>>
    owners[index] = owner
    if not isMine(owner, token) and (owner or not create) then
      return {index - first + 1, masked(owner), <<call("PTTL", KEYS[index])||leftOf(KEYS[index])>>}
    end
  end
  local shortest
  for index = first, last do
<<||    if isShared(KEYS[index]) then return join(KEYS[index], token, least) end
>>    local left = call("PTTL", KEYS[index])
    local isOther = owners[index] ~= token or left == -2
    local isShort = left ~= -1 and left < least
    local lives = isShort and ttl or left
    if isShort and left ~= -2 or isOther and left >= 0 then call("PEXPIRE", KEYS[index], lives) end
    if isOther and left == -1 and not isShort then call("SET", KEYS[index], token)
    elseif isOther then call("SET", KEYS[index], token, "PX", lives) end
    if isShort then left = least end
    if left ~= -1 and (not shortest or left < shortest) then shortest = left end
  end
  return shortest or -1
end
`;

/**
 * Deletes those of KEYS `first` to `last` that belong to one of ARGV `from` to `to`, and returns their
 * number. Comparing and deleting in one step keeps a late release from deleting the lock of a later holder
 * (PROTOCOL 5.1).
 */
const release = `
local function release(first, last, from, to)
  local deleted = 0
  for index = first, last do
<<    local owner = ownerOf(KEYS[index])
    for token = from, to do
      if isMine(owner, ARGV[token]) then deleted = deleted + call("DEL", KEYS[index]) break end
    end
||    if dropAll(KEYS[index], from, to) then deleted = deleted + 1 end
>>  end
  return deleted
end
`;

/**
 * Votes for free keys with one command each: `count` KEYS from `key` on, for the tokens from ARGV `arg` on.
 * Stops at the first that is not granted, and returns the number of grants.
 */
const voteAll = `
local function voteAll(key, arg, count, ttl)
  for place = 0, count - 1 do
    local set = redis.pcall("SET", KEYS[key + place], ARGV[arg + place], "NX", "PX", ttl)
    if not set or set.err then return place end
  end
  return count
end
`;

/** The reply of one failed operation in a batch. */
const failure = `
local function failure(reason) return {0, type(reason) == "table" and reason.err or tostring(reason)} end
`;

/** `claim` for all KEYS. ARGV: token, ttl, "1" for `create`, then a proposal or nothing. */
export const claimScript: Script = {
  source: exclusiveOnly(`${calls}
local token, ttl, create, proposal = ARGV[1], ARGV[2], ARGV[3] == "1", ARGV[4]
if (proposal or "") == "" then
  -- The most frequent case: one key, which is renewed.
  if #KEYS == 1 and redis.pcall("GET", KEYS[1]) == token then
    local left = call("PTTL", KEYS[1])
    if left ~= -1 and left < tonumber(ttl) then
      if call("PEXPIRE", KEYS[1], ttl) == 0 then call("SET", KEYS[1], token, "PX", ttl) end
      return tonumber(ttl)
    end
  end
${isMine}${masked}${claim}
  return claim(1, #KEYS, token, ttl, create)
end
${isMine}${masked}${claim}${fence}
if ${isTooLarge} then return redis.error_reply(${tooLarge}) end
local isSet = create and #KEYS == 1 and call("SET", KEYS[1], token, "NX", "PX", ttl)
local granted = isSet and tonumber(ttl) or claim(1, #KEYS, token, ttl, create)
return type(granted) == "number" and fenced(KEYS, granted, proposal) or granted
`),
  sha1: "f3491dbb4e181faad9d8f4178135f4d1062420de",
};

/** `enqueue` for all KEYS. ARGV: token, ttl, ticket, entryTtl, a proposal or nothing, and the inbox. */
export const enqueueScript: Script = {
  source: exclusiveOnly(`${calls}
local proposal = ARGV[5]
if proposal ~= "" and ${isTooLarge} then return redis.error_reply(${tooLarge}) end
${masked}${enqueueFirst}${isMine}${claim}${queue}${enqueue}
local granted, next = enqueue(1, #KEYS, token, ttl, ticket, entryTtl, proposal, inbox)
if type(granted) ~= "number" then return granted end
return proposal ~= "" and fenced(KEYS, granted, proposal, next) or next and {-3, granted, next} or granted
`),
  sha1: "e38f67ee0af066e639cadff207f1874b6aaa29b6",
};

/** `release` for all KEYS. ARGV: the tokens. */
export const releaseScript: Script = {
  source: exclusiveOnly(`${calls}${isMine}${release}return release(1, #KEYS, 1, #ARGV)
`),
  sha1: "87b3c4cbb7dc7226fea27ab34a76f15cc301f406",
};

/** `leave` for all KEYS. ARGV: the tokens. */
export const releaseAndGrantScript: Script = {
  source: exclusiveOnly(`${calls}${releaseFirst(grantFirst)}${releaseUnwaited}
local given = KEYS[2] and releaseUnwaited(1, #KEYS, token)
if given then return given end
${isMine}${queue}${leave}return leave(1, #KEYS, 1, #ARGV)
`),
  sha1: "40f3c3724dd613fcd1b69ac2ae2c200a4400da67",
};

/**
 * `claimScript` with the restart guard. ARGV: the kind as in the batch script ("v", "p", "e"), token,
 * ttl, a proposal or nothing, and the guard's terms as in a batch.
 */
export const guardedClaimScript: Script = {
  source: exclusiveOnly(`${calls}
local kind, token, ttl, proposal, terms = unpack(ARGV)
local maxTtl, database, after = string.match(terms, "^(%d+),%d+,%d,%d,%d+,(%d+),(%d+)$")
-- The most frequent case: the marker names this memory, is ready, and has this maxTtl (PROTOCOL 9.2). (A claim without
-- a fencing token needs no counters.)
local seen, since, longest, place, state =
  string.match(call("GET", "quorlock:guard") or "", "^(%S+) (%d+) %d+ (%d+) (%d+) (%d)$")
local isReady = longest == maxTtl and place == database and (state == "0" or state == "1" and proposal == "")
  and tonumber(since) >= tonumber(after) and tonumber(ttl) <= tonumber(maxTtl)
  and call("OBJECT", "ENCODING", "quorlock:guard:memory") == "raw"
if isReady then
  local info = call("INFO", "replication")
  isReady = string.find(info, "master_replid:" .. seen .. "\\r", 1, true) and string.find(info, "role:master", 1, true)
end
if isReady and kind == "v" and proposal == "" and #KEYS == 1
  and call("SET", KEYS[1], token, "NX", "PX", ttl) then return tonumber(ttl) end
${isMine}${masked}${claim}${fence}
local isForgetful = false
if proposal ~= "" and ${isTooLarge} then return redis.error_reply(${tooLarge}) end
if not isReady then
${guard}
  watch(terms)
  local why = bar(kind, ttl, proposal)
  if why then return redis.error_reply(why) end
  isForgetful = inQuarantine()
end
local granted = claim(1, #KEYS, token, ttl, kind ~= "e")
if type(granted) ~= "number" then return granted end
if isForgetful then return {-2, granted} end
return proposal == "" and granted or fenced(KEYS, granted, proposal)
`),
  sha1: "9e35c062990ec4f81d6bf13eda90661ed67fe5ff",
};

/** `releaseAndGrantScript` with the restart guard. ARGV: the guard's terms as in a batch, and the tokens. */
export const guardedReleaseScript: Script = {
  source: exclusiveOnly(`${calls}${releaseFirst("")}${releaseUnwaited}
local given = KEYS[2] and releaseUnwaited(1, #KEYS, token)
if given then return given end
${isMine}${release}${queue}${leave}${guard}
local isKnown = pcall(watch, ARGV[1])
-- A key that may be promised to another client is not granted (PROTOCOL 9.6).
if not isKnown or inQuarantine() then return release(1, #KEYS, 2, #ARGV) end
isSeeded = not guarded or guarded.state ~= "1"
return leave(1, #KEYS, 2, #ARGV)
`),
  sha1: "009d1b626492263f9d103f9be7cd931ae03b2fda",
};

/**
 * Group commit of votes only, each for one of KEYS. ARGV: their ttl, and a token for each. Replies their
 * number if one command granted each; otherwise one reply for each, as `batchScript`.
 */
export const voteBatchScript: Script = {
  source: exclusiveOnly(`${calls}${voteAll}
local ttl = ARGV[1]
local granted = voteAll(1, 2, #KEYS, ttl)
if granted == #KEYS then return granted end
${isMine}${masked}${claim}${failure}
local function vote(index)
  local token = ARGV[index + 1]
  if call("SET", KEYS[index], token, "NX", "PX", ttl) then return tonumber(ttl) end
  return claim(index, index, token, ttl, true)
end
local replies = {}
for index = 1, #KEYS do
  local done, reply = true, tonumber(ttl)
  if index > granted then done, reply = pcall(vote, index) end
  replies[index] = done and reply or failure(reply)
end
return replies
`),
  sha1: "747dbae9fff0b3f9a81d87038a51cf98bbff0519",
};

/**
 * Group commit of releases only, each of one of KEYS by one token. ARGV: the tokens. Replies their number if
 * all are deleted at once; otherwise one reply for each, as `batchScript`.
 */
export const releaseBatchScript: Script = {
  source: exclusiveOnly(`${calls}${queueOf}${releaseAllUnwaited}
local isDone, gone = pcall(releaseAllUnwaited, 1, #KEYS, 1)
if isDone and gone then return gone end
${releaseUnwaited}${isMine}${queue}${leave}${failure}
local function release(index)
  return releaseUnwaited(index, index, ARGV[index]) or leave(index, index, index, index)
end
local replies = {}
for index = 1, #KEYS do
  local done, reply = pcall(release, index)
  replies[index] = done and reply or failure(reply)
end
return replies
`),
  sha1: "ffd6c08374a254fdd3a83757b50c2b0213eecff5",
};

/**
 * Group commit (PROTOCOL 12.5): many operations in order, each with its own reply.
 *
 * ARGV[1] lists them in one string, because the cost of a call is mostly the number of its arguments:
 *
 *     list      = { run }
 *     run       = [ times ] operation ";"              repeated `times` times, each with its own keys and values
 *     operation = "v" keys "," ttl fence               vote: free keys are set
 *               | "u" keys "," ttl fence               vote for all keys but the last, if that one is free
 *               | "p" keys "," ttl fence               extension that repairs: the same
 *               | "e" keys "," ttl fence               extension that does not; 1 ms changes nothing: verify
 *               | "q" keys "," ttl "," ticket "," ttl [ "," proposal ]
 *                                                      vote, else a queue entry; the second ttl is the entry's
 *               | "r" keys "," tokens                  release by that number of tokens
 *               | "l" keys "," tokens                  the same, with dequeueing and grants
 *               | "i1,0"                               reads the key: value, PTTL, queue length
 *               | "m1," ttl                            makes, renews or, with 0, removes the mark of an exclusive claim that retries
 *               | "c0,0"                               TIME
 *               | "g0,0"                               the restart guard for the following operations; no reply
 *               | "h0,0"                               the guard state
 *               | "f0," epoch "," floor                restores the fencing counters: 1, or 0 in another epoch
 *     fence     = [ ",0,0," proposal ]                 proposes a fencing token (PROTOCOL 8.1)
 *
 * Everything else is an integer in decimal digits. KEYS are those of each operation in turn, `keys` of them. The
 * values after ARGV[1] follow the same order: "v", "u", "p", "e" and "m" take a token; "q" a
 * token and its inbox ("-" for none); "r" and "l" all their tokens; "g" the guard's terms ("0" for no guard); the
 * others none.
 *
 * One reply for each operation except "g". A claim replies as `claim`; if it is granted with a proposal, {-1, ms until
 * the first key expires, the largest counter before}; an extension in quarantine, {-2, ms until the first key expires}.
 * A granted queue entry that others wait behind: {-3, ms until the first key expires, the smallest ticket of these};
 * with a proposal, that ticket is appended.
 * "h" replies {maxTtl of this master, 0 for none; the rest of the quarantine, as PTTL; epoch; state; floor of the
 * counters; 1 if all of it belongs to the current memory}.
 *
 * Each operation fails separately: its reply is then {0, message}, and the others are unaffected.
 */
const batch = `${calls}${isMine}<<||${sharedClaims}>>${masked}${claim}<<${voteAll}||>>${release}${queue}<<${releaseUnwaited}${releaseAllUnwaited}||>>${failure}${enqueue}${leave}<<||${refusalByWaiters}>>${guard}${guardSteps}
local replies, key, arg = {}, 1, 2
local function claimed(kind, last, number, ticket, entryTtl, proposal)
  local token = ARGV[arg]
<<  -- The most frequent case, a single free key: one command is the vote.
  if kind == "v" and key == last and call("SET", KEYS[key], token, "NX", "PX", number) then
    return tonumber(number)
  end
||  local refusal = kind == "v" and refusalByWaiters(KEYS[key], token)
  if refusal then return refusal end
>>  if kind == "q" then return enqueue(key, last, token, number, ticket, entryTtl, proposal, ARGV[arg + 1]) end
  return claim(key, last, token, number, kind ~= "e")
end
<<-- Executes the plain operations at the beginning of a run of one key each, with few commands. Returns their number,
-- mostly all.
local function inBulk(kind, count, number, proposal)
  local done, each, reply = 0, {}, 1
  if kind == "v" and proposal == "" and not guarded then
    done, reply = voteAll(key, arg, count, number), tonumber(number)
  elseif kind == "l" and number == "1" then
    local isDone, gone = pcall(releaseAllUnwaited, key, key + count - 1, arg)
    if isDone and gone then done = count end
    if isDone and type(gone) == "table" then each = gone end
  end
  for place = 1, done do replies[#replies + 1] = each[place] or reply end
  key, arg = key + done, arg + done
  return done
end
||>>local function run(kind, last, number, ticket, entryTtl, proposal)
  if kind == "g" then
    watch(ARGV[arg])
    isSeeded = not guarded or guarded.state ~= "1"
    return
  end
  if kind == "h" then return guardState() end
  if kind == "f" then
    local seeded = restoreCounters(number, ticket)
    isSeeded = isSeeded or seeded == 1
    return seeded
  end
  if kind == "c" then return call("TIME") end
<<||  -- A claim that could not be released is refused (PROTOCOL 7.5).
  if kind ~= "i" then demand(KEYS[key], needed) end
  if kind == "m" then return retry(KEYS[key], ARGV[arg], tonumber(number)) end
>>  -- A key that may be promised to another client is not granted.
  if kind == "r" or kind == "l" and inQuarantine() then
    return release(key, last, arg, arg + tonumber(number) - 1)
  end
  if kind == "l" then
    local lastToken = arg + tonumber(number) - 1
    return <<releaseUnwaited(key, last, ARGV[lastToken]) or ||>>leave(key, last, arg, lastToken)
  end
  if kind == "i" then
    return {masked(<<call("GET", KEYS[key])), call("PTTL", KEYS[key])||ownerFor(exclusive(KEYS[key]), "")), leftOf(KEYS[key])>>, call("ZCARD", queueOf(KEYS[key]))}
  end
  if proposal ~= "" and ${isTooLarge} then error(${tooLarge}, 0) end
  local why = guarded and bar(kind, number, proposal)
  if why then error(why, 0) end
  if kind == "u" then
    local owner = ownerOf(KEYS[last])
    if owner then return {last - key + 1, masked(owner), call("PTTL", KEYS[last])} end
    kind, last = "v", last - 1
  end
  local reply, next = claimed(kind, last, number, ticket, entryTtl, proposal)
<<||  if joined and not inQuarantine() then give(joined) end
  joined = nil
>>  if type(reply) ~= "number" then return reply end
  if guarded and inQuarantine() then return {-2, reply} end
  if proposal ~= "" then
    -- (unpack takes 8,000 at most.)
    local keys = {}
    for index = key, last do keys[index - key + 1] = KEYS[index] end
    return fenced(keys, reply, proposal, next)
  end
  return next and {-3, reply, next} or reply
end
local operation = "(%d*)(%a)(%d+),(%d+),?(%d*),?(%d*),?(%d*);"
for times, kind, keys, number, ticket, entryTtl, proposal in string.gmatch(ARGV[1], operation) do
  local keyCount, argCount = tonumber(keys), 0
  if kind == "r" or kind == "l" then argCount = tonumber(number)
  elseif kind == "q" then argCount = 2
  elseif kind == "v" or kind == "u" or kind == "p" or kind == "e" or kind == "g"<<|| or kind == "m">> then argCount = 1 end
  local count = tonumber(times) or 1
<<  if count > 1 and keys == "1" then count = count - inBulk(kind, count, number, proposal) end
||>>  for _ = 1, count do
    local last = key + keyCount - 1
    local done, reply = pcall(run, kind, last, number, ticket, entryTtl, proposal)
    if not done then reply = failure(reply) end
    if kind ~= "g" then replies[#replies + 1] = reply
    elseif not done then guarded = {why = reply[2]} end
    key, arg = last + 1, arg + argCount
  end
end
return replies
`;

export const batchScript: Script = {
  source: exclusiveOnly(batch),
  sha1: "4dfc53f814ac39ddc9ce123e795077fa8088e5b0",
};

/** The same operations on locks that may be shared. */
export const sharedBatchScript: Script = {
  source: withSharedClaims(batch),
  sha1: "83ef6531d345fec5b072adce3465fe4863cce0b4",
};
