-- `enqueue` for the most frequent cases, one key that is free and unwaited, or that another waiter has: before any function but
-- `masked`, like release-first. (One new entry in ten, by its ticket, removes dead waiters: see `enqueue`.)
local waiter, round = string.match(token, "^(.+)%.(%d+)$")
if round and not KEYS[2] then
  local isTagged = string.find(key, "{", 1, true) and string.find(key, "^[^{]*{[^}]+}")
  local queue = isTagged and "quorlock:queue:tagged:" .. key or "quorlock:queue:{" .. key .. "}"
  local owner, check = redis.pcall("GET", key), redis.acl_check_cmd
  if not owner and proposal == "" and call("EXISTS", queue) == 0 then
    call("SET", key, token, "PX", ttl)
    return tonumber(ttl)
  end
  if type(owner) == "string" and string.match(owner, "^(.+)%.%d+$") ~= waiter
    and not (round == "1" and string.sub(ticket, -1) == "0")
    and (not check or check("DEL", key) and check("PEXPIRE", key) and check("SET", key)
      and check("ZADD", key) and check("ZRANGE", key) and check("ZREM", key)) then
    local left = call("PTTL", key)
    -- @include "../parts/enter"
    local place = queue .. ":" .. string.sub(waiter, 1, 20)
    call("SET", place, round .. " " .. ttl .. " " .. inbox .. " " .. proposal .. " g", "PX", entryTtl)
    return {1, masked(owner), left, call("ZRANGE", queue, -1, -1, "WITHSCORES")[2]}
  end
end
