import type { MutantRows } from "../mutants/mutant.ts";

export const readWriteMutants: MutantRows = {
  "readers have no expiry of their own": {
    breaks: ["10.3"],
    lua: {
      "if expiry < now then return false end": "if expiry < 0 then return false end",
      "if expiry >= now then return last[1], expiry end": "if expiry >= 0 then return last[1], expiry end",
      'if call("PTTL", set) < expiry - now then': "if true then",
      'if tonumber(oldest[place + 1]) < now then\ncall("ZREM", key': 'if false then\ncall("ZREM", key',
    },
  },
  "the write claim stands during the downgrade": {
    from: 12,
    breaks: ["10.5"],
    edits: {
      "primitives/read-write-lock.ts 10.5 end": "undefined",
      "primitives/read-write-lock.ts 10.5 confirmed": (sent) =>
        `${sent} void confirmed.catch(() => {}).then(() => writing.end());`,
    },
  },
  "a writer does not look for readers": {
    breaks: ["10.3"],
    lua: {
      "local last = lastReader(key)": "local last = false",
    },
  },
  "a reader does not look for the writer": {
    breaks: ["10.3"],
    lua: {
      "if writer then return writer end":
        "if writer and (writer == token or not isShared(key)) then return writer end",
    },
  },
  "a downgrade only gives up the writer's key": {
    breaks: ["10.5"],
    lua: { "left = admit(key, token, ms)": "left = isWriter and ms or admit(key, token, ms)" },
  },
  "a reader is let in beside the mark of a writer": {
    breaks: ["10.8"],
    lua: { 'if mark[1] and tonumber(mark[2]) >= now then return {1, "writers", mark[2] - now} end': "" },
  },
  "a writer that stops retrying removes the marks of all": {
    breaks: ["10.8"],
    lua: { 'return call("ZREM", marks, name)': 'return call("DEL", marks)' },
  },
  "a writer is given its proposal, whatever the masters had": {
    from: 7,
    breaks: ["8.2"],
    edits: { "protocol/fencing.ts tokenOf max": "proposal" },
  },
  "a key is granted beside those who hold it": {
    breaks: ["10.4"],
    lua: {
      "elseif mayShare and ownerFor(key, token) then return": "elseif false then return",
    },
  },
  "the vote of a reader is granted beside writers that wait": {
    from: 19,
    breaks: ["10.4"],
    lua: { 'return {1, masked(waiter .. "." .. (string.match(entry, "^%d+") or "")), left}': "return nil" },
  },
  "a reader that waits passes the writers before it": {
    from: 30,
    breaks: ["7.3", "10.4"],
    lua: {
      "and headOf(queue, waiter) == waiter":
        'and (string.sub(KEYS[index], -8) == ":readers" or headOf(queue, waiter) == waiter)',
    },
  },
  "a writer that waits passes those before it": {
    from: 70,
    breaks: ["7.3"],
    lua: {
      "and headOf(queue, waiter) == waiter":
        'and (string.sub(KEYS[index], -8) ~= ":readers" or headOf(queue, waiter) == waiter)',
    },
  },
};

/** To be found where a client uses exclusive locks beside these, and reads the masters' clocks. */
export const mixedBatchMutants: MutantRows = {
  "a batch is by one script, whatever locks it is for": {
    breaks: ["10.3"],
    edits: { "redis/commands.ts needsOtherScript body": "{ return false; }" },
  },
};

/** To be found where the only master is a Cluster, whose slot moves. */
export const undeclaredMutant: MutantRows = {
  "a script of readers and writers declares only the key that it claims": {
    breaks: ["12.6"],
    edits: { "redis/commands.ts commandOf 12.6 value": "[]" },
  },
};

/** To be found where a client uses exclusive locks beside these, and reads the masters' clocks. */
