import { readFileSync } from "node:fs";
import { Child, runProgram } from "@quorlock/simulation/processes";
import { type Masters, startMasters } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { program } from "./built.ts";
import { rightsOfLocks } from "./doctor/good-masters.ts";

// Each command as the user with the rights of locks (@quorlock/redlock/internal), which the page about permissions shows.

const rights = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const ofScan = /`ls --scan`: `(\+scan .+?)`/.exec(rights)![1]!.split(" ");
let masters: Masters;
let admins: readonly Redis[];
let addresses: readonly string[];

beforeAll(async () => {
  masters = await startMasters(3, { source: "local-binary", persistence: "aof-always", say: () => {} });
  admins = masters.list.map(({ url }) => new Redis(url));
  for (const [name, ...more] of [["locks"], ["scanner", ...ofScan]])
    for (const admin of admins)
      await admin.call("ACL", "SETUSER", name!, "on", ">password", ...rightsOfLocks, ...more);
  for (const admin of admins) {
    await admin.set("lock:held", "0123456789abcdef0123456789abcdef", "PX", 600_000);
    await admin.call("ACL", "LOG", "RESET");
  }
  addresses = addressesOf("locks");
});
afterAll(async () => {
  for (const admin of admins) admin.disconnect();
  await masters.stop();
});

function addressesOf(user: string): readonly string[] {
  return ["--user", user, ...masters.list.flatMap(({ url }) => ["--master", url])];
}

// In an argument it is warned about.
const options = { env: { REDLOCK_PASSWORD: "password" } };

async function refusals(): Promise<unknown> {
  return Promise.all(admins.map((admin) => admin.call("ACL", "LOG")));
}

test.each([
  { args: ["inspect", "lock:held"], says: /^lock:held: held by 01234567\n/ },
  { args: ["ls"], says: /^no owner has recorded a lock/ },
  { args: ["release", "lock:held"], says: /revoked on 3 of 3 masters/ },
  { args: ["exec", "lock:job", "--fencing"], command: ["echo", "ran"], says: /^ran\n$/ },
  { args: ["exec", "lock:kept", "--keep-for", "5s"], command: ["echo", "ran"], says: /^ran\n$/ },
])("$args asks for nothing else", async ({ args, command, says }) => {
  const last = command ? ["--", ...command] : [];
  const { code, output, errors } = await runProgram(program, [...args, ...addresses, ...last], options);
  expect({ code, errors, output }).toEqual({ code: 0, errors: "", output: expect.stringMatching(says) });
  expect(await refusals()).toEqual([[], [], []]);
});

test("watch and serve ask for nothing else", async () => {
  await using watch = Child.node(program, ["watch", "lock:held", "--json", ...addresses], options);
  await watch.printed(/"change": /);
  await using serve = Child.node(program, ["serve", "--port", "0", ...addresses], options);
  await serve.printed(/http.*\n/);
  const state = await fetch(`${serve.output.trim()}api/state`);
  expect(((await state.json()) as { readonly hasQuorum: boolean }).hasQuorum).toBe(true);
  for (const child of [watch, serve]) child.process.kill("SIGINT");
  expect(await refusals()).toEqual([[], [], []]);
});

test("a search needs what its page says, and a refusal names the command", async () => {
  for (const admin of admins) await admin.set("other", "1");
  const { code, output } = await runProgram(program, ["ls", "--scan", ...addressesOf("scanner")], options);
  expect({ code, output }).toEqual({ code: 0, output: expect.stringMatching(/may not read \d+ of them\n/) });
  const refused = await runProgram(program, ["ls", "--scan", ...addresses], options);
  expect(refused.code).toBe(2);
  expect(refused.output).toMatch(/(.*: not searched \(NOPERM\)\n){3}/);
  for (const admin of admins) await admin.call("ACL", "SETUSER", "locks", "-zrange");
  const { output: listed } = await runProgram(program, ["ls", ...addresses], options);
  expect(listed).toMatch(/(.*: no answer \(NOPERM zrange\)\n){3}/);
});
