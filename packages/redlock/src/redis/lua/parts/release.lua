-- Ends the claims on KEYS `first` to `last` of ARGV `from` to `to`, and returns their number.
local function release(first, last, from, to)
  local released = 0
  for index = first, last do released = released + drop(KEYS[index], from, to) end
  return released
end
