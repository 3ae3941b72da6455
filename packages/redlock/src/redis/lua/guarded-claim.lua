--!df flags=allow-undeclared-keys
-- The same as claim.lua, with the restart guard. ARGV: the kind as in a batch ("v", "p", "e"), token, ttl, a proposal or
-- nothing, and the guard's terms as in a batch.

local call = redis.call
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
  isReady = string.find(info, "master_replid:" .. seen .. "\r", 1, true) and string.find(info, "role:master", 1, true)
end
if isReady and kind == "v" and proposal == "" and #KEYS == 1
  and call("SET", KEYS[1], token, "NX", "PX", ttl) then return tonumber(ttl) end
-- @include "parts/is-mine"
-- @include "parts/masked"
-- @include "exclusive/claim"
-- @include "parts/fencing"
-- @include "parts/refuse-large"
-- @include "parts/refused"
local isForgetful, isOfNew = false, false
if not isReady then
  -- @include "parts/guard"
  watch(terms)
  local why = bar(kind, ttl, proposal)
  if why then return redis.error_reply(why) end
  isForgetful, isOfNew = inQuarantine(), isNew()
end
local granted = claim(1, #KEYS, token, ttl, kind ~= "e")
if type(granted) ~= "number" then return refused(granted, isOfNew) end
if isForgetful then return {-2, granted} end
return proposal == "" and granted or fenced(KEYS, granted, proposal)
