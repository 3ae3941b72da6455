-- A proposal that is near the numbers that are not exact any more (PROTOCOL 8.6).
if proposal ~= "" and tonumber(proposal) >= 2 ^ 53 - 2 ^ 20 then
  return redis.error_reply("ERR the fencing token is too large")
end
