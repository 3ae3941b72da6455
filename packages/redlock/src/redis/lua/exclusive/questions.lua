local function claimed(kind, last, number, ticket, entryTtl, proposal)
  local token = ARGV[arg]
  -- The most frequent case, a single free key: one command is the vote.
  if kind == "v" and key == last and call("SET", KEYS[key], token, "NX", "PX", number) then
    return tonumber(number)
  end
  if kind == "q" then return enqueue(key, last, token, number, ticket, entryTtl, proposal, ARGV[arg + 1], "g") end
  return claim(key, last, token, number, kind ~= "e")
end

-- Executes the plain questions at the beginning of a run of one key each, with few commands. Returns their number, mostly all.
local function inBulk(kind, count, number, proposal)
  local done, each, reply = 0, {}, 1
  if kind == "v" and proposal == "" and not guarded then
    done, reply = voteAll(key, arg, count, number), tonumber(number)
  elseif kind == "l" then
    local isDone, gone = pcall(releaseAllUnwaited, key, key + count - 1, arg)
    if isDone and gone then done = count end
    if isDone and type(gone) == "table" then each = gone end
  end
  for place = 1, done do replies[#replies + 1] = each[place] or reply end
  key, arg = key + done, arg + done
  return done
end
