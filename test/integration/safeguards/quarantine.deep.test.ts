import type { MastersOptions } from "@quorlock/testbed";
import { describe, expect, it } from "vitest";
import { until } from "../../contract/until.ts";
import { fresh, type Opened, untilConnected } from "../fleet/fleet.ts";
import { GuardedFleet, ttl } from "../fleet/guarded-fleet.ts";

// PROTOCOL 8.8.

const losses: readonly [
  name: string,
  persistence: NonNullable<MastersOptions["persistence"]>,
  forgets: boolean,
][] = [
  ["nothing kept", "none", true],
  ["a snapshot from before the lock", "rdb", true],
  ["a log written every second", "aof-everysec", false],
  ["a log written always", "aof-always", false],
];

/** Takes and gives up the lock until the first master votes as well; the tokens that it came to. */
async function untilFirstVotes({ redlock, clients }: Opened): Promise<number[]> {
  const tokens: number[] = [];
  await until("the first master votes", async () => {
    await using lock = await redlock.acquire("fenced", ttl);
    tokens.push(lock.fencingToken!);
    const { votesFor } = await lock.attempts[0]!;
    return votesFor.has(clients[0]!);
  });
  return tokens;
}

// Each has its own masters, and mostly waits for the end of a quarantine: so they are run beside each other, those
// that take longest first.

describe.concurrent("with masters that keep running", () => {
  it("a master that forgot its counters is given the floor of the others before it votes", async () => {
    await using guarded = await GuardedFleet.start();
    const { fleet } = guarded;
    const opened = await guarded.openNew({ fencing: true });
    const [first] = await untilFirstVotes(opened);
    // Far ahead of every clock: what is forgotten would be missed.
    for (const admin of fleet.admins) await admin.set("quorlock:floor", String(first! + 1e12));
    await fleet.admins[0]!.flushall();
    const tokens = await untilFirstVotes(opened);
    expect(tokens).toEqual([...new Set(tokens)].toSorted((a, b) => a - b));
    const mark = await fleet.admins[0]!.get("quorlock:guard");
    expect(mark).toMatch(/ 0$/);
    expect(Number(await fleet.admins[0]!.get("quorlock:floor"))).toBeGreaterThanOrEqual(first! + 1e12);
    expect(opened.errors.map(({ reason }) => reason)).not.toContain("UNCERTAIN_FLOOR");
  });
});

describe.concurrent("a master is killed", () => {
  it.each(losses)(
    "a restart with %s: no second client gets the lock, and the others serve",
    async (_, persistence, forgets) => {
      await using guarded = await GuardedFleet.start(persistence);
      const { fleet } = guarded;
      const holder = await guarded.openNew();
      const rival = await guarded.openGuarded();
      const third = fleet.masters[2]!;
      if (persistence === "rdb") await fleet.admin(third).save();
      const resource = fresh("guarded");
      const lock = await guarded.holdByThree(holder, resource);
      await guarded.crash(third);
      expect(await fleet.admin(third).get(resource)).toBe(forgets ? null : lock.value);
      await untilConnected(holder);
      await untilConnected(rival);
      expect(await rival.redlock.tryAcquire(resource, ttl)).toBeNull();
      expect(await guarded.quarantineOf(third)).toBeGreaterThan(0);
      await lock.extend(ttl);
      // The hold is repaired there.
      await until(
        "the third master has the key",
        async () => (await fleet.admin(third).get(resource)) === lock.value,
      );
      while ((await guarded.quarantineOf(third)) !== -2) {
        expect(await rival.redlock.tryAcquire(resource, ttl)).toBeNull();
        await using other = await rival.redlock.acquire(fresh("served"), ttl);
        const { size } = (await other.attempts[0]!).votesFor;
        // (It may have ended in between.)
        if ((await guarded.quarantineOf(third)) > 0) expect(size).toBe(4);
        await lock.extend(ttl);
      }
      // From now on it votes as the others do.
      await using later = await rival.redlock.acquire(fresh("later"), ttl);
      expect((await later.attempts[0]!).votesFor.size).toBe(5);
      expect(await rival.redlock.tryAcquire(resource, ttl)).toBeNull();
      expect(lock.state).toBe("held");
      expect((await lock.release()).outcome).toBe("released");
    },
  );

  it.each(losses.filter(([, , forgets]) => forgets))(
    "a restart with %s, without the guard: two hold",
    async (_, persistence) => {
      await using guarded = await GuardedFleet.start(persistence);
      const { fleet } = guarded;
      const holder = await fleet.openWarm();
      const rival = await fleet.openWarm();
      const third = fleet.masters[2]!;
      if (persistence === "rdb") await fleet.admin(third).save();
      const resource = fresh("unguarded");
      const lock = await guarded.holdByThree(holder, resource);
      await guarded.crash(third);
      await untilConnected(rival);
      const second = await rival.redlock.tryAcquire(resource, ttl);
      expect(second?.state).toBe("held");
      expect(lock.state).toBe("held");
    },
  );
});
