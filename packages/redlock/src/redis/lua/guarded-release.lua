--!df flags=allow-undeclared-keys
-- The same as release-and-grant.lua, with the restart guard. ARGV: the guard's terms as in a batch, and the token.

local call = redis.call
-- @include "exclusive/release-first"
-- @include "exclusive/queue-of"
-- @include "exclusive/release-unwaited"
local given = KEYS[2] and releaseUnwaited(1, #KEYS, token)
if given then return given end
-- @include "parts/is-mine"
-- @include "exclusive/drop"
-- @include "parts/release"
-- @include "exclusive/queue"
-- @include "parts/leave"
-- @include "parts/guard"
local isKnown = pcall(watch, ARGV[1])
-- A key that may be promised to another client is not granted (PROTOCOL 9.6).
if not isKnown or inQuarantine() then return release(1, #KEYS, token) end
isSeeded = not guarded or guarded.state ~= "1"
return leave(1, #KEYS, token)
