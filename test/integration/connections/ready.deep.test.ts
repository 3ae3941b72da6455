import { type AddressInfo, connect } from "node:net";
import { createServer } from "node:tls";
import { Redlock } from "@quorlock/redlock";
import { type Master, Stalls, startProxy } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { describe, expect, it } from "vitest";
import { makeCertificates } from "../../hostile/certificates.ts";
import { Fleet, fresh } from "../fleet/fleet.ts";

const fleet = Fleet.forTests(3);
const made = makeCertificates();
const tries = 25;
/** At a time. */
const processes = 5;

interface Door extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
}

/** A way to the master on which each command takes a round trip of so many ms, a TLS handshake its two or three. */
async function openDoor(master: Master, roundTrip: number, isTls: boolean): Promise<Door> {
  if ("notReadyReason" in made) throw new Error(made.notReadyReason);
  const tls = createServer(made.good, (client) => {
    const redis = connect(master.port, master.host);
    client.on("error", () => redis.destroy());
    redis.on("error", () => client.destroy());
    client.pipe(redis).pipe(client);
  });
  tls.on("tlsClientError", () => {});
  await new Promise<void>((resolve) => {
    tls.listen(0, "127.0.0.1", resolve);
  });
  const { port } = isTls ? (tls.address() as AddressInfo) : master;
  const proxy = await startProxy({ host: "127.0.0.1", port });
  proxy.delay(roundTrip / 2);
  return {
    host: proxy.host,
    port: proxy.port,
    async [Symbol.asyncDispose]() {
      await proxy.stop();
      tls.close();
    },
  };
}

/**
 * Does what a process does that has just started, and no more. Resolves to whether it got the lock; `undefined` if
 * this process, which masters and clients share here, did not run for so long that it tells nothing.
 */
async function coldProcess(
  doors: readonly Door[],
  options: { readonly tls?: { readonly ca: string } },
  nodeTimeout: number,
  isReady: boolean,
): Promise<boolean | undefined> {
  const clients = doors.map(({ host, port }) => new Redis(port, host, options));
  for (const client of clients) client.on("error", () => {});
  // Votes take one round trip; ten processes share this one.
  const redlock = new Redlock(clients, { nodeTimeout });
  try {
    if (isReady) await redlock.ready({ timeout: 30_000 });
    using stalls = new Stalls();
    const isGranted = await redlock.tryAcquire(fresh("cold"), 10_000).then(
      (lock) => lock !== null,
      () => false,
    );
    return isGranted || stalls.total < nodeTimeout / 2 ? isGranted : undefined;
  } finally {
    await redlock.quit();
  }
}

describe.each([20, 80, 200])("with a round trip of %i ms", (roundTrip) => {
  it.each([
    ["TCP", false],
    ["TLS", true],
  ] as const)("over %s the first tryAcquire after ready succeeds", { timeout: 240_000 }, async (_, isTls) => {
    const doors = await Promise.all(fleet.masters.map((master) => openDoor(master, roundTrip, isTls)));
    const options = isTls && !("notReadyReason" in made) ? { tls: { ca: made.authority } } : {};
    const nodeTimeout = roundTrip + 250;
    let failed = 0;
    let stalled = 0;
    for (let count = 0; count < tries; count += processes) {
      const some = Array.from({ length: processes }, () => coldProcess(doors, options, nodeTimeout, true));
      const outcomes = await Promise.all(some);
      failed += outcomes.filter((succeeded) => succeeded === false).length;
      stalled += outcomes.filter((succeeded) => succeeded === undefined).length;
    }
    const failedWithout = (await coldProcess(doors, options, nodeTimeout, false)) ? 0 : 1;
    for (const door of doors) await door[Symbol.asyncDispose]();
    console.log(
      `round trip ${roundTrip} ms${isTls ? ", TLS" : ""}: ${failed} of ${tries} fail after ready (${stalled} more in a process that did not run), ${failedWithout} of 1 without`,
    );
    expect(failed).toBe(0);
    expect(stalled).toBeLessThan(tries / 2);
  });
});

it("a user who may not read the key that ready asks for is served", async () => {
  const user = { username: "app", password: "secret-of-app" };
  for (const admin of fleet.admins)
    await admin.acl("SETUSER", user.username, "on", `>${user.password}`, "~app:*", "&*", "+@all");
  const { redlock } = fleet.open({ client: user });
  await redlock.ready();
  await (await redlock.acquire("app:1", 5_000)).release();
});
