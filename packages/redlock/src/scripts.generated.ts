// Written by `pnpm scripts` from the .lua files.

/** A Lua script and its digest, by which a master that has cached it runs it. */
export interface Script {
  readonly source: string;
  /** SHA-1 of `source`. */
  readonly sha1: string;
}

export const ownerScript: Script = { source: "if redis.replicate_commands then redis.replicate_commands() end\nlocal call = redis.call\nlocal index, record = KEYS[1], KEYS[2]\nlocal tag, text, ttl, turn = unpack(ARGV)\nif ttl == \"0\" then\ncall(\"ZREM\", index, tag)\ncall(\"DEL\", record)\nreturn {0, {}}\nend\nlocal time = call(\"TIME\")\nlocal now = time[1] * 1000 + math.floor(time[2] / 1000)\ncall(\"SET\", record, text, \"PX\", ttl)\ncall(\"ZADD\", index, now + ttl, tag)\ncall(\"PEXPIRE\", index, ttl)\nlocal oldest = call(\"ZRANGE\", index, 0, 7, \"WITHSCORES\")\nfor place = 1, #oldest, 2 do\nif tonumber(oldest[place + 1]) < now then call(\"ZREM\", index, oldest[place]) end\nend\nlocal count = call(\"ZCARD\", index)\nlocal first = 50 * (turn % math.ceil(count / 50))\nreturn {count, call(\"ZRANGE\", index, first, first + 49)}\n", sha1: "d27d581d2f6c1be5168c571246c97c6665f6aaff" };

export const readersScript: Script = { source: "local function masked(owner)\nif not owner then return owner end\nlocal round = string.match(owner, \"%.%d+$\") or \"\"\nlocal length = #owner - #round\nlocal shown = math.min(8, math.floor(length / 2))\nreturn string.sub(owner, 1, shown) .. string.rep(\"*\", length - shown) .. round\nend\nlocal time, readers = redis.call(\"TIME\"), {}\nlocal now = time[1] * 1000 + math.floor(time[2] / 1000)\nlocal found = redis.call(\"ZRANGE\", KEYS[1], -50, -1, \"WITHSCORES\")\nfor place = #found - 1, 1, -2 do\nlocal left = tonumber(found[place + 1]) - now\nif left >= 0 then readers[#readers + 1] = {masked(found[place]), left} end\nend\nreturn readers\n", sha1: "0903b93d4a1e353993a6037eba915a32b00cc867" };

export const waitersScript: Script = { source: "--!df flags=allow-undeclared-keys\nlocal function masked(owner)\nif not owner then return owner end\nlocal round = string.match(owner, \"%.%d+$\") or \"\"\nlocal length = #owner - #round\nlocal shown = math.min(8, math.floor(length / 2))\nreturn string.sub(owner, 1, shown) .. string.rep(\"*\", length - shown) .. round\nend\nlocal function queueOf(key)\nlocal isTagged = string.find(key, \"{\", 1, true) and string.find(key, \"^[^{]*{[^}]+}\")\nreturn isTagged and \"quorlock:queue:tagged:\" .. key or \"quorlock:queue:{\" .. key .. \"}\"\nend\nlocal queue, waiters = queueOf(KEYS[1]), {}\nfor _, waiter in ipairs(redis.call(\"ZRANGE\", queue, 0, 49)) do\nif redis.call(\"EXISTS\", queue .. \":\" .. string.sub(waiter, 1, 20)) == 1 then waiters[#waiters + 1] = masked(waiter) end\nend\nreturn waiters\n", sha1: "efa81484c11a731eec79395351f5a835eeb4656d" };
