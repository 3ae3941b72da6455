import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { codeOf, mastersFrom } from "./masters.ts";
import { UsageError } from "./output.ts";

const folder = mkdtempSync(join(tmpdir(), "quorlock-cli-"));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

describe("an address", () => {
  test.each([
    ["redis://a", { name: "a:6379", place: { host: "a", port: 6379 }, database: 0 }],
    ["a:1", { name: "a:1", place: { host: "a", port: 1 } }],
    ["redis://u:p%40@a:2/3", { name: "a:2", username: "u", password: "p@", database: 3 }],
    ["redis://:p@[::1]:2", { name: "[::1]:2", place: { host: "::1", port: 2 }, password: "p" }],
    ["[::1]:2", { place: { host: "::1", port: 2 }, tls: undefined }],
    ["rediss://a", { name: "a:6379", tls: { rejectUnauthorized: true } }],
    ["unix:///run/redis.sock", { name: "/run/redis.sock", place: { path: "/run/redis.sock" } }],
  ])("%s is read", (address, expected) => {
    expect(mastersFrom([address], {}, {})).toMatchObject([expected]);
  });

  test.each([
    "http://hunter2@a",
    "redis://",
    "redis://u:hunter2@",
    "redis://a:99999",
    "redis://u:hunter2@a/x",
    "redis://a?password=hunter2",
    "redis://u:hunt%er2@a",
    "u:hunter2@a:1",
    "a:hunter2",
  ])("%s is refused by its place, without a word of it", (address) => {
    const read = () => mastersFrom(["redis://a", address], {}, {});
    expect(read).toThrow(UsageError);
    expect(read).toThrow(/^address 2 of the arguments/);
    expect(read).not.toThrow(/hunt/);
  });
});

test("addresses are arguments, or the lines of a file, or those of REDLOCK_NODES, in this order", () => {
  const environment = { REDLOCK_NODES: "redis://e1, redis://e2:1" };
  const nodesFile = file("nodes", "# ours\nf1:1\n\n  f2:2\n");
  const names = (given: readonly string[], options: object) =>
    mastersFrom(given, options, environment).map(({ name }) => name);
  expect(names(["a1:1"], {})).toEqual(["a1:1"]);
  expect(names([], { nodesFile })).toEqual(["f1:1", "f2:2"]);
  expect(names([], {})).toEqual(["e1:6379", "e2:1"]);
  expect(() => names(["a1:1"], { nodesFile })).toThrow("not both");
  expect(() => mastersFrom([], {}, {})).toThrow("no masters: pass their addresses");
  expect(() => names([], { nodesFile: join(folder, "none") })).toThrow("cannot be read (ENOENT)");
});

test("a user and a password are those of the address, or of the file, or of REDLOCK_PASSWORD", () => {
  const environment = { REDLOCK_PASSWORD: "of-environment" };
  const passwordFile = file("password", "of file\n");
  const secrets = (options: object) =>
    mastersFrom(["redis://own:secret@a", "b", "redis://own@c"], options, environment).map(
      ({ username, password }) => [username, password],
    );
  expect(secrets({})).toEqual([
    ["own", "secret"],
    [undefined, "of-environment"],
    ["own", "of-environment"],
  ]);
  expect(secrets({ user: "locks", passwordFile })[1]).toEqual(["locks", "of file"]);
  expect(() => mastersFrom(["a"], { user: "locks" }, {})).toThrow("has a user and no password");
});

test("TLS options concern rediss:// and, with --tls, addresses without a scheme", () => {
  const cacert = file("ca.pem", "PEM");
  const addresses = ["redis://a", "rediss://b", "c:1"];
  const options = { tls: true, cacert, insecure: true };
  const tls = mastersFrom(addresses, options, {}).map((master) => master.tls);
  const expected = { ca: "PEM", rejectUnauthorized: false };
  expect(tls).toEqual([undefined, expected, expected]);
});

test.each([
  [new Error("WRONGPASS invalid username-password pair"), "WRONGPASS"],
  [new Error("ERR The user executing the script can't run this command"), "NOPERM"],
  [new Error("ERR ACL failure in script: no permissions"), "NOPERM"],
  [Object.assign(new Error("connect ECONNREFUSED 1"), { code: "ECONNREFUSED" }), "ECONNREFUSED"],
  [new Error("ERR the password hunter2 is wrong"), "ERR"],
  [new Error("Connection is closed."), "CLOSED"],
  [new Error("hunter2"), "ERR"],
  ["hunter2", "ERR"],
])("of an error %s only the kind is shown", (error, code) => {
  expect(codeOf(error)).toBe(code);
});
