import { ExecutionError, LockLostError } from "@quorlock/redlock";
import { expect } from "vitest";
import { until } from "../contract/until.ts";
import { rejection, timed } from "../integration/fleet/fleet.ts";
import { eachCable } from "./each-cable.ts";
import { aborted } from "./stage.ts";
import { nodeTimeout, slack, ttl } from "./terms.ts";

eachCable("extend", async ({ stage, cable, isBearable, pull, heal }) => {
  const lock = await stage.acquire();
  const told = aborted(lock.signal);
  const keptUntil = await stage.keptUntil();
  pull();
  // Longer than what it has, so that a lease that was extended shows.
  const extend = () => stage.redlock.extend(lock, 2 * ttl, { retryCount: 0 });
  if (isBearable) {
    const { net } = await timed(extend);
    expect(net).toBeLessThan(nodeTimeout + slack);
    expect(lock.remaining()).toBeGreaterThan(ttl);
    await heal();
    expect(await lock.verify()).toBe(true);
  } else {
    const { result: error, net } = await timed(() => rejection(extend()));
    expect(net).toBeLessThan(nodeTimeout + slack);
    expect(error).toBeInstanceOf(ExecutionError);
    expect(error).toMatchObject({ code: "NO_QUORUM" });
    // It may have been extended, for all the holder knows: it counts on what it was sure of.
    expect(lock.state).toBe("unknown");
    if (cable.isLate) {
      await until("the late answers have renewed it", () => lock.remaining() > ttl);
    } else {
      stage.wasTold(await told, keptUntil);
      expect(lock.signal.reason).toBeInstanceOf(LockLostError);
    }
    await heal();
  }
  await stage.recovers();
  await lock.release();
  await stage.nothingStays(2 * ttl);
});
