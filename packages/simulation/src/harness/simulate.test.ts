import { describe, expect, test } from "vitest";
import { type SimulateOptions, simulate } from "./simulate.ts";
import type { ClientContext } from "./simulate-options.ts";

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

const ledger = { resource: () => new Ledger(), invariant: lostNone, seeds: 20 };

async function checkThenWrite({ redlock, resource, index, round }: ClientContext<Ledger>): Promise<void> {
  await using lock = await redlock.acquire("ledger", 1000);
  const { entries } = await resource.read();
  if (lock.remaining() > 0) await resource.write([...entries, `${index}.${round}`]);
}

describe("simulate", () => {
  test("the write of a holder that was stopped after its check needs a fencing token", async () => {
    const { verdict, fencing } = await simulate({ ...ledger, client: checkThenWrite });
    expect([verdict, fencing.verdict]).toEqual(["ok", "needs a fencing token"]);
    expect(fencing.violation).toMatch(/^invariant at [0-9.]+ ms: \d+ writes, but \d+ entries$/);
    expect(fencing.story.at(-3)).toMatch(/client \d runs write\(.*after its lock on "ledger" was over/);
    expect(fencing.story.at(-1)).toMatch(
      /client \d sends the token \d+ with write, and the resource has seen/,
    );
  });

  test.each([{ except: ["stall" as const] }, ["freeze" as const], []])(
    "by faults %j that is not asked",
    async (faults) => {
      const result = await simulate({ ...ledger, seeds: 3, faults, client: checkThenWrite });
      expect(result).toMatchObject({ verdict: "ok", fencing: { verdict: "not asked", seed: undefined } });
      await expect(result.picture()).rejects.toThrow("nothing was violated");
    },
  );

  test("sends the arguments of a call as they are when it is made", async () => {
    const seen: unknown[] = [];
    await simulate({
      resource: () => ({ write: (value: { text: string }) => void seen.push(value.text) }),
      invariant: () => undefined,
      faults: [],
      clients: 1,
      rounds: 1,
      seeds: 1,
      async client({ resource }) {
        const value = { text: "sent" };
        const sent = resource.write(value);
        value.text = "changed";
        await sent;
      },
    });
    expect(new Set(seen)).toEqual(new Set(["sent"]));
  });

  test("the reported seed shows the same again, beside another simulation", async () => {
    const { fencing } = await simulate({ ...ledger, client: checkThenWrite });
    const again = { ...ledger, client: checkThenWrite, seed: fencing.seed! };
    const [one, other] = await Promise.all([simulate(again), simulate({ ...again, clients: 4 })]);
    expect(one.fencing.story).toEqual(fencing.story);
    expect(other.fencing.story).not.toEqual(fencing.story);
    expect(one.runs).toBe(1);
  });

  test("finds nothing if the resource refuses a write over an unread value", {
    timeout: 60_000,
  }, async () => {
    const result = await simulate({
      ...ledger,
      async client({ redlock, resource, index, round }) {
        await redlock.using("ledger", 1000, async (signal) => {
          const { entries, version } = await resource.read();
          if (!signal.aborted) await resource.writeOver(version, [...entries, `${index}.${round}`]);
        });
      },
    });
    expect(result).toMatchObject({ verdict: "ok", runs: 20, violation: undefined });
    expect(result.completed).toBeGreaterThan(150);
  });

  test("an error of the code's own is a violation, one about locking is not", async () => {
    const failing = await simulate({
      ...ledger,
      seeds: 1,
      client: () => Promise.reject(new TypeError("no such thing")),
    });
    expect(failing.violation).toContain("TypeError: no such thing");
    const busy = await simulate({
      ...ledger,
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
  });

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
    expect(result.story.at(-3)).toContain("client 0 runs set(-1) at the resource");
  });

  test("code that never ends is a violation, not a test that hangs", async () => {
    const result = await simulate({ ...ledger, seeds: 1, client: () => new Promise(() => {}) });
    expect(result.violation).toContain("client 0 never came to its end");
  });

  test("errors that the resource throws reach the caller", async () => {
    const seen: unknown[] = [];
    await simulate({
      ...ledger,
      seeds: 1,
      rounds: 1,
      faults: [],
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
  });
});

describe("options that would check nothing are refused", () => {
  const sound: SimulateOptions<Ledger> = { ...ledger, seeds: 1, client: checkThenWrite };

  test("an invariant that returns a promise", async () => {
    const result = simulate({
      ...sound,
      client: async ({ resource }) => await resource.write([]),
      invariant: async (ledger) => lostNone(ledger),
    });
    await expect(result).rejects.toThrow("invariant must not return a promise");
    await expect(result).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  test("a method of the resource that returns a promise, without an unhandled rejection", async () => {
    const result = simulate({
      seeds: 1,
      resource: () => ({ write: () => Promise.reject(new Error("late")) }),
      client: ({ resource }) => resource.write(),
    });
    await expect(result).rejects.toThrow("a method of the resource must not return a promise");
    await expect(result).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  test.each<[string, () => unknown, string]>([
    ["is a generator function", function* () {}, "a generator, which nothing runs"],
    ["returns a number", () => 0, "has returned 0"],
    ["returns a list", () => ["lost"], "has returned a list"],
  ])("an invariant that %s", async (_, invariant, message) => {
    const result = simulate({ ...sound, invariant });
    await expect(result).rejects.toThrow(message);
    await expect(result).rejects.toThrow("invariant must return undefined or true if nothing is wrong");
    await expect(result).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  test.each<[string, () => unknown, string]>([
    [
      "is a generator function",
      function* () {},
      "client must return a promise, but has returned a generator",
    ],
    ["returns nothing", () => {}, "client must return a promise, but has returned undefined"],
    ["resolves to a generator", async () => (function* () {})(), "client must not return a generator"],
  ])("a client that %s", async (_, client, message) => {
    const result = simulate({ ...sound, client: client as () => Promise<unknown> });
    await expect(result).rejects.toThrow(message);
    await expect(result).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  test.each([undefined, true, ""])("an invariant that returns %j is none of them", async (nothing) => {
    expect((await simulate({ ...sound, invariant: () => nothing, client: async () => {} })).verdict).toBe(
      "ok",
    );
  });

  test.each<[Record<string, unknown>, string]>([
    [{ invariants: lostNone }, 'unknown option "invariants" of simulate: did you mean "invariant"?'],
    [{ seeds: Number.NaN }, "seeds must be a whole number from 1 to 9007199254740991, but is NaN"],
    [{ seed: -1 }, "seed must be a whole number from 0"],
    [{ clients: Number.POSITIVE_INFINITY }, "clients must be a whole number from 1 to 1000, but is Infinity"],
    [{ invariant: "none" }, 'invariant must be a function, but is "none"'],
    [{ resource: {} }, "resource must be a function, but is an object"],
    [{ settings: { waitTimeOut: 5 } }, "waitTimeout"],
    [{ faults: { except: ["stal"] } }, 'faults.except: unknown kind "stal": did you mean "stall"?'],
    [{ faults: { but: ["stall"] } }, 'unknown option "faults.but" of simulate'],
    [{ faults: {} }, "faults.except must be a list, but is undefined"],
    [{ limits: { starvation: 0 } }, "limits.starvation must be a whole number from 1"],
    [{ limits: { deadlok: 5 } }, 'unknown option "limits.deadlok" of simulate: did you mean "deadlock"?'],
    [{ faults: ["freze"] }, 'faults: unknown kind "freze": did you mean "freeze"?'],
    [
      { faults: [{ at: 5, kind: "freeze", clients: [9], masters: [], duration: 10 }] },
      "there is no client 9",
    ],
    [{ faults: ["freeze", { at: 5, kind: "kill", clients: [0] }] }, "but not both"],
  ])("%j", async (wrong, message) => {
    const result = simulate({ ...sound, ...wrong });
    await expect(result).rejects.toThrow(message);
    await expect(result).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  test.each([
    ["false", () => false],
    ["an error", () => new Error("a booking is lost")],
  ])("an invariant that returns %s is violated", async (_, invariant) => {
    expect((await simulate({ ...sound, invariant })).verdict).toBe("violated");
  });
});
