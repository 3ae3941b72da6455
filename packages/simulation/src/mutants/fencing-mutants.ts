import type { Edit, Mutant } from "./mutant.ts";

const noSecondRound: Edit = {
  file: "protocol/fencing.ts",
  line: "if (token === undefined || token === proposal) return token;",
  instead: "return token;",
};

/**
 * Faults in fencing tokens: PROTOCOL 8. (The exhaustive model and the tests of fencing.ts find the fault that an
 * acknowledgement counts though the counter was not below the token; here it is too rare.)
 */
export const fencingMutants: readonly Mutant[] = [
  {
    name: "a fencing token is written back without looking whose the key is",
    edits: [
      {
        file: "redis/lua/scripts.ts",
        line: 'if proposal == "" or type(reply) ~= "number" then return reply end',
        instead:
          'if type(reply) ~= "number" and kind == "e" and proposal ~= "" then reply = tonumber(number) end\n' +
          '  if proposal == "" or type(reply) ~= "number" then return reply end',
      },
      {
        file: "redis/lua/scripts.ts",
        line: "local granted = isSet and tonumber(ttl) or claim(1, #KEYS, token, ttl, create, previous)",
        instead:
          "local granted = isSet and tonumber(ttl) or claim(1, #KEYS, token, ttl, create, previous)\n" +
          'if type(granted) ~= "number" and not create then granted = tonumber(ttl) end',
      },
      {
        file: "redis/lua/scripts.ts",
        line: 'if type(granted) ~= "number" then return granted end',
        instead:
          'if type(granted) ~= "number" and kind == "e" and proposal ~= "" then granted = tonumber(ttl) end\n' +
          'if type(granted) ~= "number" then return granted end',
      },
    ],
    rules: { writesBackAnyway: true },
  },
  { name: "a fencing token that is not the proposal is stored nowhere", edits: [noSecondRound] },
  {
    name: "the fencing token is the largest of counters that each master counts up",
    edits: [
      noSecondRound,
      {
        file: "protocol/fencing.ts",
        line: "Math.max(proposal, largest + 1)",
        instead: "largest + 1",
      },
      {
        file: "redis/lua/fencing.ts",
        line: "raise(keys, math.max(counter, tonumber(proposal)))\n  return {-1",
        instead: "raise(keys, counter + 1)\n  return {-1",
      },
      {
        file: "redis/lua/queue.ts",
        line: "if counter then raise({key}, math.max(counter, tonumber(proposal))) end",
        instead: "if counter then raise({key}, counter + 1) end",
      },
    ],
    rules: { stored: (counter) => counter + 1 },
  },
  {
    name: "the fencing token is the proposal, whatever the masters had",
    edits: [
      {
        file: "protocol/fencing.ts",
        line: "Math.max(proposal, largest + 1)",
        instead: "proposal",
      },
    ],
  },
];
