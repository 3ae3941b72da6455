-- Runs the questions of ARGV[1] in order, and replies to each.
local question = "(%d*)(%a)(%d+),(%d+),?(%d*),?(%d*),?(%d*);"
for times, kind, keys, number, ticket, entryTtl, proposal in string.gmatch(ARGV[1], question) do
  local keyCount, argCount = tonumber(keys), 0
  if kind == "q" then argCount = 2
  elseif kind ~= "i" and kind ~= "c" and kind ~= "h" and kind ~= "f" then argCount = 1 end
  local count = tonumber(times) or 1
  if count > 1 and keys == "1" then count = count - inBulk(kind, count, number, proposal) end
  for _ = 1, count do
    local last = key + keyCount - 1
    local done, reply = pcall(run, kind, last, number, ticket, entryTtl, proposal)
    if not done then reply = failure(reply) end
    if kind ~= "g" then replies[#replies + 1] = reply
    elseif not done then guarded = {why = reply[2]} end
    key, arg = last + 1, arg + argCount
  end
end
return replies
