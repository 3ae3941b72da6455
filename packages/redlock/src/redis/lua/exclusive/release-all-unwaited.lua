-- `releaseUnwaited` for many locks of one key each, with ARGV from `from` on: three commands for all. If it does not apply to one
-- of them, it does nothing and returns nothing. Returns the number of released keys; or, if a key appears twice, the reply to
-- each: the second finds the key deleted by the first.
local function releaseAllUnwaited(first, last, from)
  local owners, queues = call("MGET", unpack(KEYS, first, last)), {}
  for place = 1, last - first + 1 do
    if owners[place] ~= ARGV[from + place - 1] then return nil end
    queues[place] = queueOf(KEYS[first + place - 1])
  end
  if call("EXISTS", unpack(queues)) > 0 then return nil end
  local gone = call("DEL", unpack(KEYS, first, last))
  if gone == #queues then return gone end
  local each, seen = {}, {}
  for place = 1, #queues do
    local key = KEYS[first + place - 1]
    each[place] = seen[key] and 0 or 1
    seen[key] = true
  end
  return each
end
