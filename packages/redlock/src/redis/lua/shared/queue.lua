-- The queue of a lock that may be shared. Each question demands all commands before it begins: a claim that could not be
-- released is refused (PROTOCOL 7.5).
local needed, toEnter, toGive = "DEL EXISTS GET PEXPIRE PTTL SET ZADD ZRANGE ZREM ZSCORE", nil, nil
local mayShare = true
-- @include "../parts/queue"
