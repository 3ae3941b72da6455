-- Writes the record of an owner, and names other owners: {their number, up to 50 tags}. KEYS: the index and the record. ARGV:
-- the tag, the record, its ttl in ms, and a number that grows with each call, so that each call names others if there are
-- more. With the ttl 0 it deletes the record.
--
-- The index is by the server's clock: those of clients do not matter. Each write removes up to eight dead owners, and adds
-- one at most.

-- Before Redis 5 a script that asks for the time may write only so.
if redis.replicate_commands then redis.replicate_commands() end
local call = redis.call
local index, record = KEYS[1], KEYS[2]
local tag, text, ttl, turn = unpack(ARGV)
if ttl == "0" then
  call("ZREM", index, tag)
  call("DEL", record)
  return {0, {}}
end
local time = call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
call("SET", record, text, "PX", ttl)
call("ZADD", index, now + ttl, tag)
-- An owner whose locks last for longer keeps it alive.
if call("PTTL", index) < tonumber(ttl) then call("PEXPIRE", index, ttl) end
local oldest = call("ZRANGE", index, 0, 7, "WITHSCORES")
for place = 1, #oldest, 2 do
  if tonumber(oldest[place + 1]) < now then call("ZREM", index, oldest[place]) end
end
local count = call("ZCARD", index)
local first = 50 * (turn % math.ceil(count / 50))
return {count, call("ZRANGE", index, first, first + 49)}
