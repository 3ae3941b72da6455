-- The tags of readers whose time is not over, and how much each has left, the last to expire first, at most 1000.
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local readers = redis.call("ZREVRANGEBYSCORE", KEYS[1], "+inf", now, "WITHSCORES", "LIMIT", 0, 1000)
for place = 1, #readers, 2 do
  readers[place] = string.sub(readers[place], 1, 8)
  readers[place + 1] = math.ceil(readers[place + 1] - now)
end
return readers
