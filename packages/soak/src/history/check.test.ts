import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { check } from "./check.ts";
import type { History, Hold, Write } from "./history.ts";
import { isLate } from "./notice.ts";

/** A hold of "k", from its grant to its release. */
function hold(id: string, grantedAt: number, releasedAt: number, more: Partial<Hold> = {}): Hold {
  const validUntil = releasedAt + 100;
  const base = { id, lock: id, worker: id, key: "k", grantedAt, validUntil, stoodStill: 0, reserve: 17 };
  return { ...base, releasedAt, ...more };
}

function write(of: string, base: number, readAt: number, at: number, more: Partial<Write> = {}): Write {
  return { hold: of, key: "k", readAt, base, value: base + 1, at, accepted: true, ...more };
}

/** A write by "a" and one by `holder`, with these tokens. */
function pair(first: number | undefined, second: number | undefined, holder = "b"): Write[] {
  return [
    write("a", 0, 0, 10, first === undefined ? {} : { token: first }),
    write(holder, 1, 10, 20, second === undefined ? {} : { token: second }),
  ];
}

/** A lock that was lost: its signal aborted at `notifiedAt`, its validity ended at 100. */
function lost(notifiedAt: number, more: Partial<Hold> = {}): Hold {
  return hold("a", 0, 0, { validUntil: 100, notifiedAt, reserve: 17, ...more });
}

function shares(a: Hold, b: Hold): boolean {
  return a.grantedAt < b.releasedAt! && b.grantedAt < a.releasedAt!;
}

function checked(history: Partial<History>): ReturnType<typeof check> {
  return check({ holds: [], writes: [], ...history });
}

describe("overlap of holders", () => {
  test.each(["releasedAt", "notifiedAt", "validUntil"] as const)("an interval ends with %s", (end) => {
    const ends = { releasedAt: 1000, notifiedAt: 1000, validUntil: 1000 };
    const earlier = hold("a", 0, 0, { ...ends, [end]: 10 });
    expect(checked({ holds: [earlier, hold("b", 10, 20)] }).overlapsOfHolders).toEqual([]);
    expect(checked({ holds: [earlier, hold("b", 9.999, 20)] }).overlapsOfHolders).toHaveLength(1);
  });

  test.each([
    ["of another key", { key: "another" }],
    ["that was never valid", { validUntil: 4 }],
  ])("a lock %s overlaps with no other", (_, more) => {
    const holds = [hold("a", 0, 10), hold("b", 5, 15, more)];
    expect(checked({ holds }).overlapsOfHolders).toEqual([]);
  });
});

describe("a key that is shared", () => {
  const third = { share: 20 };

  test("has room for its shares, and for no more", () => {
    const three = [hold("a", 0, 10, third), hold("b", 1, 10, third), hold("c", 2, 10, third)];
    expect(checked({ holds: three }).overlapsOfHolders).toEqual([]);
    const { overlapsOfHolders } = checked({ holds: [...three, hold("d", 9, 12, third)] });
    expect(overlapsOfHolders).toEqual([{ earlier: "a", later: "d", at: 9, lasted: 1 }]);
    expect(checked({ holds: [...three, hold("d", 10, 12, third)] }).overlapsOfHolders).toEqual([]);
  });

  test("has no room for a whole lock beside another", () => {
    expect(checked({ holds: [hold("a", 0, 10, third), hold("b", 9, 20)] }).overlapsOfHolders).toHaveLength(1);
    expect(checked({ holds: [hold("b", 0, 10), hold("a", 9, 20, third)] }).overlapsOfHolders).toHaveLength(1);
  });

  test("a grant that fits beside a lost lock does not make its notification late", () => {
    const { notices } = checked({ holds: [lost(90, third), hold("b", 50, 95, third), hold("c", 95, 99)] });
    expect(notices.map(({ untilNext }) => untilNext)).toEqual([5]);
  });
});

describe("overlap of effect", () => {
  test("exists if one reads before the other has written", () => {
    const writes = [write("a", 0, 0, 10), write("b", 0, 9, 20)];
    expect(checked({ writes }).overlapsOfEffect).toEqual([{ earlier: "a", later: "b", at: 9, lasted: 1 }]);
  });

  test("does not exist if one reads at the moment at which the other writes, or is refused", () => {
    expect(checked({ writes: [write("a", 0, 0, 10), write("b", 1, 10, 20)] }).overlapsOfEffect).toEqual([]);
    const refused = write("a", 0, 0, 10, { accepted: false });
    expect(checked({ writes: [refused, write("b", 0, 5, 20)] }).overlapsOfEffect).toEqual([]);
  });

  test("a lock with two writes counts once", () => {
    expect(checked({ writes: [write("a", 0, 0, 10), write("a", 1, 5, 20)] }).overlapsOfEffect).toEqual([]);
  });
});

describe("lost updates", () => {
  test("does not exist if each write follows from the one before; refused writes change nothing", () => {
    const refused = write("c", 0, 12, 13, { accepted: false });
    const writes = [write("a", 0, 0, 10), refused, write("b", 1, 11, 20)];
    expect(checked({ writes }).lostUpdates).toEqual([]);
  });

  test("exists if the first write does not follow from 0", () => {
    expect(checked({ writes: [write("a", 1, 0, 10)] }).lostUpdates).toHaveLength(1);
  });
});

