import { expect } from "vitest";
import { timed } from "../integration/fleet/fleet.ts";
import { eachFault } from "./each-fault.ts";
import { nodeTimeout, slack } from "./terms.ts";

eachFault("release", async ({ fixture, isBearable, inject, heal }) => {
  const lock = await fixture.acquire();
  inject();
  const { result, net } = await timed(() => lock.release());
  expect(net).toBeLessThan(nodeTimeout + slack);
  expect(result.outcome).toBe(isBearable ? "released" : "partial");
  expect(lock.state).toBe("released");
  expect(lock.remaining()).toBe(0);
  await heal();
  await fixture.recovers();
  await fixture.nothingStays();
});
