-- The queue of locks with one owner: such a lock has one key.
local ownerFor = ownerOf
local function lockOf(key) return key end
local keyFor = lockOf
local function leftOf(key) return call("PTTL", key) end
local function set(key, token, ms) call("SET", key, token, "PX", ms) end
local function finish(key) return call("DEL", key) end
-- The commands of `enqueue` and of `leave` that an ACL may refuse.
local toEnter, toGive = "DEL GET PEXPIRE PTTL SET ZADD ZRANGE ZREM", "DEL GET PTTL SET ZRANGE ZREM"
local mayShare = false
-- @include "../parts/queue"
