import { ExecutionError } from "@quorlock/redlock";
import { expect } from "vitest";
import { rejection, timed } from "../integration/fleet/fleet.ts";
import { eachCable } from "./each-cable.ts";
import { nodeTimeout, slack, ttl } from "./terms.ts";

eachCable("acquire", async ({ fixture, isBearable, pull, heal }) => {
  pull();
  const attempt = () => fixture.redlock.acquire(fixture.resource, ttl, { retryCount: 0 });
  if (isBearable) {
    const { result: lock, net } = await timed(attempt);
    expect(net).toBeLessThan(nodeTimeout + slack);
    expect(lock.remaining()).toBeGreaterThan(0);
    await heal();
    await lock.release();
  } else {
    const { result: error, net } = await timed(() => rejection(attempt()));
    expect(net).toBeLessThan(nodeTimeout + slack);
    expect(error).toBeInstanceOf(ExecutionError);
    expect(error).toMatchObject({ code: "NO_QUORUM" });
    await heal();
  }
  await fixture.recovers();
  await fixture.nothingStays();
});
