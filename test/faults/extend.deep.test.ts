import { ExecutionError, LockLostError } from "@quorlock/redlock";
import { expect } from "vitest";
import { until } from "../contract/until.ts";
import { timed } from "../integration/fleet/fleet.ts";
import { eachFault } from "./each-fault.ts";
import { aborted } from "./fixture.ts";
import { nodeTimeout, slack, ttl } from "./terms.ts";

const failure = (error: unknown): unknown => error;

eachFault("extend", async ({ fixture, fault, isBearable, inject, heal }) => {
  const lock = await fixture.acquire();
  const told = aborted(lock.signal);
  const keptUntil = await fixture.keptUntil();
  inject();
  // Longer than what it has, so that a lease that was extended shows.
  const extend = () => fixture.redlock.extend(lock, 2 * ttl, { retryCount: 0 });
  if (isBearable) {
    const { net } = await timed(extend);
    expect(net).toBeLessThan(nodeTimeout + slack);
    expect(lock.remaining()).toBeGreaterThan(ttl);
    await heal();
    expect(await lock.verify()).toBe(true);
  } else {
    const { result: error, took, net } = await timed(() => extend().then(() => undefined, failure));
    expect(net).toBeLessThan(2 * nodeTimeout + slack);
    // A process that stood still gives its masters their time once more: late answers may be in time then.
    if (error === undefined && fault.isLate && took - net > nodeTimeout / 10) {
      expect(lock.remaining()).toBeGreaterThan(ttl);
      await heal();
      await fixture.recovers();
      await lock.release();
      return fixture.nothingStays(2 * ttl);
    }
    expect(net).toBeLessThan(nodeTimeout + slack);
    expect(error).toBeInstanceOf(ExecutionError);
    expect(error).toMatchObject({ code: "NO_QUORUM" });
    // It may have been extended, for all the holder knows: it counts on what it was sure of.
    expect(lock.state).toBe("unknown");
    if (fault.isLate) {
      await until("the late answers have renewed it", () => lock.remaining() > ttl);
    } else {
      fixture.wasTold(await told, keptUntil);
      expect(lock.signal.reason).toBeInstanceOf(LockLostError);
    }
    await heal();
  }
  await fixture.recovers();
  await lock.release();
  await fixture.nothingStays(2 * ttl);
});
