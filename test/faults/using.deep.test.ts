import { LockLostError } from "@quorlock/redlock";
import { Stalls } from "@quorlock/testbed";
import { expect } from "vitest";
import { until } from "../contract/until.ts";
import { eachFault } from "./each-fault.ts";
import { aborted } from "./fixture.ts";
import { nodeTimeout, slack, ttl } from "./terms.ts";

eachFault("using", async ({ fixture, isOutlived, inject, heal }) => {
  using stalls = new Stalls();
  let ended = Number.NaN;
  const outcome = await fixture.redlock.using(fixture.resource, ttl, async (signal, lock) => {
    await fixture.voted(lock);
    const told = aborted(signal);
    const keptUntil = await fixture.keptUntil();
    // The renewal meets it: the call in the middle of which it happens.
    inject();
    const granted = lock.expiration;
    if (isOutlived) {
      await until("a renewal has come through", () => lock.expiration > granted + ttl / 10);
      expect(signal.aborted).toBe(false);
    } else {
      fixture.wasTold(await told, keptUntil);
      expect(signal.reason).toBeInstanceOf(LockLostError);
      expect(lock.remaining()).toBe(0);
    }
    ended = performance.now();
    return "the routine's own";
  });
  expect(outcome).toBe("the routine's own");
  expect(performance.now() - ended - stalls.total).toBeLessThan(nodeTimeout + slack);
  await heal();
  await fixture.recovers();
  await fixture.nothingStays();
});
