--!df flags=allow-undeclared-keys
-- Group commit of votes only, each for one of KEYS. ARGV: their ttl, and a token for each. Replies their number if one command
-- granted each; otherwise one reply for each, as batch.lua.

local call = redis.call
local ttl = ARGV[1]
-- @include "exclusive/vote-all"
local granted = voteAll(1, 2, #KEYS, ttl)
if granted == #KEYS then return granted end
-- @include "parts/is-mine"
-- @include "parts/masked"
-- @include "exclusive/claim"
-- @include "parts/failure"
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
