import { describe, expect, test } from "vitest";
import type { ClientContext } from "./rehearsal.ts";
import { simulate } from "./simulate.ts";

/** A resource that two clients might write to at a time. */
class Ledger {
  readonly entries: string[] = [];
  writes = 0;

  read(): { entries: string[]; version: number } {
    return { entries: [...this.entries], version: this.writes };
  }

  /** Replaces what is there. */
  write(entries: readonly string[]): void {
    this.entries.splice(0, this.entries.length, ...entries);
    this.writes += 1;
  }

  /** The same, but only over what was read. */
  writeOver(version: number, entries: readonly string[]): boolean {
    if (version !== this.writes) return false;
    this.write(entries);
    return true;
  }
}

/** Each write adds one entry. */
function lostNone({ entries, writes }: Ledger): string | undefined {
  return entries.length === writes ? undefined : `${writes} writes, but ${entries.length} entries`;
}

const rehearsal = { resource: () => new Ledger(), invariant: lostNone, seeds: 60 };

async function checkThenWrite({ redlock, resource, index, round }: ClientContext<Ledger>): Promise<void> {
  await using lock = await redlock.acquire("ledger", 1000);
  const { entries } = await resource.read();
  if (lock.remaining() > 0) await resource.write([...entries, `${index}.${round}`]);
}

describe("simulate", () => {
  test("finds the write of a holder that was stopped after its check", async () => {
    const result = await simulate({ ...rehearsal, client: checkThenWrite });
    expect(result.verdict).toBe("violated");
    expect(result.violation).toMatch(/^invariant at [0-9.]+ ms: \d+ writes, but \d+ entries$/);
    expect(result.story[0]).toMatch(/client-\d calls resource read$/);
    expect(result.story.at(-1)).toMatch(/resource has done write for client-\d$/);
  }, 60_000);

  test("the reported seed shows the same again", async () => {
    const found = await simulate({ ...rehearsal, client: checkThenWrite });
    const again = await simulate({ ...rehearsal, client: checkThenWrite, seed: found.seed! });
    expect(again.violation).toBe(found.violation);
    expect(again.runs).toBe(1);
  }, 60_000);

  test("finds nothing if the resource refuses a write over an unread value", async () => {
    const result = await simulate({
      ...rehearsal,
      async client({ redlock, resource, index, round }) {
        await redlock.using("ledger", 1000, async (signal) => {
          const { entries, version } = await resource.read();
          if (!signal.aborted) await resource.writeOver(version, [...entries, `${index}.${round}`]);
        });
      },
    });
    expect(result).toMatchObject({ verdict: "ok", runs: 60, violation: undefined });
    expect(result.completed).toBeGreaterThan(500);
  }, 60_000);

  test("no lock at all is found without a fault", async () => {
    const result = await simulate({
      ...rehearsal,
      faults: [],
      async client({ resource, index, pause }) {
        const { entries } = await resource.read();
        await pause(1);
        await resource.write([...entries, `${index}`]);
      },
    });
    expect(result.verdict).toBe("violated");
  }, 60_000);

  test("an error of the code's own is a violation, one about locking is not", async () => {
    const failing = await simulate({
      ...rehearsal,
      seeds: 1,
      client: () => Promise.reject(new TypeError("no such thing")),
    });
    expect(failing.violation).toContain("TypeError: no such thing");
    const busy = await simulate({
      ...rehearsal,
      seeds: 1,
      faults: [],
      settings: { waitTimeout: 0 },
      async client({ redlock, pause }) {
        await using _ = await redlock.acquire("ledger", 1000);
        await pause(500);
      },
    });
    expect(busy.verdict).toBe("ok");
    expect(busy.refused).toBeGreaterThan(0);
  }, 60_000);

  test("an invariant that is broken for a moment is noticed", async () => {
    const result = await simulate({
      seeds: 1,
      clients: 1,
      rounds: 1,
      faults: [],
      resource: () => ({
        value: 0,
        set(value: number): void {
          this.value = value;
        },
      }),
      invariant: ({ value }) => (value < 0 ? `${value} is below 0` : ""),
      async client({ resource }) {
        await resource.set(-1);
        await resource.set(0);
      },
    });
    expect(result.violation).toContain("-1 is below 0");
    expect(result.story.at(-1)).toContain("resource has done set for client-0");
  }, 60_000);

  test("code that never ends is a violation, not a test that hangs", async () => {
    const result = await simulate({ ...rehearsal, seeds: 1, client: () => new Promise(() => {}) });
    expect(result.violation).toContain("client-0 never came to its end");
  }, 60_000);

  test("errors that the resource throws reach the caller", async () => {
    const seen: unknown[] = [];
    await simulate({
      ...rehearsal,
      seeds: 1,
      rounds: 1,
      clients: 1,
      resource: () => ({
        entries: [],
        writes: 0,
        refuse(): void {
          throw new RangeError("not today");
        },
      }),
      invariant: () => {},
      async client({ resource }) {
        await resource.refuse().catch((error: unknown) => seen.push(error));
      },
    });
    expect(seen).toEqual([new RangeError("not today")]);
  }, 60_000);
});
