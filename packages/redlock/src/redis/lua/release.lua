--!df flags=allow-undeclared-keys
-- Releases all KEYS, where nobody waits. ARGV: the token.

local call = redis.call
-- @include "parts/is-mine"
-- @include "exclusive/drop"
local released = 0
for index = 1, #KEYS do released = released + drop(KEYS[index], ARGV[1]) end
return released
