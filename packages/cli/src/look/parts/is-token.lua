-- Whether a value has the form of a token of Quorlock, or of redlock 5.
local function isToken(value)
  if #value >= 400 then return false end
  local waiter = string.gsub(value, "%.%d+$", "")
  return #waiter == 32 and not string.find(waiter, "[^0-9a-f]") or string.sub(value, 1, 8) == "revoked:"
end
