-- Behind release-first: handles a first waiter that wants this key alone and has a subscriber. Nothing is deleted before the
-- grant, as a full master requires: a write that it refuses here is left to `leave`. A token of the releasing waiter's own queue
-- entry is left to it as well.
local own = string.match(token, "^(.+)%.%d+$") or ""
local first, _, _, next = unpack(call("ZRANGE", queue, 0, 1, "WITHSCORES"))
local place = queue .. ":" .. string.sub(first or "", 1, 20)
local entries = first and redis.pcall("MGET", place, queue .. ":" .. string.sub(own, 1, 20))
local entry = entries and not entries[2] and entries[1] or ""
local round, ttl, inbox, proposal = string.match(entry, "^(%d+) (%d+) (%S+) (%d*) g$")
if round and inbox ~= "-" then
  -- @include "../parts/asking"
  local counts, given = mayAsk and redis.pcall("PUBSUB", "NUMSUB", inbox), first .. "." .. round
  local function grantKey()
    local counter = "-"
    if proposal ~= "" then
      -- @include "../parts/fencing"
      local largest = counterOf({key})
      raise({key}, math.max(largest, tonumber(proposal)))
      counter = exactly(largest)
    end
    call("SET", key, given, "PX", ttl)
    local told = redis.pcall("PUBLISH", inbox, given .. " " .. counter .. " " .. (next or "-"))
    if type(told) ~= "number" then
      call("SET", key, given, "PX", math.max(1, math.min(call("PTTL", place), tonumber(ttl))))
    elseif call("ZREM", queue, first) == 1 then call("DEL", place) end
  end
  local check = redis.acl_check_cmd
  local isAllowed = not check or check("DEL", key) and check("PTTL", key) and check("ZREM", key)
  if counts and not counts.err and counts[2] > 0 and isAllowed and pcall(grantKey) then return 1 end
end
