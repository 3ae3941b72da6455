-- Deletes the token where it still is.
-- @include "parts/unless-changed"
return redis.call("DEL", KEYS[1])
