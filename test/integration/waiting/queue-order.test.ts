import { type Redlock, systemRuntime } from "@quorlock/redlock";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { until } from "../../contract/until.ts";
import { Fleet, fresh } from "../fleet/fleet.ts";

// PROTOCOL 7.11, 7.15.

// Waiting calls are served in the order in which `acquire` was called.

const fleet = Fleet.forTests(3);

const ttl = 20_000;
/** A busy machine has a quarter of the ttl: a vote that is late leaves the queue for a backoff. */
const patient = { retryCount: -1, nodeTimeout: ttl / 4 };

/** Takes the lock as soon as it can, and gives it back: notes when it was served. */
function taking(served: string[]) {
  return async (redlock: Redlock, resource: string | string[], name: string, options: object = {}) => {
    const lock = await redlock.acquire(resource, ttl, options);
    served.push(name);
    await lock.release();
  };
}

const skewed = (by: number) => ({ ...systemRuntime, wall: () => systemRuntime.wall() + by });

/** Calls that are closer than two readings of the masters' time may be wrong are served in either order (PROTOCOL 7.2). */
async function untilFurtherApart(): Promise<void> {
  const since = performance.now();
  await until("half a second has passed", () => performance.now() - since > 500);
}

describe.each([
  ["the masters' time", async () => {}],
  [
    "its own clock, where it may not read theirs",
    async () => {
      for (const admin of fleet.admins) await admin.acl("SETUSER", "default", "-time");
    },
  ],
])("a ticket by %s", (_, forbid) => {
  beforeEach(forbid);
  afterEach(async () => {
    for (const admin of fleet.admins) await admin.acl("SETUSER", "default", "+time");
  });

  it.each([-10_000, 0])(
    "a client whose clock is off by %i ms does not overtake: on its first wait, nor on a queue that it has not seen",
    async (skew) => {
      const [seen, unseen] = [fresh(), fresh()];
      const { redlock: right } = await fleet.openWarm(patient);
      const { redlock: slow } = await fleet.openWarm({ ...patient, runtime: skewed(skew) });
      for (const resource of [seen, unseen]) {
        const held = await fleet.hold(resource, ttl);
        const served: string[] = [];
        const take = taking(served);
        const waits = [take(right, resource, "first")];
        await fleet.untilWaiting(resource, 1);
        await untilFurtherApart();
        waits.push(take(slow, resource, "second"));
        await fleet.untilWaiting(resource, 2);
        await until("its ticket is the larger one", async () => {
          const scores = await fleet.admins[0]!.zrange(
            `quorlock:queue:{${resource}}`,
            "0",
            "-1",
            "WITHSCORES",
          );
          return scores.length === 4 && Number(scores[3]) - Number(scores[1]) < 5_000_000;
        });
        const { redlock: another } = await fleet.openWarm(patient);
        await untilFurtherApart();
        waits.push(take(another, resource, "third"));
        await fleet.untilWaiting(resource, 3);
        await held.release();
        await Promise.all(waits);
        expect(served).toEqual(["first", "second", "third"]);
      }
    },
  );
});

it("a client whose clock is 10 s fast keeps its place", async () => {
  const resource = fresh();
  const held = await fleet.hold(resource, ttl);
  const served: string[] = [];
  const take = taking(served);
  const { redlock: fast } = await fleet.openWarm({ ...patient, runtime: skewed(10_000) });
  const waits = [take(fast, resource, "fast")];
  await fleet.untilWaiting(resource, 1);
  const { redlock: right } = await fleet.openWarm(patient);
  waits.push(take(right, resource, "right"));
  await fleet.untilWaiting(resource, 2);
  await held.release();
  await Promise.all(waits);
  expect(served).toEqual(["fast", "right"]);
});

const inOrder = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => `many ${from + index}`);

it("a process serves none of its own calls that came after a waiter of another process before that one", async () => {
  const resource = fresh();
  const [{ redlock: many }, { redlock: one }] = [
    await fleet.openWarm(patient),
    await fleet.openWarm(patient),
  ];
  const held = await fleet.hold(resource, ttl);
  const served: string[] = [];
  const take = taking(served);
  const waits = Array.from({ length: 40 }, (_, index) => take(many, resource, `many ${index}`));
  await fleet.untilWaiting(resource, 1);
  waits.push(take(one, resource, "one"));
  await fleet.untilWaiting(resource, 2);
  for (let index = 40; index < 80; index += 1) waits.push(take(many, resource, `many ${index}`));
  await held.release();
  await Promise.all(waits);
  expect(served).toEqual([...inOrder(0, 40), "one", ...inOrder(40, 80)]);
});

