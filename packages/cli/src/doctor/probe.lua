-- Runs each command of a lock on keys of the probe, and returns what was refused: names and errors in turn.
local refused = {}
local function try(name, ...)
  local reply = redis.pcall(...)
  if type(reply) == "table" and reply.err then
    refused[#refused + 1] = name
    refused[#refused + 1] = reply.err
  end
end
local key, queue, px = KEYS[1], KEYS[2], ARGV[2]
try("set", "SET", key, "1", "PX", px)
try("get", "GET", key)
try("mget", "MGET", key)
try("pttl", "PTTL", key)
try("exists", "EXISTS", key)
try("zadd", "ZADD", queue, 1, "a")
try("pexpire", "PEXPIRE", queue, px)
try("zrange", "ZRANGE", queue, 0, -1)
try("zcard", "ZCARD", queue)
try("publish", "PUBLISH", ARGV[1], "")
try("pubsub|numsub", "PUBSUB", "NUMSUB", ARGV[1])
if ARGV[3] == "guard" then
  try("object|encoding", "OBJECT", "ENCODING", key)
  try("setrange", "SETRANGE", key, 0, "2")
end
try("zrem", "ZREM", queue, "a")
try("del", "DEL", key)
return refused
