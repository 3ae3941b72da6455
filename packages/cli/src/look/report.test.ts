import { expect, test } from "vitest";
import { textOf } from "../release/release.ts";
import type { LockView } from "./look.ts";
import { distinctOwners } from "./owners.ts";
import { listReport, lockReport, readWriteReport, semaphoreReport } from "./report.ts";

const lock: LockView = {
  resource: "r",
  state: "held",
  owner: { tag: "01234567", name: undefined, host: undefined, pid: undefined },
  revokedBy: undefined,
  since: undefined,
  remaining: 1000,
  masters: 3,
  of: 3,
  answered: 3,
  others: [],
  waiters: [],
  waiting: 0,
};

test("of two records of one owner the later one counts, also with fewer locks", () => {
  const record = {
    ...lock.owner!,
    name: "o",
    host: "h",
    pid: 1,
    version: "1",
    ttl: 1,
    hasQuit: false,
    masters: [],
  };
  const held = { resources: ["r"], since: 1, fencingToken: undefined };
  const early = { ...record, isGone: false, writes: 5, locks: [held, held] };
  const late = { ...record, isGone: false, writes: 7, locks: [{ ...held, since: 2 }] };
  for (const records of [
    [early, late],
    [late, early],
  ])
    expect(distinctOwners(records)).toEqual([late]);
});

test("a list of 200,000 locks is printed", () => {
  const locks = Array.from({ length: 200_000 }, () => lock);
  const lines = listReport({ locks, owners: [], silent: [], of: 3, scanned: [] }, 0, plain);
  expect(lines).toHaveLength(200_002);
});

test("a name that is longer than its column is cut in a list", () => {
  const name = "n".repeat(10_000);
  const lines = listReport({ locks: [{ ...lock, resource: name }], owners: [], silent: [], of: 3 }, 0, plain);
  expect(lines[1]).toMatch(/^n{59}… {2}/);
});

test("the name of an owner is cut as well, between characters", () => {
  const owner = { tag: "01234567", name: "\u{1f600}".repeat(100), host: "h", pid: 1 };
  const [, line] = listReport({ locks: [{ ...lock, owner }], owners: [], silent: [], of: 3 }, 0, plain);
  expect(line).toMatch(/^r +\u{1f600}{59}… {2}/u);
});

test("a tag is escaped: anybody can write a value that begins with a command for a terminal", () => {
  const owner = { ...lock.owner!, tag: "\u001b[2J\u202e" };
  const lines = lockReport({ ...lock, owner, waiters: [owner], waiting: 1 }, 0, plain);
  expect(lines.join()).toMatch(/held by \\u001b\[2J\\u202e… \(no token\),.*1\. \\u001b\[2J\\u202e…/);
});

function plain(_: unknown, text: string): string {
  return text;
}

test("a semaphore's permits that nobody can take are none that are free, and its waiters are counted", () => {
  const blocked = [{ ...lock, resource: "{s}:slot:0", state: "no-quorum", remaining: null } as const];
  const waiters = [{ ...lock.owner!, name: undefined }];
  const answers = { of: 3, silent: [] };
  const semaphore = {
    semaphore: "s",
    limit: 1,
    held: [],
    blocked,
    unknown: 0,
    waiters,
    waiting: 3,
    ...answers,
  };
  const text = semaphoreReport(semaphore, 0, plain).join("\n");
  expect(text).toMatch(/^s: 0 of 1 permit held, nobody can take 1\n\{s\}:slot:0: no quorum/);
  expect(text).toMatch(/ {2}expires {4}never\n(.*\n)+waiting 1\. .*\nand 2 more$/);
});

test("of one there is one: 1 master, 1 owner, 1 key, 1 permit, 1 reader", () => {
  const one: LockView = { ...lock, masters: 1, of: 1, answered: 0, state: "unknown" };
  const owner = { ...lock.owner!, name: "a", host: "b", pid: 1 };
  const record = { ...owner, version: "1.0.0", locks: [], masters: [], writes: 1, ttl: 1, hasQuit: false };
  const answers = { of: 1, silent: [{ master: "a", error: "TIMEOUT" }] };
  const semaphore = {
    ...{ semaphore: "s", limit: 1, held: [], blocked: [], unknown: 0, waiters: [], waiting: 0 },
    ...answers,
  };
  const scanned = [{ master: "a", looked: 1, of: 1, unread: 0, locks: [], refusal: undefined }];
  const release = { resource: "r", owner: "01234567", changed: ["a"], silent: [], remaining: 1000 };
  const lines = [
    ...lockReport(one, 0, plain),
    ...listReport({ locks: [one], owners: [{ ...record, isGone: false }], scanned, ...answers }, 0, plain),
    ...semaphoreReport({ ...semaphore, unknown: 1 }, 0, plain),
    ...readWriteReport(
      { readWriteLock: "w", writer: one, readers: [owner], areAllKnown: false, ...answers },
      0,
      plain,
    ),
    ...textOf({ ...release, outcome: "deleted" }, 1),
  ];
  expect(lines.filter((line) => /\b1 [a-z]+s\b/.test(line))).toEqual([]);
});
