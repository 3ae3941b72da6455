import { inspect } from "node:util";
import { type Redlock, systemRuntime } from "@quorlock/redlock";
import { type Masters, startMasters } from "@quorlock/testbed";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Tokens } from "../../packages/redlock/src/protocol/token.ts";
import { Fleet, fresh } from "../integration/fleet/fleet.ts";
import { startHostileServer } from "./hostile-server.ts";

// PROTOCOL 2.1.

// A client that knows a token can release the lock. So no token can be guessed, and nothing that ends in a log shows
// one. Two ways to a token are public, and documented as such: `lock.value` and `lock.detach()`. Here are masters that
// show one, or forged ones; secrets.deep.test.ts is about all that masters, libraries and this client show of its own.
const fleet = Fleet.forTests(3);

const ttl = 20_000;

describe("a token", () => {
  afterEach(() => vi.restoreAllMocks());

  it("comes from the system's cryptographic generator, and from nothing else", () => {
    const drawn: Uint8Array[] = [];
    const real = crypto.getRandomValues.bind(crypto);
    vi.spyOn(crypto, "getRandomValues").mockImplementation((array) => {
      drawn.push(array as Uint8Array);
      return real(array);
    });
    const guessable = vi.spyOn(Math, "random");
    // More than is kept in store, so that what follows is drawn while we look.
    const source = new Tokens(systemRuntime);
    const tokens = Array.from({ length: 1000 }, () => source.next());
    expect(guessable).not.toHaveBeenCalled();
    const hexadecimal = drawn.map((bytes) => Buffer.from(bytes).toString("hex")).join();
    expect(drawn.length).toBeGreaterThan(0);
    // (Into the half between the tag and this one the bytes in the place of the tag are mixed.)
    for (const token of tokens.slice(-500)) expect(hexadecimal).toContain(token.slice(16));
  });
});

/** All the ways in which an object comes into a log. */
function printed(value: unknown): string {
  const depths = { depth: 20, showHidden: true, getters: false } as const;
  const json = (() => {
    try {
      return JSON.stringify(value);
    } catch (error) {
      return String(error);
    }
  })();
  const stack = value instanceof Error ? value.stack : "";
  return [String(value), inspect(value), inspect(value, depths), json, stack].join("\n");
}

function expectNoToken(told: readonly unknown[], tokens: readonly string[]): void {
  const text = told.map(printed).join("\n");
  for (const token of tokens)
    expect(text.includes(token), `a token is in ${around(text, token)}`).toBe(false);
}

function around(text: string, token: string): string {
  const at = text.indexOf(token);
  return at < 0 ? "" : text.slice(Math.max(0, at - 200), at + 60);
}

describe("nothing that is printed holds a token:", () => {
  it("the error of a master that refuses, with all that hangs on it", async () => {
    const { redlock, errors } = await fleet.openWarm();
    const lock = await redlock.acquire(fresh(), ttl);
    const [admin] = fleet.admins;
    await admin!.acl("SETUSER", "default", "-set", "-eval", "-evalsha", "-get");
    try {
      await lock.extend(ttl);
      const [extension] = await Promise.all(lock.attempts);
      const refused = await redlock.acquire(lock.resources[0]!, ttl, { retryCount: 0 }).catch(String);
      const released = await lock.release();
      await Promise.all(released.attempts);
      expect(errors.length).toBeGreaterThan(2);
      expectNoToken([extension, refused, ...errors, ...errors.map(({ error }) => error)], [lock.value]);
    } finally {
      await admin!.acl("SETUSER", "default", "+@all");
    }
  });

  it("a foreign token in the result of inspect, even a short one", async () => {
    const { redlock } = await fleet.openWarm();
    for (const token of ["12345678", "a", "123456789"]) {
      const resource = fresh();
      await fleet.occupy(resource, fleet.masters, ttl, `<${token}>`);
      expectNoToken([await redlock.inspect(resource)], [`<${token}>`]);
    }
  });
});

/** Two masters and one that does not know the command. */
async function openOn(faulty: Masters): Promise<Redlock> {
  const { redlock } = fleet.open({ on: [...fleet.masters.slice(0, 2), ...faulty.list], retryCount: 0 });
  await fleet.teachScripts();
  return redlock;
}

/** A refusal may repeat the command: Redis itself quotes the arguments. */
describe("an answer of a master that repeats the command", () => {
  it.each([
    ["an error", (text: string) => `-ERR ${text}\r\n`],
    ["a string", (text: string) => `$${text.length}\r\n${text}\r\n`],
    ["an array", (text: string) => `*2\r\n:1\r\n$${text.length}\r\n${text}\r\n`],
  ])("holds no token: all of it comes back as %s", async (_, reply) => {
    await using echo = await startHostileServer(
      (socket, __, words) => void socket.write(reply(words.join(" "))),
    );
    const { redlock, errors } = fleet.open({ on: [...fleet.masters.slice(0, 2), echo] });
    const lock = await redlock.acquire(fresh(), ttl);
    const [votes] = await Promise.all(lock.attempts);
    await lock.extend(2 * ttl);
    const released = await lock.release();
    const told = [votes, ...(await Promise.all(released.attempts)), await redlock.inspect(fresh())];
    expect(errors.length).toBeGreaterThan(0);
    expectNoToken([...told, ...errors, ...errors.map(({ error }) => error)], [lock.value]);
  });

  it.each(["SET", "EVALSHA", "GET"])("holds no token: %s is renamed", async (command) => {
    await using faulty = await startMasters(1, { say: () => {}, config: ["--rename-command", command, ""] });
    const redlock = await openOn(faulty);
    const errors: unknown[] = [];
    redlock.on("error", (error) => errors.push(error, error.error));
    // Short, so that the token is within the 128 bytes that Redis quotes.
    const lock = await redlock.acquire("a", ttl);
    const [votes] = await Promise.all(lock.attempts);
    await lock.extend(2 * ttl);
    const [extension] = await Promise.all(lock.attempts);
    const released = await lock.release();
    const told = [votes, extension, ...(await Promise.all(released.attempts)), await redlock.inspect("a")];
    expect(errors.length).toBeGreaterThan(0);
    expectNoToken([...told, ...errors], [lock.value]);
  });
});
