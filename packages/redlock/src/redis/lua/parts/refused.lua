-- The refusal of a claim, marked if the key is free in a memory that is new and has voted for nobody (PROTOCOL 4.7).
local function refused(refusal, isOfNew)
  if isOfNew and not refusal[2] then refusal[4], refusal[5] = false, 1 end
  return refusal
end
