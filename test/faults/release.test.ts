import { expect } from "vitest";
import { timed } from "../integration/fleet/fleet.ts";
import { eachCable } from "./each-cable.ts";
import { nodeTimeout, slack } from "./terms.ts";

eachCable("release", async ({ fixture, isBearable, pull, heal }) => {
  const lock = await fixture.acquire();
  pull();
  const { result, net } = await timed(() => lock.release());
  expect(net).toBeLessThan(nodeTimeout + slack);
  expect(result.outcome).toBe(isBearable ? "released" : "partial");
  expect(lock.state).toBe("released");
  expect(lock.remaining()).toBe(0);
  await heal();
  await fixture.recovers();
  await fixture.nothingStays();
});
