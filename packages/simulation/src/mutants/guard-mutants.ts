import type { MutantRows } from "./mutant.ts";

/**
 * Faults in the restart guard: PROTOCOL 8.8, 9. Each must be found in runs in which masters lose their
 * votes. (Two rules are too rare here, and the exhaustive model finds both: a repair in quarantine must not count if
 * the vote was not the holder's, and the floors of the fencing counters are read *after* the quarantine.)
 */
export const guardMutants: MutantRows = {
  "the quarantine is shorter than maxTtl": {
    breaks: ["9.8"],
    from: 148,
    lua: {
      "length = math.max(tonumber(longest or 0), tonumber(maxTtl))":
        "length = math.ceil(math.max(tonumber(longest or 0), tonumber(maxTtl)) / 2)",
    },
  },
  "a master votes in quarantine": {
    breaks: ["9.1"],
    from: 24,
    lua: {
      'if guarded.state == "2" then\nlocal left': "if false then\nlocal left",
      "if guarded and inQuarantine() then return {-2, reply} end": "",
      "if isForgetful then return {-2, granted} end": "",
    },
  },
  "the fencing counters are brought back before the quarantine ends, and that ends it": {
    breaks: ["8.8"],
    from: 20,
    edits: {
      "safeguards/master-guard.ts refused #restoreCounters condition": 'error.message.includes("UNSEEDED")',
    },
    lua: {
      'exactly(left) .. " ms more"': (why) => `${why} .. " UNSEEDED " .. guarded.since`,
      'guarded.state ~= "1" or guarded.since ~= epoch': 'guarded.state == "0" or guarded.since ~= epoch',
    },
  },
  "a master votes before its fencing counters are brought back": {
    breaks: ["8.8"],
    from: 99,
    lua: { 'if proposal ~= "" and guarded.state == "1" then return "UNSEEDED " .. guarded.since end': "" },
  },
  "the fencing counters are brought back to whichever master has the name": {
    breaks: ["8.8"],
    from: 6,
    edits: {
      "safeguards/restart-guard.ts 8.8 restoreCounters argument":
        "nodes.find(({ name }) => name === node.name)!",
    },
  },
  "a marker counts although another server at this address had a later epoch": {
    breaks: ["9.5"],
    from: 20,
    lua: {
      " and tonumber(since) >= tonumber(after)\n": "\n",
      "tonumber(since) >= tonumber(after) and tonumber(ttl)": "tonumber(ttl)",
    },
  },
  "a marker counts although its master was a replica since": {
    breaks: ["9.3"],
    from: 172,
    lua: { 'if not isSame and not string.find(info, "master_replid2:0+\\r") then return false end': "" },
  },
  "a new quarantine keeps the epoch of the marker": {
    breaks: ["9.5"],
    from: 7,
    lua: { "guarded.since = exactly(": "guarded.since = since or exactly(" },
  },
};

/** To be found where many wait for the same keys: elsewhere it would take thousands of seeds. */
export const crowdedGuardMutant: MutantRows = {
  "a client that is refused in quarantine gets a queue entry, and is granted the key": {
    breaks: ["9.6"],
    from: 360,
    lua: {
      'kind == "r" or kind == "l" and inQuarantine()': 'kind == "r"',
      "if not isKnown or inQuarantine() then": "if not isKnown then",
      "local why = guarded and bar(kind, number, proposal)": (bar) => `if kind == "q" and inQuarantine() then
      local waiter, round = string.match(ARGV[arg], "^(.+)%.(%d+)$")
      for index = key, last do
        local queue = queueOf(KEYS[index])
        call("ZADD", queue, ticket, waiter)
        call("PEXPIRE", queue, 2 * entryTtl)
        local entry = round .. " " .. number .. " " .. ARGV[arg + 1] .. " " .. proposal .. " g"
        call("SET", queue .. ":" .. string.sub(waiter, 1, 20), entry, "PX", entryTtl)
      end
    end
    ${bar}`,
    },
  },
};

/** Too rare for the budget of the others: the seed bank keeps a run that shows it. */
export const rareGuardMutants: MutantRows = {
  "a marker counts although its memory was loaded from a file": {
    breaks: ["9.2"],
    lua: { 'return call("GET", "quorlock:guard:memory") == since': "return true or true" },
  },
  "the epoch is not read when a connection is made again": {
    breaks: ["9.5"],
    edits: { "safeguards/restart-guard.ts #onBack body": "{ void guard; }" },
  },
};

/** To be found where a quarantine has to end. */
export const endlessMutant: MutantRows = {
  "a quarantine does not end": {
    breaks: ["9.10"],
    lua: { 'if left == -2 and guarded.ends <= now then pcall(mark, "1", 0) end': "" },
  },
};

/** To be found where masters boot with a fast clock that is set later. */
export const fastBootMutant: MutantRows = {
  "the quarantine lasts as long as its key, by the master's own clock": {
    breaks: ["9.10"],
    lua: { "if length and left > length then": "if false then" },
  },
};

/** To be found where a master boots with a slow clock that is set later. */
export const slowBootMutants: MutantRows = {
  "the quarantine is over with its key, by the master's own clock": {
    breaks: ["9.10"],
    lua: { "if left == -2 and guarded.ends <= now then": "if left == -2 then" },
  },
};
