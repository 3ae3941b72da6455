--!df flags=allow-undeclared-keys
-- Group commit of releases only, each of one of KEYS by one token. ARGV: the tokens. Replies their number if all are deleted at
-- once; otherwise one reply for each, as batch.lua.

local call = redis.call
-- @include "exclusive/queue-of"
-- @include "exclusive/release-all-unwaited"
local isDone, gone = pcall(releaseAllUnwaited, 1, #KEYS, 1)
if isDone and gone then return gone end
-- @include "exclusive/release-unwaited"
-- @include "parts/is-mine"
-- @include "exclusive/drop"
-- @include "exclusive/queue"
-- @include "parts/leave"
-- @include "parts/failure"
local function release(index)
  return releaseUnwaited(index, index, ARGV[index]) or leave(index, index, ARGV[index])
end
local replies = {}
for index = 1, #KEYS do
  local done, reply = pcall(release, index)
  replies[index] = done and reply or failure(reply)
end
return replies
