-- Deletes the token where it still is. Returns the ms that it had left.
-- @include "parts/unless-changed"
redis.call("DEL", KEYS[1])
return left