it("a process that is served keeps its place for its next call: none of another process passes it", async () => {
  const resource = fresh();
  const [{ redlock: one }, { redlock: other }] = [
    await fleet.openWarm(patient),
    await fleet.openWarm(patient),
  ];
  const held = await fleet.hold(resource, ttl);
  const served: string[] = [];
  const take = taking(served);
  const waits: Promise<void>[] = [];
  const expected: string[] = [];
  // In turns, so far apart that their readings of the masters' time do not matter.
  for (let turn = 0; turn < 6; turn += 1) {
    for (const [name, redlock] of Object.entries({ one, other })) {
      const begun = systemRuntime.monotonic();
      expected.push(`${name} ${turn}`);
      waits.push(take(redlock, resource, `${name} ${turn}`));
      if (turn === 0) await fleet.untilWaiting(resource, waits.length);
      await until("100 ms have passed", async () => systemRuntime.monotonic() - begun > 100);
    }
  }
  await held.release();
  await Promise.all(waits);
  expect(served).toEqual(expected);
});

it("lists of one process that share a resource are served in the order of the calls", async () => {
  const [shared, other] = [fresh(), fresh()];
  const { redlock } = await fleet.openWarm(patient);
  const held = await fleet.hold(shared, ttl);
  const served: string[] = [];
  const take = taking(served);
  const waits = [take(redlock, shared, "0"), take(redlock, [shared, other], "1")];
  await fleet.untilWaiting(shared, 2);
  for (let index = 2; index < 30; index += 1)
    waits.push(take(redlock, index % 2 === 0 ? shared : [shared, other], `${index}`));
  await held.release();
  await Promise.all(waits);
  expect(served).toEqual(Array.from({ length: 30 }, (_, index) => `${index}`));
});

it("a waiter that loses its subscription keeps its place: it starts another round at once, and is granted by it", async () => {
  const resource = fresh();
  const [holder, first, second] = [
    await fleet.openWarm(),
    await fleet.openWarm(patient),
    await fleet.openWarm(patient),
  ];
  const held = await fleet.hold(resource, ttl, holder.redlock);
  const served: string[] = [];
  const wait = async ({ redlock }: typeof first, name: string, count: number): Promise<Promise<void>> => {
    const waiting = redlock.acquire(resource, ttl).then(async (lock) => {
      served.push(name);
      await lock.release();
    });
    await fleet.untilWaiting(resource, count);
    return waiting;
  };
  const entries = (admin: (typeof fleet.admins)[number]) =>
    admin
      .zrange(`quorlock:queue:{${resource}}`, "0", "0")
      .then(([id]) => admin.get(`quorlock:queue:{${resource}}:${id!.slice(0, 20)}`));
  const firstServed = wait(first, "first", 1);
  await fleet.untilWaiting(resource, 1);
  await fleet.untilListening(1);
  const before = await Promise.all(fleet.admins.map(entries));
  const secondServed = wait(second, "second", 2);
  await fleet.untilWaiting(resource, 2);
  await fleet.untilListening(2);
  // Each master has its own inbox for the same waiter.
  const inboxes = new Set(before.map((entry) => entry?.split(" ")[2]));
  for (const admin of fleet.admins) {
    const clients = String(await admin.client("LIST")).split("\n");
    // The one that has subscribed first: the first waiter's.
    const subscriber = clients.find((client) => / sub=1 /.test(client));
    await admin.client("KILL", "ID", /id=(\d+)/.exec(subscriber!)![1]!);
  }
  // A master takes a waiter without a subscriber for dead. So a round that began before the last of the losses was
  // noticed is not enough: its entry has an inbox without a subscriber there.
  await until("it has asked again, and is heard by every master", async () => {
    const now = await Promise.all(fleet.admins.map(entries));
    const subscribers = await Promise.all(
      fleet.admins.map((admin, index) => admin.pubsub("NUMSUB", String(now[index]?.split(" ")[2]))),
    );
    return now.every((entry, index) => entry !== before[index] && subscribers[index]![1] === 1);
  });
  expect(inboxes.size).toBe(fleet.admins.length);
  await held.release();
  await Promise.all([firstServed, secondServed]);
  expect(served).toEqual(["first", "second"]);
});

it("a lease that the next caller here has no use for goes to the caller after it, before those of other processes", async () => {
  const resource = fresh();
  // Each lease has its own fencing token, so none is handed on as it is.
  const { redlock: here } = await fleet.openWarm({ ...patient, fencing: true });
  const { redlock: other } = await fleet.openWarm({ ...patient, fencing: true });
  const held = await fleet.hold(resource, ttl);
  const served: string[] = [];
  const take = taking(served);
  const waits = [take(here, resource, "first")];
  await fleet.untilWaiting(resource, 1);
  // No lease has as much left when its votes are there: 1 % of the ttl and 2 ms are taken off for drift.
  const stop = new AbortController();
  const unmet = { minimumValidity: ttl * 0.99 - 2.1, retryDelay: 30_000, signal: stop.signal };
  const greedy = here.acquire(resource, ttl, unmet).catch(({ code }: { code: string }) => code);
  waits.push(take(here, resource, "second"));
  await untilFurtherApart();
  waits.push(take(other, resource, "third"));
  await fleet.untilWaiting(resource, 2);
  await held.release();
  await Promise.all(waits);
  expect(served).toEqual(["first", "second", "third"]);
  stop.abort();
  expect(await greedy).toBe("ABORTED");
});
