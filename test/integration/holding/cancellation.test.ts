import { getEventListeners } from "node:events";
import { AbortError, type Lock, type Redlock } from "@quorlock/redlock";
import { type Master, startProxy } from "@quorlock/testbed";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { turn, until } from "../../contract/until.ts";
import { Fleet, fresh, rejection, timed } from "../fleet/fleet.ts";
import { WireTap } from "../fleet/wire-tap.ts";

let fleet: Fleet;
beforeAll(async () => {
  fleet = await Fleet.start(3);
});
afterEach(async () => {
  for (const master of hung.splice(0)) await master.resume();
  fleet.closeAll();
});
afterAll(() => fleet?.stop());

const ttl = 30_000;
const nodeTimeout = 300;
const hung: Fleet["masters"][number][] = [];

async function hang(): Promise<void> {
  for (const master of fleet.masters) {
    await master.hang();
    hung.push(master);
  }
}

async function resumeAll(): Promise<void> {
  for (const master of hung.splice(0)) await master.resume();
}

async function expectAborted(call: Promise<unknown>, reason: unknown, signal: AbortSignal): Promise<void> {
  const error = await rejection(call);
  expect(error).toBeInstanceOf(AbortError);
  expect(error).toMatchObject({ code: "ABORTED" });
  expect((error as Error).cause).toBe(reason);
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
}

type Call = (redlock: Redlock, resource: string, signal: AbortSignal) => Promise<unknown>;
const calls: [string, Call][] = [
  ["acquire", (redlock, resource, signal) => redlock.acquire(resource, ttl, { signal })],
  ["tryAcquire", (redlock, resource, signal) => redlock.tryAcquire(resource, ttl, { signal })],
  ["using", (redlock, resource, signal) => redlock.using(resource, ttl, { signal }, () => "not reached")],
];

describe.each(calls)("%s", (what, call) => {
  it("aborted before it starts sends nothing", async () => {
    const { redlock } = await fleet.openWarm();
    const tap = await WireTap.on(fleet.admins[0]!);
    const reason = new Error("not now");
    const signal = AbortSignal.abort(reason);
    await expectAborted(call(redlock, fresh(), signal), reason, signal);
    expect(await tap.commands()).toEqual([]);
    await tap[Symbol.asyncDispose]();
  });

  it("aborted in the turn it was called leaves nothing", async () => {
    const { redlock } = await fleet.openWarm();
    const controller = new AbortController();
    const resource = fresh();
    const calling = call(redlock, resource, controller.signal);
    controller.abort("changed my mind");
    await expectAborted(calling, "changed my mind", controller.signal);
    expect(await fleet.values(resource)).toEqual([null, null, null]);
  });

  it("aborted while its round waits for hung masters is over in time, and leaves nothing", async () => {
    const { redlock } = await fleet.openWarm({ nodeTimeout, retryCount: -1 });
    await hang();
    const controller = new AbortController();
    const resource = fresh();
    const calling = call(redlock, resource, controller.signal);
    await turn();
    controller.abort("enough");
    const { net } = await timed(() => expectAborted(calling, "enough", controller.signal));
    expect(net).toBeLessThan(nodeTimeout + 600);
    await resumeAll();
    // Behind whatever was sent, on the same connections.
    await redlock.inspect(resource);
    await fleet.untilGone(resource);
  });

  it("aborted in the queue of acquireConcurrency is over at once, and sends nothing", async () => {
    const { redlock } = await fleet.openWarm({ acquireConcurrency: 1, nodeTimeout: 2000, retryCount: 0 });
    await hang();
    const [first, queued] = [fresh(), fresh()];
    const inRound = redlock.acquire(first, ttl);
    const controller = new AbortController();
    const calling = call(redlock, queued, controller.signal);
    await turn();
    controller.abort("left the queue");
    const { net } = await timed(() => expectAborted(calling, "left the queue", controller.signal));
    expect(net).toBeLessThan(500);
    const tap = WireTap.on(fleet.admins[0]!);
    await resumeAll();
    await inRound;
    const commands = await (await tap).commands();
    expect(commands.filter(({ words }) => words.includes(queued))).toEqual([]);
    await (await tap)[Symbol.asyncDispose]();
  });

  if (what !== "tryAcquire") {
    it("aborted in the pause between two attempts is over at once, and leaves nothing", async () => {
      const { redlock } = fleet.open({ retryCount: -1, retryDelay: 60_000, retryJitter: 0 });
      const resource = fresh();
      await fleet.occupy(resource, fleet.masters.slice(0, 2));
      const controller = new AbortController();
      const calling = call(redlock, resource, controller.signal);
      const [free] = fleet.masters.slice(2);
      await until("its vote is taken back", async () => {
        const stats = await fleet.admin(free!).info("commandstats");
        return /cmdstat_evalsha|cmdstat_eval/.test(stats);
      });
      controller.abort("no longer");
      const { net } = await timed(() => expectAborted(calling, "no longer", controller.signal));
      expect(net).toBeLessThan(500);
      await fleet.untilGone(resource, [free!]);
      await fleet.free(resource);
    });
  }
});

