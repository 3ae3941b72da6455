import { ExecutionError, Lock } from "@quorlock/redlock";
import { expect } from "vitest";
import { timed } from "../integration/fleet/fleet.ts";
import { eachFault } from "./each-fault.ts";
import { nodeTimeout, slack, ttl } from "./terms.ts";

eachFault("acquire", async ({ fixture, fault, isBearable, inject, heal }) => {
  inject();
  const attempt = () => fixture.redlock.acquire(fixture.resource, ttl, { retryCount: 0 });
  if (isBearable) {
    const { result: lock, net } = await timed(attempt);
    expect(net).toBeLessThan(nodeTimeout + slack);
    expect(lock.remaining()).toBeGreaterThan(0);
    await heal();
    await lock.release();
  } else {
    const { result, took, net } = await timed(() => attempt().catch((error: unknown) => error));
    expect(net).toBeLessThan(nodeTimeout + slack);
    if (fault.isLate && result instanceof Lock) {
      // After a stall of this process a round has its time once more, in which late replies count.
      expect(took - net).toBeGreaterThan(nodeTimeout / 10);
      await result.release();
    } else {
      expect(result).toBeInstanceOf(ExecutionError);
      expect(result).toMatchObject({ code: "NO_QUORUM" });
    }
    await heal();
  }
  await fixture.recovers();
  await fixture.nothingStays();
});
