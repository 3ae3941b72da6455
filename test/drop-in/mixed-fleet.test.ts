import { afterEach, describe, expect, it } from "vitest";
import { Fleet, fresh } from "../integration/fleet/fleet.ts";
import { type Any, Bench, libraries } from "./bench.ts";

// PROTOCOL 13.1.

type Name = keyof typeof libraries;
const names: readonly Name[] = ["redlock 5", "quorlock"];

const fleet = Fleet.forTests(3);
const benches: Bench[] = [];
afterEach(() => {
  for (const bench of benches.splice(0)) bench.close();
});

/** `nodeTimeout`: to ours, a busy machine is not to look like a silent master; redlock 5 knows no such setting. */
function make(name: Name, settings: object = {}): Any {
  const bench = new Bench(libraries[name], fleet);
  benches.push(bench);
  return bench.redlock({ nodeTimeout: 5000, ...settings });
}

describe("a mixed fleet", () => {
  it.each([1, 2])(
    "never holds the same at the same time, with %i resources each",
    async (count) => {
      const resources = Array.from({ length: 3 }, () => fresh());
      const inside = new Map<string, number>();
      const overlaps: string[] = [];
      const passed: Record<string, number> = {};
      const worker = async (name: Name, index: number): Promise<void> => {
        const redlock = make(name, { retryCount: 3, retryDelay: 8, retryJitter: 7 });
        for (let round = 0; round < 8; round += 1) {
          // Any of them, or any two neighbours.
          const first = (index + round) % 3;
          const chosen = Array.from({ length: count }, (_, next) => resources[(first + next) % 3]!);
          const lock = await acquireAtLast(redlock, chosen);
          for (const resource of chosen) {
            if (inside.has(resource)) overlaps.push(`${name} in ${resource}`);
            inside.set(resource, index);
          }
          await fleet.admins[round % 3]!.ping();
          for (const resource of chosen) inside.delete(resource);
          await lock.release();
          passed[name] = (passed[name] ?? 0) + 1;
        }
      };
      await Promise.all(
        names.flatMap((name, kind) => [0, 1, 2].map((index) => worker(name, kind * 3 + index))),
      );
      expect(overlaps).toEqual([]);
      expect(passed).toEqual({ "redlock 5": 24, quorlock: 24 });
    },
    60_000,
  );
});

/**
 * redlock 5 takes back what it has won of a split vote only when it gives up: without end of retries, three of
 * them with a master each would block each other for a ttl, again and again. So it has to give up often.
 */
async function acquireAtLast(redlock: Any, resources: string[]): Promise<Any> {
  for (;;) {
    try {
      return await redlock.acquire(resources, 10_000);
    } catch (error) {
      if (!names.some((name) => error instanceof libraries[name].ExecutionError)) throw error;
    }
  }
}
