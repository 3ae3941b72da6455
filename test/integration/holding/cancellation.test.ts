import { getEventListeners } from "node:events";
import { AbortError, type Redlock } from "@quorlock/redlock";
import { type Master, startProxy } from "@quorlock/testbed";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { turn } from "../../contract/until.ts";
import { Fleet, fresh, rejection, timed } from "../fleet/fleet.ts";

// Cancellation at any moment is tested in virtual time, in packages/redlock/src/waiting/acquire.test.ts: these
// are about what real masters still do then.

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

describe.each(calls)("%s", (_, call) => {
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
});
