import { expect, test } from "vitest";
import { failed } from "./faults.ts";

test.each([
  "ERR unknown command 'EVALSHA', with args beginning with: '1' '0123456789abcdef.1' '500'",
  "ERR unknown command 'EVALSHA', with args beginning with: 'long' '0123456789abc",
  "ERR unknown command 'EVALSHA', with args beginning with: '0123456789abcdef.1' '012345678",
])("no error shows a token, also where Redis has cut it: %s", (message) => {
  const { error } = failed("master", new Error(message), true, ["0123456789abcdef.1"]);
  expect(`${error.message} ${error.error.message}`).not.toMatch(/012345678|abcdef/);
  expect(error.message).toContain("EVALSHA");
});

test.each([
  ["WRONGTYPE Operation against a key holding the wrong kind of value", "WRONGTYPE"],
  ["OOM command not allowed when used memory > 'maxmemory'.", "OOM"],
  ["something without a word in front", "ERR"],
  // Inside of a script, as Redis 6.2 quotes an error.
  ["ERR Error running script (call to f_0): @user_script:6: WRONGTYPE Operation against", "WRONGTYPE"],
  ["ERR Error running script (call to f_0): @user_script: 6: -OOM command not allowed", "OOM"],
  // A missing permission there, in the words of Redis 6.2, of 7.0, of 7.4 and later, and of Valkey 9.1.
  [
    "ERR Error running script (call to f_0): @user_script:1: @user_script: 1: The user executing the script can't run this command or subcommand",
    "NOPERM",
  ],
  [
    "ERR The user executing the script can't access at least one of the keys mentioned in the command arguments script: 0, on @user_script:1.",
    "NOPERM",
  ],
  [
    "ERR ACL failure in script: User u has no permissions to run the 'info' command script: 0, on @user_script:1.",
    "NOPERM",
  ],
  ["ERR ACL failure in script: No permissions to access a channel", "NOPERM"],
])("the error reply %j has the reason %s", (message, reason) => {
  expect(failed("master", new Error(message), true, []).error.reason).toBe(reason);
});

test.each([
  "UNSEEDED 1795952639818873",
  "ERR Error running script (call to f_0): @user_script:123: UNSEEDED 1795952639818873",
])("a master without fencing counters says what comes next, and its epoch: %s", (message) => {
  const { error } = failed("m", new Error(message), true, []);
  expect(error.message).toBe(
    "m: UNSEEDED: it has no fencing counters since epoch 1795952639818873: they are restored from other masters, then it votes [NODE]",
  );
});
