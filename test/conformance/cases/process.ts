import type { Proxy as FaultProxy } from "@quorlock/testbed";
import { type Case, type Verdict, verdict } from "../case.ts";
import type { Fixture } from "../fixture.ts";
import { inWords, outcomeOf } from "../outcome.ts";
import { endingInWords, endingOf, messageOf, startHolder } from "../processes/child.ts";

/** Until a process has started, loaded TypeScript and taken a lock, ms. No case is about that. */
const startLimit = 40_000;

/** Extended every 3 s at most, so a timer that is left over keeps a process for far longer than is demanded. */
const holdTtl = 6000;
const options = { extensionThreshold: 3000 };

/** `fate`: what becomes of the extension that is in flight when the routine ends. */
async function endInFlight(
  fixture: Fixture,
  exitLimit: number,
  fate: (path: readonly FaultProxy[]) => void,
): Promise<Verdict> {
  const path = await fixture.path();
  const child = startHolder(fixture, { urls: fixture.urls(path), options, ttl: holdTtl });
  if (!(await messageOf(child, "held", startLimit))) return verdict("never held", { held: false });
  for (const proxy of path) proxy.hold("replies");
  const isExtension = (bytes: Buffer) => bytes.includes(fixture.resource);
  const inFlight = await outcomeOf(() => path[0]!.nextRequest(isExtension), holdTtl);
  child.send({ kind: "end" });
  const ending = await messageOf(child, "ending", 1000);
  const begun = performance.now();
  fate(path);
  const end = await endingOf(child);
  const after = end ? performance.now() - begun : Number.POSITIVE_INFINITY;
  const words = `${endingInWords(end)}, ${Math.round(after)} ms after the routine`;
  return verdict(words, {
    "an extension was in flight": inFlight.kind === "resolved",
    "ended while held": ending?.notified === false,
    "exit code 0": end?.code === 0,
    [`within ${exitLimit} ms`]: after < exitLimit,
  });
}

const endings: readonly Case[] = [
  {
    row: 15,
    situation: "an extension in flight when `using` ends, answered a little later: clean exit",
    bound:
      "the process exits by itself with code 0 within 1000 ms of the end of its routine: a release and a quit take " +
      "milliseconds, the end of a process less than 100; a timer left over would keep it for 2 s or more",
    mostlyWaits: true,
    run: (fixture) =>
      endInFlight(fixture, 1000, (path) => {
        for (const proxy of path) proxy.release();
      }),
  },
  {
    row: 15,
    situation: "an extension in flight when `using` ends, never answered: clean exit",
    bound:
      "the process exits by itself with code 0 within 4500 ms of the end of its routine: one node time-out for the " +
      "release (300 ms of this ttl), 500 ms for the quit, the 2000 ms that ioredis gives a silent server to close the " +
      "caller's client, and 1700 ms for a busy machine",
    mostlyWaits: true,
    run: (fixture) => endInFlight(fixture, 4500, () => {}),
  },
];

async function refreshFails(
  fixture: Fixture,
  fail: (path: readonly FaultProxy[]) => Promise<void>,
): Promise<Verdict> {
  const path = await fixture.path();
  const child = startHolder(fixture, { urls: fixture.urls(path), options: {}, ttl: 1000 });
  if (!(await messageOf(child, "held", startLimit))) return verdict("never held", { held: false });
  await fail(path);
  const ending = await messageOf(child, "ending", 6000);
  // A holder that was not notified is asked to end, so that the case fails for that reason alone.
  if (!ending) child.send({ kind: "end" });
  const end = await endingOf(child);
  return verdict(`${ending?.notified ? "notified" : "not notified within 6 s"}, ${endingInWords(end)}`, {
    notified: ending?.notified === true,
    "exit code 0": end?.code === 0,
    "no unhandled rejection": !/unhandled|uncaught/i.test(`${end?.output}${end?.errors}`),
  });
}

const refreshes: readonly Case[] = [
  {
    row: 20,
    situation: "refreshes answered with an error: no unhandled rejection",
    bound:
      "the holder is notified and its process exits with code 0; an unhandled rejection would end it with code 1",
    mostlyWaits: true,
    run: (fixture) => refreshFails(fixture, () => fixture.spoil([0, 1, 2])),
  },
  {
    row: 20,
    situation: "refreshes on refused connections: no unhandled rejection",
    bound:
      "the holder is notified and its process exits with code 0; an unhandled rejection would end it with code 1",
    mostlyWaits: true,
    run: (fixture) =>
      refreshFails(fixture, async (path) => {
        await Promise.all(path.map((proxy) => proxy.refuse()));
        for (const proxy of path) proxy.reset();
      }),
  },
];

const deadWaiter: Case = {
  row: 30,
  situation:
    "the first waiter was killed, and a monitor subscribes to every channel: the next waiter gets the lock",
  bound:
    "granted within 3000 ms of the release, for a ttl of 15,000 ms: a grant reaches only the waiter it is for, " +
    "so the others wait at most for the heartbeat of a dead waiter, not for a ttl",
  mostlyWaits: true,
  async run(fixture) {
    await fixture.listenIn();
    const holder = await fixture.open();
    const waiter = await fixture.open(undefined, { retryCount: 200, retryDelay: 100 });
    const held = await holder.acquire(fixture.resource, 60_000);
    const dead = startHolder(fixture, { urls: fixture.urls(), options: { retryCount: 200 }, ttl: 15_000 });
    await messageOf(dead, "asking", startLimit);
    await fixture.untilQueued();
    await dead.kill();
    const granted = outcomeOf(() => waiter.acquire(fixture.resource, 15_000), 20_000);
    await fixture.untilQueued();
    await holder.release(held);
    const released = performance.now();
    const outcome = await granted;
    const after = performance.now() - released;
    if (outcome.kind === "resolved") await waiter.release(outcome.value);
    return verdict(`${inWords(outcome)}, ${Math.round(after)} ms after the release`, {
      granted: outcome.kind === "resolved",
      "within 3000 ms": after < 3000,
    });
  },
};

/** The cases that need a separate process. */
export const processes: readonly Case[] = [...endings, ...refreshes, deadWaiter];
