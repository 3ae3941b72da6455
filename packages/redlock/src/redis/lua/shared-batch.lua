--!df flags=allow-undeclared-keys
-- The questions of batch.lua on locks that may be shared.

local call = redis.call
-- @include "parts/is-mine"
-- @include "parts/masked"
-- @include "shared/claims"
-- @include "shared/claim"
-- @include "parts/release"
-- @include "shared/queue"
-- @include "parts/failure"
-- @include "parts/enqueue"
-- @include "parts/leave"
-- @include "parts/guard"
-- @include "parts/guard-state"
local replies, key, arg = {}, 1, 2
-- @include "shared/questions"
-- @include "parts/questions"
local runAny = run
local function run(kind, last, number, ticket, entryTtl, proposal)
  if kind == "i" then
    return {masked(ownerFor(lockOf(KEYS[key]), "")), leftOf(KEYS[key]), call("ZCARD", queueOf(KEYS[key]))}
  end
  if last >= key then demand(KEYS[key], needed) end
  if kind == "m" then return retry(KEYS[key], ARGV[arg], tonumber(number)) end
  return runAny(kind, last, number, ticket, entryTtl, proposal)
end
-- @include "parts/run-all"
