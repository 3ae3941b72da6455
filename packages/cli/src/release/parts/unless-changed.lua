local token = redis.pcall("GET", KEYS[1])
if type(token) ~= "string" or redis.sha1hex(token) ~= ARGV[1] then return -2 end
local left = redis.call("PTTL", KEYS[1])
