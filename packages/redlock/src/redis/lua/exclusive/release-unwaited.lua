-- Releases KEYS `first` to `last` if all hold exactly `token` (PROTOCOL 5.1) and none has waiters: then nothing is granted.
local function releaseUnwaited(first, last, token)
  for index = first, last do
    if redis.pcall("GET", KEYS[index]) ~= token or call("EXISTS", queueOf(KEYS[index])) > 0 then return nil end
  end
  local given = 0
  for index = first, last do given = given + call("DEL", KEYS[index]) end
  return given
end
