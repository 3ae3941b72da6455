// Written by `pnpm scripts` from the .lua files.

/** A Lua script and its digest, by which a master that has cached it runs it. */
export interface Script {
  readonly source: string;
  /** SHA-1 of `source`. */
  readonly sha1: string;
}

export const readingScript: Script = { source: "local time = redis.call(\"TIME\")\nlocal now = time[1] * 1000 + math.floor(time[2] / 1000)\nlocal readers = redis.call(\"ZREVRANGEBYSCORE\", KEYS[1], \"+inf\", now, \"WITHSCORES\", \"LIMIT\", 0, 1000)\nfor place = 1, #readers, 2 do\nreaders[place] = string.sub(readers[place], 1, 8)\nreaders[place + 1] = math.ceil(readers[place + 1] - now)\nend\nreturn readers\n", sha1: "9e1fd136e6cf2558efe21d9070ca895c4dd34708" };

export const removeScript: Script = { source: "local token = redis.pcall(\"GET\", KEYS[1])\nif type(token) ~= \"string\" or redis.sha1hex(token) ~= ARGV[1] then return -2 end\nlocal left = redis.call(\"PTTL\", KEYS[1])\nredis.call(\"DEL\", KEYS[1])\nreturn left\n", sha1: "e09090f9dcbba2cd72d2f5d64bbb09b3c100b607" };

export const revokeScript: Script = { source: "local token = redis.pcall(\"GET\", KEYS[1])\nif type(token) ~= \"string\" or redis.sha1hex(token) ~= ARGV[1] then return -2 end\nlocal left = redis.call(\"PTTL\", KEYS[1])\nif left < 0 then redis.call(\"SET\", KEYS[1], ARGV[2])\nelse redis.call(\"SET\", KEYS[1], ARGV[2], \"PX\", math.max(1, left)) end\nreturn left\n", sha1: "3fcc2ce7a6c07726e956f08af7c838c3deb6984e" };

export const scanScript: Script = { source: "local function isToken(value)\nif #value >= 400 then return false end\nlocal waiter = string.gsub(value, \"%.%d+$\", \"\")\nreturn #waiter == 32 and not string.find(waiter, \"[^0-9a-f]\") or string.sub(value, 1, 8) == \"revoked:\"\nend\nlocal reply = redis.call(\"SCAN\", ARGV[1], \"COUNT\", ARGV[2])\nlocal locks, unread = {}, 0\nfor _, key in ipairs(reply[2]) do\nlocal kind = redis.pcall(\"TYPE\", key)\nif kind.err then unread = unread + 1\nelseif kind.ok == \"string\" and redis.call(\"STRLEN\", key) < 400 then\nif isToken(redis.call(\"GET\", key)) then locks[#locks + 1] = key end\nend\nend\nreturn {reply[1], #reply[2], locks, unread}\n", sha1: "e36eaebc2c25eb1122df9750c5983081ba276af4" };

export const statesScript: Script = { source: "local function isToken(value)\nif #value >= 400 then return false end\nlocal waiter = string.gsub(value, \"%.%d+$\", \"\")\nreturn #waiter == 32 and not string.find(waiter, \"[^0-9a-f]\") or string.sub(value, 1, 8) == \"revoked:\"\nend\nlocal function queueOf(key)\nlocal isTagged = string.find(key, \"{\", 1, true) and string.find(key, \"^[^{]*{[^}]+}\")\nreturn isTagged and \"quorlock:queue:tagged:\" .. key or \"quorlock:queue:{\" .. key .. \"}\"\nend\nlocal states = {}\nfor index, key in ipairs(KEYS) do\nlocal kind, token = \"string\", redis.pcall(\"GET\", key)\nif not token then kind, token = \"none\", \"\" end\nif type(token) == \"table\" then\nif not string.find(token.err, \"^WRONGTYPE\") then return token end\nkind, token = redis.pcall(\"TYPE\", key).ok or \"key of another type\", \"\"\nend\nlocal isRevoked = string.sub(token, 1, 8) == \"revoked:\"\nlocal shown = isRevoked and token or string.sub(token, 1, math.min(8, math.floor(#token / 2)))\nlocal waiting = redis.pcall(\"ZCARD\", queueOf(key))\nlocal waiters = redis.pcall(\"ZRANGE\", queueOf(key), 0, 49)\nif waiters.err then waiting, waiters = 0, {} end\nfor place, waiter in ipairs(waiters) do waiters[place] = string.sub(waiter, 1, 8) end\nlocal left = redis.call(\"PTTL\", key)\nstates[index] = {kind, redis.sha1hex(token), shown, left, waiting, waiters, isToken(token) and 1 or 0}\nend\nreturn states\n", sha1: "2139a8e37e83b144b7d2943a9563802965f73258" };

export const undeclaredScript: Script = { source: "return redis.call(\"EXISTS\", ARGV[1])\n", sha1: "d041213ca7cae38f9d49690212ab759e507738d7" };
