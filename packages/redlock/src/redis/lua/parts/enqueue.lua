-- Votes for `token` if all KEYS `first` to `last` are free or its own and no waiter is ahead of it. Otherwise it gets an entry in
-- each queue, for `entryTtl` ms, and keys granted to it earlier go to the head of the queue: heartbeat, vote and yield in one step
-- (PROTOCOL 7.8, 7.11). Free keys whose queue it heads are reserved for it. `alone`: how a single key is granted. Returns the
-- result of `claim`; a refusal also contains the largest ticket, and with a yes comes the smallest ticket that waits behind it for
-- any of the keys (PROTOCOL 7.15), nil for none.
local function enqueue(first, last, token, ttl, ticket, entryTtl, proposal, inbox, alone)
  local waiter, round = string.match(token, "^(.+)%.(%d+)$")
  local queues, isTaken, blocked, isHeld = {}, {}, nil, false
  local function claimOnly(create)
    local next
    for index = first, last do
      forget(queues[index], waiter)
      local ticket = call("ZRANGE", queues[index], 0, 0, "WITHSCORES")[2]
      if ticket and (not next or tonumber(ticket) < tonumber(next)) then next = ticket end
    end
    return claim(first, last, token, ttl, create), next
  end
  for index = first, last do
    local owner = ownerFor(KEYS[index], token)
    isHeld = isHeld or owner == token
    queues[index] = queueOf(KEYS[index])
    isTaken[index] = owner and not isMine(owner, token) and owner
    if isTaken[index] then blocked = blocked or index end
  end
  -- A detached lease has this key: a late queue entry must not grant it to others (PROTOCOL 5.8).
  if isHeld then return claimOnly(false) end
  local waited = 0
  for index = first, blocked and first - 1 or last do waited = waited + call("EXISTS", queues[index]) end
  if not blocked and waited == 0 then return claim(first, last, token, ttl, true) end
  demand(KEYS[first], toEnter)
  local place = ":" .. string.sub(waiter, 1, 20)
  local entry = round .. " " .. ttl .. " " .. inbox .. " " .. proposal .. " "
  local isFirst, waitsFor = {}, nil
  for index = first, last do
    local queue = queues[index]
    -- @include "enter"
    -- One new entry in ten, by its ticket, removes dead waiters behind a live head (PROTOCOL 7.14).
    if round == "1" and string.sub(ticket, -1) == "0" then sweep(queue, 1, 80, waiter) end
    isFirst[index] = not isTaken[index] and headOf(queue, waiter) == waiter
    if not isTaken[index] and not isFirst[index] then waitsFor = waitsFor or index end
  end
  local inTheWay, refusal = blocked or waitsFor, nil
  for index = first, inTheWay and last or first - 1 do
    local how = first == last and alone or index == inTheWay and "w" or "s"
    call("SET", queues[index] .. place, entry .. how, "PX", entryTtl)
    if isFirst[index] then
      reserve(KEYS[index], token, tonumber(entryTtl), ttl)
    else
      if not isTaken[index] then give(KEYS[index], token) end
      local owner = not refusal and (isTaken[index] or ownerFor(KEYS[index], token))
      if not refusal and not isMine(owner, token) then
        local latest = call("ZRANGE", queues[index], -1, -1, "WITHSCORES")[2]
        local inWay = owner or ownerFor(lockOf(KEYS[index]), token)
        refusal = {index - first + 1, masked(inWay), leftOf(KEYS[index]), latest}
      end
    end
  end
  -- (No refusal where only dead waiters were ahead.)
  if refusal then return refusal end
  return claimOnly(true)
end
