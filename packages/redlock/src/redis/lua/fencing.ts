/**
 * Fencing counters (PROTOCOL 8): the largest token stored for a key. A counter expires after a day without
 * use. `quorlock:floor` is above all counters ever stored and never expires. It is raised by a million at a
 * time, a second's worth of proposals, so it is seldom written. `quorlock:floor:past` is its value within the
 * last 12 hours, and counts as a lower bound for every counter. So an expired counter does no harm, and the
 * counters of other keys, which may be ahead because of a clock, do not interfere. All numbers are exact,
 * below 2^53.
 */
export const fence: string = counters({
  names: "",
  counter: '"quorlock:fence:" .. <<key||exclusive(key)>>',
  floor: '"quorlock:floor"',
  past: '"quorlock:floor:past"',
});

/**
 * The same in one slot of a Cluster, with a floor for each slot: the last of KEYS, with its past value before it (PROTOCOL
 * 8.9). Only an operation with a proposal reads them.
 */
export const fenceInSlot: string = counters({
  names: `
local floorKey, pastKey = KEYS[#KEYS], KEYS[#KEYS - 1]
local function counterKey(key)
  if string.find(key, "^[^{]*{[^}]+}") then return "quorlock:fence:tagged:" .. key end
  return "quorlock:fence:{" .. key .. "}"
end
`,
  counter: "counterKey(<<key||exclusive(key)>>)",
  floor: "floorKey",
  past: "pastKey",
});

interface Names {
  /** Lua that comes before the rest. */
  readonly names: string;
  /** Each an expression. */
  readonly counter: string;
  readonly floor: string;
  readonly past: string;
}

function counters({ names, counter, floor, past }: Names): string {
  return `${names}
local counterTtl, pastTtl = 86400000, 43200000

local function exactly(number) return string.format("%.0f", number) end

local function counterOf(keys)
  local past = call("GET", ${past})
  if not past then
    past = call("GET", ${floor}) or "0"
    call("SET", ${past}, past, "PX", pastTtl)
  end
  local largest = tonumber(past)
  for _, key in ipairs(keys) do
    largest = math.max(largest, tonumber(call("GET", ${counter}) or 0))
  end
  return largest
end

local function raise(keys, counter)
  for _, key in ipairs(keys) do
    call("SET", ${counter}, exactly(counter), "PX", counterTtl)
  end
  if counter >= tonumber(call("GET", ${floor}) or 0) then
    call("SET", ${floor}, exactly(counter + 1000000))
  end
  -- The clock was set back: a counter could expire before the past floor.
  if call("PTTL", ${past}) > pastTtl then call("DEL", ${past}) end
end

-- The reply to a granted claim, with the largest counter from before its proposal was stored. (The ticket of the next waiter comes from \`enqueue\`.)
local function fenced(keys, granted, proposal, next)
  local counter = counterOf(keys)
  raise(keys, math.max(counter, tonumber(proposal)))
  return {-1, granted, exactly(counter), next}
end
`;
}

/** Whether a proposal, not empty, is near the numbers that are not exact any more; and the error (PROTOCOL 8.6). */
export const isTooLarge = "tonumber(proposal) >= 2 ^ 53 - 2 ^ 20";
export const tooLarge = '"ERR the fencing token is too large"';
