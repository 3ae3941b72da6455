-- Ends the claims of `token` on KEYS `first` to `last`, and returns their number.
local function release(first, last, token)
  local released = 0
  for index = first, last do released = released + drop(KEYS[index], token) end
  return released
end
