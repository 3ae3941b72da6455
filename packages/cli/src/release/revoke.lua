-- Replaces the token where it still is, and keeps the expiry: to its holder the key is another client's. Returns the ms left.
-- @include "parts/unless-changed"
if left < 0 then redis.call("SET", KEYS[1], ARGV[2])
else redis.call("SET", KEYS[1], ARGV[2], "PX", math.max(1, left)) end
return left
