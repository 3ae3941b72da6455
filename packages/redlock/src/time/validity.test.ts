import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { quorumOf } from "../protocol/quorum.ts";
import { leaseDeadline, never, nodeDeadline, validityLoss } from "./lease-clock.ts";

// PROTOCOL 1.1, 3.2.

const drift = fc.double({ min: 0, max: 0.5, noNaN: true });
const sentAt = fc.double({ min: 0, max: 1e12, noNaN: true });
/** Arbitrary deadlines: some masters have none. */
const deadlines = fc.array(
  fc.oneof({ weight: 3, arbitrary: fc.integer({ min: 0, max: 50 }) }, fc.constant(never)),
  {
    minLength: 1,
    maxLength: 9,
  },
);

describe("a master's deadline", () => {
  test("is what PROTOCOL 3.1 says", () => {
    expect(nodeDeadline(1000, 10_001, 0.01)).toBe(1000 + 10_000 * 0.99 - 1);
    expect(validityLoss(1001, 0.01)).toBeCloseTo(1001 - (1000 * 0.99 - 1), 9);
  });

  test("is reached before the key expires, for any clock rate within the drift factor", () => {
    const rate = fc.double({ min: -1, max: 1, noNaN: true });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e7 }), drift, rate, sentAt, (ttl, drift, rate, sentAt) => {
        // The master's clock gains or loses up to `drift` against ours, and a key expires at most 1 ms early.
        const goneAt = sentAt + (ttl - 1) / (1 + drift * rate);
        expect(nodeDeadline(sentAt, ttl, drift)).toBeLessThan(goneAt);
      }),
      { numRuns: 500 },
    );
  });
});

describe("a lease's deadline", () => {
  test("is the last moment at which a quorum is certain", () => {
    fc.assert(
      fc.property(deadlines, (deadlines) => {
        const quorum = quorumOf(deadlines.length);
        const deadline = leaseDeadline(deadlines, quorum);
        if (deadline === never) {
          expect(deadlines.filter((one) => one > never).length).toBeLessThan(quorum);
        } else {
          expect(deadlines.filter((one) => one >= deadline).length).toBeGreaterThanOrEqual(quorum);
          expect(deadlines.filter((one) => one > deadline).length).toBeLessThan(quorum);
        }
      }),
    );
  });

  test("finds a quorum of masters still holding the key, for all clock rates and delays", () => {
    const master = fc.record({
      said: fc.boolean(),
      sentAt: fc.integer({ min: 0, max: 1000 }),
      /** The time the command takes to arrive, ms. */
      delay: fc.integer({ min: 0, max: 500 }),
      rate: fc.double({ min: -1, max: 1, noNaN: true }),
      /**
       * The master counts whole milliseconds: the part of one that had passed when the key was set counts as elapsed.
       */
      grain: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    const masters = fc.array(master, { minLength: 1, maxLength: 9 });
    fc.assert(
      fc.property(masters, fc.integer({ min: 4, max: 100_000 }), drift, (masters, ttl, drift) => {
        const quorum = quorumOf(masters.length);
        const deadline = leaseDeadline(
          masters.map(({ said, sentAt }) => (said ? nodeDeadline(sentAt, ttl, drift) : never)),
          quorum,
        );
        if (deadline === never) return;
        const holding = masters.filter(({ said, sentAt, delay, rate, grain }) => {
          return said && sentAt + delay + (ttl - grain) / (1 + drift * rate) > deadline;
        });
        expect(holding.length).toBeGreaterThanOrEqual(quorum);
      }),
      { numRuns: 500 },
    );
  });
});
