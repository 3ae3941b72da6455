import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import {
  AbortError,
  ClosedError,
  ExecutionError,
  InvalidArgumentError,
  LockLostError,
  NodeError,
  RedlockError,
  ResourceLockedError,
} from "./errors.ts";

const errors = [
  new InvalidArgumentError("no"),
  new ExecutionError("No quorum", []),
  new ResourceLockedError("invoice:42", 1234.2),
  new LockLostError(["a", "b"], "its time ran out"),
  new AbortError("enough"),
  new ClosedError(),
  new NodeError("host:1", "TIMEOUT", "no answer within 50 ms"),
];

describe("every error", () => {
  test.each(errors.map((error) => [error.name, error] as const))(
    "%s is a RedlockError with its code in the message",
    (name, error) => {
      expect(error).toBeInstanceOf(RedlockError);
      expect(error).toBeInstanceOf(Error);
      expect(error.constructor.name).toBe(name);
      expect(error.message).toContain(`[${error.code}]`);
      expect(String(error)).toBe(`${name}: ${error.message}`);
    },
  );
});

describe("messages", () => {
  test.each([
    [
      new ResourceLockedError("invoice:42", 1234.2),
      '"invoice:42" is locked by someone else, for at most 1235 ms more [RESOURCE_LOCKED]',
    ],
    [
      new ResourceLockedError("r", Number.POSITIVE_INFINITY),
      '"r" is locked by someone else, without expiry [RESOURCE_LOCKED]',
    ],
    [
      new LockLostError(["a", 'b"'], "its time ran out"),
      'The lock on "a", "b\\"" is lost: its time ran out [LOCK_LOST]',
    ],
    [
      new NodeError("host:1", "TIMEOUT", "no answer within 50 ms"),
      "host:1: TIMEOUT: no answer within 50 ms [NODE]",
    ],
    [new ClosedError(), "This Redlock has quit [CLOSED]"],
  ])("name the resource and the remaining time", (error, message) => {
    expect(error.message).toBe(message);
  });

  test("contention and loss are ExecutionErrors too, as in redlock 5", () => {
    expect(new ResourceLockedError("r", 1)).toBeInstanceOf(ExecutionError);
    expect(new LockLostError(["r"], "w").attempts).toEqual([]);
  });

  test("the cause is kept", () => {
    const cause = new Error("ECONNRESET");
    expect(new NodeError("m", "UNREACHABLE", "lost", cause)).toMatchObject({ cause, error: cause });
    const plain = new NodeError("m", "TIMEOUT", "late");
    expect(plain.error).toBe(plain);
    expect("cause" in plain).toBe(false);
    expect(new AbortError("enough").cause).toBe("enough");
  });
});

test("printing an error prints no client, whose options contain the password", async () => {
  const client = { options: { password: "secret" } };
  const stats = { membershipSize: 1, quorumSize: 1, votesFor: new Set([client]), votesAgainst: new Map() };
  const attempts = [Promise.resolve(stats)];
  const error = new ResourceLockedError("r", 10, attempts);
  expect(inspect(error, { depth: null })).not.toContain("secret");
  expect(await Promise.all(error.attempts)).toEqual([stats]);
});
