-- The reply of one failed question in a batch.
local function failure(reason) return {0, type(reason) == "table" and reason.err or tostring(reason)} end
