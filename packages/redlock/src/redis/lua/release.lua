--!df flags=allow-undeclared-keys
-- Releases all KEYS, where nobody waits. ARGV: the tokens.

local call = redis.call
-- @include "parts/is-mine"
-- @include "exclusive/drop"
local released = 0
for index = 1, #KEYS do released = released + drop(KEYS[index], 1, #ARGV) end
return released
