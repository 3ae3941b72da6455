import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type Redlock, type Runtime, systemRuntime, type Timer } from "@quorlock/redlock";
import { afterAll, beforeAll, expect, it } from "vitest";
import { until } from "../contract/until.ts";
import { Fleet, fresh, timed } from "../integration/fleet/fleet.ts";

let fleet: Fleet;
beforeAll(async () => {
  fleet = await Fleet.start(3);
});
afterAll(() => fleet?.stop());

const ttl = 60_000;
const nodeTimeout = 2000;
const many = 4000;
/** The time a round may take on a busy machine while 1000 are in flight, ms. */
const slack = 8000;

setFlagsFromString("--expose_gc");
const collectGarbage = runInNewContext("gc") as () => void;

function heapInMegabytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed / 2 ** 20;
}

/** Timers that are set: with none, and no answer missing, nothing can happen any more. */
const timers = new Set<object>();

const runtime: Runtime = {
  ...systemRuntime,
  setTimer(callback: () => void, delay: number): Timer {
    const counted = {};
    timers.add(counted);
    const timer = systemRuntime.setTimer(() => {
      timers.delete(counted);
      callback();
    }, delay);
    return {
      cancel: () => {
        timers.delete(counted);
        timer.cancel();
      },
      unref: () => timer.unref(),
    };
  },
};

/** Lock commands that all masters have executed. */
async function executed(): Promise<number> {
  let sum = 0;
  for (const admin of fleet.admins) {
    const stats = await admin.info("commandstats");
    for (const [, calls] of stats.matchAll(/cmdstat_(?:set|eval|evalsha):calls=(\d+)/g)) sum += Number(calls);
  }
  return sum;
}

/** Concurrent calls, all waiting for a resource that another client holds. */
function waitingFor(
  redlock: Redlock,
  resource: string,
  signal: AbortSignal,
): Promise<PromiseSettledResult<unknown>[]> {
  return Promise.allSettled(
    Array.from({ length: many }, () =>
      redlock.acquire(resource, ttl, { signal, retryCount: -1, retryDelay: 300, retryJitter: 200 }),
    ),
  );
}

const ways = [
  // All have asked once, and some again.
  { queue: false, groupCommit: false, have: (commands: number) => commands > 6 * many },
  // All but the first have a place behind it, in this process.
  { queue: true, groupCommit: true, have: (commands: number) => commands > 100 },
];

it.each(ways)(
  "4,000 waiting acquires aborted at once, %o: all settle, and nothing is kept or sent any more",
  async (way) => {
    const { have, ...options } = way;
    const { redlock } = await fleet.openWarm({ nodeTimeout, runtime, ...options });
    const resource = fresh();
    await fleet.occupy(resource);
    const timersBefore = timers.size;
    const heapBefore = heapInMegabytes();
    const executedBefore = await executed();

    const controller = new AbortController();
    const waiting = waitingFor(redlock, resource, controller.signal);
    await until("they wait", async () => have((await executed()) - executedBefore), 120_000);
    const heapWaiting = heapInMegabytes();
    const { result, net } = await timed(() => {
      controller.abort(new Error("enough"));
      return waiting;
    });

    expect(result.filter(({ status }) => status === "rejected")).toHaveLength(many);
    for (const settled of result) {
      expect((settled as PromiseRejectedResult).reason).toMatchObject({ code: "ABORTED" });
    }
    expect(net).toBeLessThan(2 * nodeTimeout + slack);
    expect(heapWaiting - heapBefore).toBeLessThan(80);

    await until("no timer is set", () => timers.size <= timersBefore);
    // Behind everything that was sent: the connections answer in order.
    const [first] = await redlock.inspect(resource);
    expect(first!.queueLength).toBe(0);
    const after = await executed();
    await fleet.admins[0]!.ping();
    expect(await executed()).toBe(after);
    expect(await fleet.values(resource)).toEqual(["another client", "another client", "another client"]);

    await fleet.free(resource);
    expect((await (await redlock.acquire(resource, ttl, { retryCount: 0 })).release()).outcome).toBe(
      "released",
    );
    result.length = 0;
    expect(heapInMegabytes() - heapBefore).toBeLessThan(8);
  },
  240_000,
);
