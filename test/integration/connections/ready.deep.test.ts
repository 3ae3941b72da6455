import { startProxy } from "@quorlock/testbed";
import { expect, it } from "vitest";
import { Fleet, fresh } from "../fleet/fleet.ts";

const fleet = Fleet.forTests(3);

/** Of a command, ms. */
const roundTrip = 600;

it("the first lock after ready needs no more than its own round trips, however far the masters are", async () => {
  const proxies = await Promise.all(fleet.masters.map(startProxy));
  for (const proxy of proxies) proxy.delay(roundTrip / 2);
  try {
    // A connection takes more round trips than fit in: its handshake, its greeting, and the question which server it is.
    const { redlock } = fleet.open({ on: proxies, nodeTimeout: 2.5 * roundTrip, retryCount: 0 });
    await redlock.ready({ timeout: 30_000 });
    const lock = await redlock.acquire(fresh("cold"), 10_000);
    await lock.release();
  } finally {
    await Promise.all(proxies.map((proxy) => proxy.stop()));
  }
});

it("a user who may not read the key that ready asks for is served", async () => {
  const user = { username: "app", password: "secret-of-app" };
  for (const admin of fleet.admins)
    await admin.acl("SETUSER", user.username, "on", `>${user.password}`, "~app:*", "&*", "+@all");
  // With the queue it could not release: `ready` says which keys it lacks.
  const { redlock } = fleet.open({ client: user, queue: false });
  await redlock.ready();
  const { outcome } = await (await redlock.acquire("app:1", 5_000)).release();
  expect(outcome).toBe("released");
});
