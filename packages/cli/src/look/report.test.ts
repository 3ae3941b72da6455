import { expect, test } from "vitest";
import type { LockView } from "./look.ts";
import { listReport } from "./report.ts";

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

test("a list of 200,000 locks is printed", () => {
  const locks = Array.from({ length: 200_000 }, () => lock);
  const lines = listReport({ locks, owners: [], silent: [], of: 3, scanned: [] }, 0, (_, text) => text);
  expect(lines).toHaveLength(200_002);
});

test("a name that is longer than its column is cut in a list", () => {
  const name = "n".repeat(10_000);
  const lines = listReport(
    { locks: [{ ...lock, resource: name }], owners: [], silent: [], of: 3 },
    0,
    (_, text) => text,
  );
  expect(lines[1]).toMatch(/^n{59}… {2}/);
});
