import { describe, expect, test } from "vitest";
import { type CrashKind, Durability, type Persistence } from "./durability.ts";

const ms = 1000;
const entry = (value: string) => ({ value, expiresAt: undefined });

/** Writes key `k` at 100, 600, 1100 and 1600 ms, each with its time as value; periodic work at 0.25 s past. */
function written(persistence: Persistence): Durability {
  const durability = new Durability(persistence, 250 * ms);
  for (const at of [100, 600, 1100, 1600]) durability.record({ key: "k", entry: entry(String(at)) }, at * ms);
  return durability;
}

const cases: ReadonlyArray<readonly [Persistence, CrashKind, string | undefined]> = [
  [{ mode: "none" }, "process", undefined],
  [{ mode: "aof-always" }, "power", "1600"],
  // Killed, the kernel has it all; without power only what was fsynced at 1250 ms.
  [{ mode: "aof-everysec" }, "process", "1600"],
  [{ mode: "aof-everysec" }, "power", "1100"],
  [{ mode: "rdb", interval: 500 }, "process", "1100"],
  [{ mode: "rdb", interval: 60_000 }, "power", "100"],
];

describe("the data after a crash at 1700 ms", () => {
  test.each(cases)("%j, %s: %s", (persistence, how, left) => {
    expect(
      written(persistence)
        .afterCrash(how, 1700 * ms)
        .get("k")?.value,
    ).toBe(left);
  });

  test("entries that exist at a restart are on disk", () => {
    const durability = written({ mode: "rdb", interval: 60_000 });
    durability.restartWith(new Map([["k", entry("found")]]), 2000 * ms);
    durability.record({ key: "k", entry: entry("later") }, 2100 * ms);
    expect(durability.afterCrash("power", 2200 * ms).get("k")?.value).toBe("found");
  });
});

test("a lagging replica knows the state of that time, deletions included", () => {
  const durability = written({ mode: "none" });
  durability.record({ key: "k", entry: undefined }, 1700 * ms);
  expect(durability.stateAt(1699 * ms).get("k")?.value).toBe("1600");
  expect(durability.stateAt(700 * ms).get("k")?.value).toBe("600");
  expect(durability.stateAt(1700 * ms).has("k")).toBe(false);
});

const longestLag = 10_000 * ms;

test("a long log is compacted without a change of its content", () => {
  const durability = new Durability({ mode: "aof-always" }, 0, longestLag);
  let now = 0;
  for (let write = 0; write < 20_000; write += 1) {
    now = write * 10 * ms;
    durability.record({ key: `k${write % 7}`, entry: entry(String(write)) }, now);
  }
  expect(durability.stateAt(now).get("k0")?.value).toBe(String(19_999 - (19_999 % 7)));
  const back = (now - longestLag) / (10 * ms);
  expect(durability.stateAt(now - longestLag).get(`k${back % 7}`)?.value).toBe(String(back));
});