describe("fencing order", () => {
  test("is broken by a smaller token after a larger one, and by one token for two locks", () => {
    expect(checked({ writes: pair(5, 4) }).outOfOrder).toMatchObject([{ token: 4, largest: 5 }]);
    expect(checked({ writes: pair(5, 5) }).outOfOrder).toHaveLength(1);
  });

  test("is kept by a larger token, by the same lock again, and without tokens", () => {
    expect(checked({ writes: pair(5, 6) }).outOfOrder).toEqual([]);
    expect(checked({ writes: pair(5, 5, "a") }).outOfOrder).toEqual([]);
    expect(checked({ writes: pair(undefined, undefined) }).outOfOrder).toEqual([]);
    expect(checked({ writes: pair(5, undefined) }).outOfOrder).toEqual([]);
  });

  test("a rejected write does not lower the token that the next one is compared with", () => {
    const writes = [...pair(5, 3), write("c", 2, 20, 30, { token: 4 })];
    expect(checked({ writes }).outOfOrder.map(({ token }) => token)).toEqual([3, 4]);
  });

  test("without tokens, the order of the grants shows which writes are stale", () => {
    const holds = [hold("a", 0, 30), hold("b", 5, 15)];
    const stale = write("a", 0, 1, 20);
    expect(checked({ holds, writes: [write("b", 0, 6, 10), stale] }).stale).toMatchObject([{ write: stale }]);
    const inOrder = [write("a", 0, 1, 4), write("b", 1, 6, 10)];
    expect(checked({ holds, writes: inOrder }).stale).toEqual([]);
  });
});

describe("notice", () => {
  test("in time up to the moment at which the masters may grant the lock to another client, and not after it", () => {
    expect(checked({ holds: [lost(90)] }).notices[0]!.margin).toBe(27);
    expect(checked({ holds: [lost(117)] }).notices[0]!.margin).toBe(0);
    expect(checked({ holds: [lost(118)] }).notices[0]!.margin).toBe(-1);
  });

  test.each([
    [90, 0, false],
    [89, -1, true],
  ])("too late as well, where another had the lock by then: at %d", (grantedAt, untilNext, late) => {
    const { notices } = checked({ holds: [hold("b", grantedAt, grantedAt + 1), lost(90)] });
    expect(notices.map((notice) => notice.untilNext)).toEqual([untilNext]);
    expect(notices.map(isLate)).toEqual([late]);
  });

  test("a holder that was not notified, or whose process was stopped, is not counted", () => {
    expect(checked({ holds: [hold("a", 0, 10)] }).notices).toEqual([]);
    expect(checked({ holds: [lost(500, { stoodStill: 400 })] }).notices).toEqual([]);
  });
});

describe("any history", () => {
  /** Holds one after the other, each with a write, the time between them as drawn. */
  const inTurn = fc
    .array(fc.record({ pause: fc.nat(5), read: fc.nat(5), work: fc.nat(5), rest: fc.nat(5) }), {
      maxLength: 20,
    })
    .map((turns) => {
      const holds: Hold[] = [];
      const writes: Write[] = [];
      let time = 0;
      for (const [index, { pause, read, work, rest }] of turns.entries()) {
        const grantedAt = time + pause;
        const at = grantedAt + read + work;
        time = at + rest;
        holds.push(hold(`h${index}`, grantedAt, time));
        writes.push(write(`h${index}`, index, grantedAt + read, at, { token: index + 1 }));
      }
      return { holds, writes };
    });

  test("of consecutive locks is clean, in whatever order it is reported", () => {
    fc.assert(
      fc.property(inTurn, fc.infiniteStream(fc.nat()), ({ holds, writes }, order) => {
        const shuffled = holds.map((one) => [order.next().value as number, one] as const);
        shuffled.sort(([a], [b]) => a - b);
        const findings = check({ holds: shuffled.map(([, one]) => one), writes });
        expect(findings).toMatchObject({
          overlapsOfHolders: [],
          overlapsOfEffect: [],
          lostUpdates: [],
          outOfOrder: [],
        });
      }),
    );
  });

  test("has an overlap of holders exactly if two intervals share more than a moment", () => {
    const span = fc.record({ from: fc.nat(20), length: fc.integer({ min: 1, max: 5 }) });
    fc.assert(
      fc.property(fc.array(span, { maxLength: 8 }), (spans) => {
        const holds = spans.map(({ from, length }, index) => hold(`h${index}`, from, from + length));
        const expected = holds.some((a, index) => holds.slice(index + 1).some((b) => shares(a, b)));
        expect(check({ holds, writes: [] }).overlapsOfHolders.length > 0).toBe(expected);
      }),
    );
  });

  test("loses exactly the updates that the store's number lacks", () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 20 }), (stale) => {
        let value = 0;
        const writes = stale.map((isStale, index) => {
          const base = isStale && value > 0 ? value - 1 : value;
          value = base + 1;
          return write(`h${index}`, base, index, index + 1);
        });
        expect(check({ holds: [], writes }).lostUpdates.length).toBe(writes.length - value);
      }),
    );
  });
});
