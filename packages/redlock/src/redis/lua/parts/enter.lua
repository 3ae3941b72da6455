-- The queue gets twice the time of an entry, so that most entries need not renew it.
call("ZADD", queue, ticket, waiter)
if call("PTTL", queue) < tonumber(entryTtl) then call("PEXPIRE", queue, 2 * entryTtl) end
