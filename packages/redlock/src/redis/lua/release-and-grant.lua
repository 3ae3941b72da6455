--!df flags=allow-undeclared-keys
-- Releases all KEYS, leaves their queues, and grants them to the first waiters. ARGV: the token.

local call = redis.call
-- @include "exclusive/release-first"
-- @include "exclusive/queue-of"
-- @include "exclusive/release-unwaited"
local given = KEYS[2] and releaseUnwaited(1, #KEYS, token)
if given then return given end
-- @include "parts/is-mine"
-- @include "exclusive/drop"
-- @include "exclusive/queue"
-- @include "parts/leave"
return leave(1, #KEYS, token)
