--!df flags=allow-undeclared-keys
-- A vote for all KEYS, or a queue entry for each. ARGV: token, ttl, ticket, entryTtl, a proposal or nothing, and the inbox.

local call = redis.call
local token, ttl, ticket, entryTtl, proposal, inbox = unpack(ARGV)
-- @include "parts/refuse-large"
-- @include "parts/masked"
-- @include "parts/is-mine"
-- @include "exclusive/claim"
-- @include "exclusive/queue-of"
-- @include "exclusive/queue"
-- @include "parts/enqueue"
local granted, next = enqueue(1, #KEYS, token, ttl, ticket, entryTtl, proposal, inbox, "g")
if type(granted) ~= "number" then return granted end
return proposal ~= "" and fenced(KEYS, granted, proposal, next) or next and {-3, granted, next} or granted
