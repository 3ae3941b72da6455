import { ExecutionError, InvalidArgumentError } from "@quorlock/redlock";
import { once, runCoordinator } from "@quorlock/redlock/once";
import { Child } from "@quorlock/simulation/processes";
import { beforeEach, describe, expect, it } from "vitest";
import { until } from "../../contract/until.ts";
import { Fleet, fresh, type Opened, type OpenOptions, rejection, timed } from "../fleet/fleet.ts";
import { GuardedFleet, ttl as maxTtl } from "../fleet/guarded-fleet.ts";

// PROTOCOL 10.9.

// The rules of a job are tested in virtual time, in packages/redlock/src/primitives/once.test.ts: these are about real
// connections, clocks and processes.

const fleet = Fleet.forTests(3);
const keepFor = 60_000;

function openMany(count: number, options: OpenOptions = {}): readonly Opened[] {
  return Array.from({ length: count }, () => fleet.open(options));
}

/** The shortest time that a quorum keeps the key, ms. */
async function keptBy(of: Fleet, name: string): Promise<number> {
  const lifetimes = await of.lifetimes(name);
  return lifetimes.sort((one, other) => other - one)[Math.floor(lifetimes.length / 2)]!;
}

describe("a job of several processes", () => {
  it("runs once, whichever comes first, on connections that are new", async () => {
    const name = fresh("job");
    const at = new Date("2026-11-23T07:52:42Z");
    const opened = openMany(8);
    let runs = 0;
    const results = await Promise.all(
      opened.map(({ redlock }) =>
        once(redlock, name, { at, keepFor }, async () => {
          runs += 1;
          return runs;
        }),
      ),
    );
    expect(runs).toBe(1);
    expect(results.filter(({ ran }) => ran)).toEqual([{ ran: true, value: 1 }]);
    const left = await keptBy(fleet, `${name}:2026-11-23T07:52:42.000Z`);
    expect(left).toBeGreaterThan(keepFor / 2);
    expect(left).toBeLessThanOrEqual(keepFor);
  });

  it.each<[string, () => OpenOptions]>([
    ["one master", () => ({ on: fleet.masters.slice(0, 1) })],
    ["two masters", () => ({ on: fleet.masters.slice(0, 2) })],
    ["masters without scripts", () => ({ scripts: false })],
    ["clients without a queue", () => ({ queue: false })],
    ["clients with fencing", () => ({ fencing: true })],
    ["reentrant clients", () => ({ reentrant: true })],
  ])("runs once in each of five ticks: %s", async (_, optionsOf) => {
    const name = fresh("job");
    const opened = openMany(5, optionsOf());
    const runs: number[] = [];
    for (let at = 0; at < 5; at += 1) {
      const calls = opened.map(({ redlock }) => once(redlock, name, { at, keepFor }, () => runs.push(at)));
      const results = await Promise.all(calls);
      expect(results.filter(({ ran }) => ran)).toHaveLength(1);
    }
    expect(runs).toEqual([0, 1, 2, 3, 4]);
  });

  it("tells the others who has it, and for how long", async () => {
    const name = fresh("job");
    const { redlock } = await fleet.openWarm({ owner: "api-7" });
    const { redlock: other } = await fleet.openWarm({ owner: "api-8" });
    const told = await once(redlock, name, { keepFor }, async () => {
      // The record of an owner is written beside its first lock.
      await until("the owner has a name", async () =>
        (await other.inspect(name)).every(({ holder }) => holder?.name === "api-7"),
      );
      return once(other, name, { keepFor }, () => {});
    });
    const after = await once(other, name, { keepFor }, () => {});
    for (const result of [(told as { value: typeof after }).value, after]) {
      expect(result).toMatchObject({ ran: false, owner: { name: "api-7", pid: process.pid } });
    }
    // The lease of the running job, then the time that it is kept for.
    expect((told as { value: { remaining: number } }).value.remaining).toBeLessThanOrEqual(10_000);
    expect((after as { remaining: number }).remaining).toBeGreaterThan(keepFor / 2);
  });

  it("is free within its ttl when its process dies", async () => {
    const name = fresh("job");
    const ttl = 3000;
    const urls = fleet.masters.map(({ host, port }) => `redis://${host}:${port}`);
    await using child = Child.node(new URL("job-process.ts", import.meta.url), [name, String(ttl), ...urls]);
    await child.printed(/^runs$/m);
    const { redlock } = await fleet.openWarm();
    expect(await once(redlock, name, { keepFor }, () => {})).toMatchObject({ ran: false });
    await child.kill();
    const { net } = await timed(() =>
      until(
        "another one runs it",
        async () => (await once(redlock, name, { keepFor }, () => {})).ran,
        2 * ttl,
      ),
    );
    expect(net).toBeLessThan(ttl + 500);
  });

  it("is given back at the end of keepFor though its ttl is too short for the nodeTimeout of the constructor", async () => {
    const name = fresh("job");
    const { redlock } = await fleet.openWarm({ nodeTimeout: 20_000 });
    const call = { nodeTimeout: 500 };
    const longer = 15_000;
    const { net } = await timed(async () => {
      await once(redlock, name, { ...call, keepFor: 2000, ttl: 2000 }, (_, lock) =>
        redlock.extend(lock, longer, call),
      );
      await fleet.untilGone(name);
    });
    expect(net).toBeLessThan(longer / 2);
  });
});

describe("with the restart guard a job", () => {
  const guarded = GuardedFleet.forTests();
  beforeEach(() => guarded.fleet.empty());

  it("is kept for its maxTtl at most: more is refused before anything is sent", async () => {
    const { redlock } = await guarded.openNew();
    const name = fresh("job");
    let runs = 0;
    const error = await rejection(
      once(redlock, name, { keepFor: maxTtl + 1 }, () => {
        runs += 1;
      }),
    );
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect(String(error)).toContain("keepFor must not be above the maxTtl of restartGuard");
    expect(() => runCoordinator(redlock, { keepFor: maxTtl + 1 })).toThrow(InvalidArgumentError);
    expect([runs, await guarded.fleet.values(name)]).toEqual([0, [null, null, null, null, null]]);
    expect(await once(redlock, name, { keepFor: maxTtl, ttl: 2000 }, () => {})).toMatchObject({ ran: true });
    expect(await keptBy(guarded.fleet, name)).toBeGreaterThan(maxTtl / 2);
  });

  it("is not run again after a majority of masters has lost its keys", async () => {
    const name = fresh("job");
    const { redlock } = await guarded.openNew();
    const { redlock: other } = await guarded.openGuarded();
    const { took } = await timed(async () => {
      await once(redlock, name, { keepFor: maxTtl, ttl: 2000 }, () => {});
      for (const master of guarded.fleet.masters.slice(0, 3)) await guarded.crash(master);
      await until(
        "it is run again",
        async () => {
          const result = await once(other, name, { keepFor: maxTtl, retryCount: 0 }, () => {}).catch(
            (error: unknown) => {
              if (error instanceof ExecutionError) return { ran: false };
              throw error;
            },
          );
          return result.ran;
        },
        3 * maxTtl,
      );
    });
    expect(took).toBeGreaterThan(maxTtl * 0.99);
  }, 60_000);
});
