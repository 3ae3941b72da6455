-- The beginning of a script that releases all KEYS, with the token as the last of ARGV. One key without waiters is deleted before
-- any function is defined: a master that was idle for milliseconds takes longer for the functions than for the commands.
local key, token = KEYS[1], ARGV[#ARGV]
if not KEYS[2] and redis.pcall("GET", key) == token then
  local isTagged = string.find(key, "{", 1, true) and string.find(key, "^[^{]*{[^}]+}")
  local queue = isTagged and "quorlock:queue:tagged:" .. key or "quorlock:queue:{" .. key .. "}"
  if call("EXISTS", queue) == 0 then return call("DEL", key) end
end