describe("a signal", () => {
  it("that ends a round ends the call when the roll-back is answered", async () => {
    const [first, second, third] = fleet.masters as [Master, Master, Master];
    await using proxy = await startProxy(third);
    const { redlock } = await fleet.openWarm({ on: [first, second, proxy] });
    const resource = fresh();
    await fleet.occupy(resource, [first]);
    proxy.delay(200, "replies");
    const controller = new AbortController();
    const asked = proxy.nextReply();
    const calling = redlock.acquire(resource, ttl, { signal: controller.signal });
    await asked;
    controller.abort("enough");
    const { took } = await timed(() => expectAborted(calling, "enough", controller.signal));
    expect(took).toBeGreaterThan(190);
    expect(await fleet.values(resource)).toEqual(["another client", null, null]);
    await fleet.free(resource);
  });

  it("that times out is the cause", async () => {
    const { redlock } = fleet.open({ retryCount: -1, retryDelay: 10 });
    const resource = fresh();
    await fleet.occupy(resource);
    const error = await rejection(redlock.acquire(resource, ttl, { signal: AbortSignal.timeout(50) }));
    expect(error).toMatchObject({ name: "AbortError", cause: { name: "TimeoutError" } });
    await fleet.free(resource);
  });

  it("that aborts when the lock was granted changes nothing, and has no listeners left", async () => {
    const { redlock } = fleet.open();
    const controller = new AbortController();
    const lock = await redlock.acquire(fresh(), ttl, { signal: controller.signal });
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
    controller.abort();
    expect(lock.state).toBe("held");
    expect(await lock.verify()).toBe(true);
    await lock.release();
  });

  it("of many waiting calls ends all of them, and nothing is left", async () => {
    const { redlock } = fleet.open({ retryCount: -1, retryDelay: 5, retryJitter: 5 });
    const resources = Array.from({ length: 20 }, () => fresh());
    for (const resource of resources) await fleet.occupy(resource, fleet.masters.slice(0, 2));
    const controller = new AbortController();
    const waiting = resources.map((resource) =>
      rejection(redlock.acquire(resource, ttl, { signal: controller.signal })),
    );
    await turn();
    await fleet.admins[0]!.ping();
    controller.abort();
    for (const error of await Promise.all(waiting)) expect(error).toBeInstanceOf(AbortError);
    for (const resource of resources) await fleet.untilGone(resource, fleet.masters.slice(2));
  });

  it("aborted at any moment: either a lock, or nothing is left", async () => {
    const { redlock } = await fleet.openWarm({ retryCount: 0 });
    for (let step = 0; step < 60; step += 1) {
      const controller = new AbortController();
      const resources = step % 2 ? [fresh()] : [fresh(), fresh()];
      const call = redlock
        .acquire(resources, ttl, { signal: controller.signal })
        .catch((error: unknown) => error);
      // From the turn of the call on, a little later each time.
      for (let turns = 0; turns < step / 4; turns += 1) await (turns % 2 ? turn() : Promise.resolve());
      controller.abort();
      const outcome = await call;
      if (outcome instanceof AbortError) {
        // These masters answer, so the roll-back is over when the call is.
        for (const resource of resources) expect(await fleet.values(resource)).toEqual([null, null, null]);
      } else {
        await (outcome as Lock).release();
        for (const resource of resources) await fleet.untilGone(resource);
      }
    }
  });
});
