import type { IncomingMessage } from "node:http";
import { describe, expect, test } from "vitest";
import { Access, isLoopback, isOwnHost } from "./access.ts";

test.each([
  ["127.0.0.1", true],
  ["127.9.9.9", true],
  ["::1", true],
  ["localhost", true],
  ["0.0.0.0", false],
  ["::", false],
  ["10.0.0.1", false],
  ["localhost.example.com", false],
  ["127.0.0.1.example.com", false],
])("the address %s is a loopback address: %s", (host, expected) => {
  expect(isLoopback(host)).toBe(expected);
});

describe("a Host header", () => {
  test.each([
    ["localhost:7380", "127.0.0.1", 7380, true],
    ["LOCALHOST:7380", "127.0.0.1", 7380, true],
    ["127.0.0.1:7380", "127.0.0.1", 7380, true],
    ["[::1]:7380", "127.0.0.1", 7380, true],
    ["locks.example.com:7380", "locks.example.com", 7380, true],
    ["[fd00::1]:7380", "fd00::1", 7380, true],
    ["10.0.0.1:7380", "0.0.0.0", 7380, true],
    ["[fd00::1]:7380", "::", 7380, true],
    ["localhost", "127.0.0.1", 80, true],
    [undefined, "127.0.0.1", 7380, false],
    ["", "127.0.0.1", 7380, false],
    ["localhost", "127.0.0.1", 7380, false],
    ["localhost:7381", "127.0.0.1", 7380, false],
    ["10.0.0.1:7380", "127.0.0.1", 7380, false],
    ["attacker.example:7380", "127.0.0.1", 7380, false],
    ["attacker.example:7380", "0.0.0.0", 7380, false],
    ["attacker.example:7380", "locks.example.com", 7380, false],
    ["localhost:7380@attacker.example", "127.0.0.1", 7380, false],
    ["127.0.0.1:7380.attacker.example", "127.0.0.1", 7380, false],
  ])("%s, for a server at %s:%i, is its own: %s", (header, host, port, expected) => {
    expect(isOwnHost(header, host, port)).toBe(expected);
  });
});

describe("access by a token", () => {
  const token = "a-token-of-32-characters-or-so-0";
  const access = new Access(token, 7380);
  const cookie = access.cookie.split(";")[0]!;

  test.each([
    ["the token", { authorization: `Bearer ${token}` }, true],
    ["the token, the scheme in small letters", { authorization: `bearer ${token}` }, true],
    ["the cookie", { cookie }, true],
    ["the cookie among others", { cookie: `a=b; ${cookie}; c=d` }, true],
    ["nothing", {}, false],
    ["another token", { authorization: `Bearer ${token}1` }, false],
    ["the beginning of the token", { authorization: `Bearer ${token.slice(0, -1)}` }, false],
    ["another scheme", { authorization: `Basic ${token}` }, false],
    ["the token as the cookie", { cookie: `quorlock-7380=${token}` }, false],
    ["the cookie of another port", { cookie: cookie.replace("7380", "7381") }, false],
    ["the cookie of another run", { cookie: new Access(token, 7380).cookie.split(";")[0]! }, false],
  ])("with %s", (_, headers, expected) => {
    expect(access.isGranted({ headers } as IncomingMessage)).toBe(expected);
  });

  test("keeps the cookie from scripts and from other sites, and the token out of it", () => {
    expect(access.cookie).toMatch(/^quorlock-7380=[\da-f]{64}; HttpOnly; SameSite=Strict; Path=\/$/);
    expect(access.cookie).not.toContain(token);
  });
});
