import type { Edits, MutantRows } from "./mutant.ts";

const noSecondRound: Edits = { "protocol/ballot.ts fence 8.2 condition": "true" };

/**
 * Faults in fencing tokens: PROTOCOL 8. (The exhaustive model and the tests of fencing.ts find the fault that an
 * acknowledgement counts though the counter was not below the token; here it is too rare.)
 */
export const fencingMutants: MutantRows = {
  "a fencing token is written back without looking whose the key is": {
    breaks: ["8.2"],
    from: 367,
    lua: {
      "granted = isSet and tonumber(ttl) or claim(1, #KEYS, token, ttl, create)": (granted) =>
        `${granted}\nif type(granted) ~= "number" and not create then granted = tonumber(ttl) end`,
      'if type(reply) ~= "number" then return refused(reply, isNew()) end': (refused) =>
        `if kind == "e" and proposal ~= "" and type(reply) ~= "number" then reply = tonumber(number) end\n${refused}`,
    },
  },
  "a fencing token that is not the proposal is stored nowhere": {
    breaks: ["8.2"],
    edits: { ...noSecondRound },
  },
  "the fencing token is the largest of counters that each master counts up": {
    breaks: ["8.1"],
    edits: { ...noSecondRound, "protocol/fencing.ts tokenOf max": "largest + 1" },
    lua: {
      "raise(locks, math.max(counter, tonumber(proposal)))": "raise(locks, counter + 1)",
      "raise({lockOf(key)}, math.max(counter, tonumber(proposal)))": "raise({lockOf(key)}, counter + 1)",
    },
  },
  "the fencing token is the proposal, whatever the masters had": {
    breaks: ["8.2"],
    edits: { "protocol/fencing.ts tokenOf max": "proposal" },
  },
};
