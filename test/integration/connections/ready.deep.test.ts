import { type AddressInfo, connect } from "node:net";
import { createServer } from "node:tls";
import { Redlock } from "@quorlock/redlock";
import { type Master, startProxy } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { describe, expect, it } from "vitest";
import { makeCertificates } from "../../hostile/certificates.ts";
import { Fleet, fresh } from "../fleet/fleet.ts";

const fleet = Fleet.forTests(3);
const made = makeCertificates();
const tries = 50;
/** At a time. */
const processes = 10;

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

/** What a process does that has just started, and does no more than this. Resolves to whether it got the lock. */
async function coldProcess(
  doors: readonly Door[],
  options: { readonly tls?: { readonly ca: string } },
  nodeTimeout: number,
  isReady: boolean,
): Promise<boolean> {
  const clients = doors.map(({ host, port }) => new Redis(port, host, options));
  for (const client of clients) client.on("error", () => {});
  // Votes take one round trip; ten processes share this one.
  const redlock = new Redlock(clients, { nodeTimeout });
  try {
    if (isReady) await redlock.ready({ timeout: 30_000 });
    return (await redlock.tryAcquire(fresh("cold"), 1_000)) !== null;
  } catch {
    return false;
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
    let failedWithout = 0;
    for (let count = 0; count < tries; count += processes) {
      const some = Array.from({ length: processes }, () => coldProcess(doors, options, nodeTimeout, true));
      failed += (await Promise.all(some)).filter((succeeded) => !succeeded).length;
    }
    failedWithout += (await coldProcess(doors, options, nodeTimeout, false)) ? 0 : 1;
    for (const door of doors) await door[Symbol.asyncDispose]();
    console.log(
      `round trip ${roundTrip} ms${isTls ? ", TLS" : ""}: ${failed} of ${tries} fail after ready, ${failedWithout} of 1 without`,
    );
    expect(failed).toBe(0);
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
