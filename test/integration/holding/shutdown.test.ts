import { ClosedError, InvalidArgumentError, Redlock } from "@quorlock/redlock";
import { startProxy } from "@quorlock/testbed";
import { expect, it } from "vitest";
import { until } from "../../contract/until.ts";
import { Fleet, fresh, rejection } from "../fleet/fleet.ts";
import { hasEnded, sendBy } from "../fleet/library.ts";

// Which connections `quit` ends. All else of PROTOCOL 5.11 is a behaviour.

const fleet = Fleet.forTests(3);
const ttl = 20_000;
const forEver = { retryCount: -1 };

/** The ids of each master's connections. */
function idsOfConnections(): Promise<string[][]> {
  return Promise.all(
    fleet.admins.map(async (admin) => String(await admin.client("LIST")).match(/^id=\d+/gm) ?? []),
  );
}

/** Each master's connections: one of the fleet, and those of the clients under test. */
async function connections(): Promise<number[]> {
  return (await idsOfConnections()).map((ids) => ids.length);
}

/** Nothing of Quorlock is connected: each master has the connection of the fleet, and that of a client that was kept. */
const untilClientsAlone = (): Promise<void> => fleet.untilAll("connections", connections, 2);

it("clients that are kept answer after quit, and nothing else of this process is connected", async () => {
  const { redlock, clients } = await fleet.openWarm(forEver);
  const resource = fresh("kept");
  const lock = await redlock.acquire(resource, ttl);
  // For the connection of subscriptions.
  const waiting = rejection(redlock.acquire(resource, ttl));
  await fleet.untilWaiting(resource);
  await redlock.quit({ keepClients: true });
  expect(await waiting).toBeInstanceOf(ClosedError);
  expect(lock.state).toBe("lost");
  expect(await fleet.values(resource)).toEqual([null, null, null]);
  for (const client of clients) expect(await sendBy(client, "PING")).toBe("PONG");
  await untilClientsAlone();
  // Later calls open no connection.
  await redlock.inspect(resource);
  expect(await connections()).toEqual([2, 2, 2]);
});

it("a connection ends with the last Redlock over its client, and is made again for a new one", async () => {
  const { redlock, clients } = await fleet.openWarm(forEver);
  const other = new Redlock(clients, { nodeTimeout: 5000 });
  const lock = await other.acquire(fresh("kept"), ttl);
  const before = await idsOfConnections();
  await redlock.quit({ keepClients: true });
  await lock.extend(ttl);
  expect((await Promise.all(lock.attempts))[0]!.votesFor.size).toBe(3);
  // None is new.
  for (const [index, ids] of (await idsOfConnections()).entries())
    expect(before[index]).toEqual(expect.arrayContaining(ids));
  await other.quit({ keepClients: true });
  const third = new Redlock(clients, { nodeTimeout: 5000 });
  await third.ready();
  await (await third.acquire(fresh("kept"), ttl)).release();
  await third.quit();
  await until("the end of the clients", () => clients.every(hasEnded));
});

it("a constructor that throws leaves no connection, and counts for no later Redlock over its clients", async () => {
  const { redlock, clients } = await fleet.openWarm(forEver);
  await redlock.quit({ keepClients: true });
  await untilClientsAlone();
  const refused = [{ restartGuard: { maxTtl: -1 } }, { clockWatch: { maxOffset: -1 } }];
  for (const options of refused) expect(() => new Redlock(clients, options)).toThrow(InvalidArgumentError);
  await untilClientsAlone();
  const later = new Redlock(clients, { nodeTimeout: 5000 });
  await (await later.acquire(fresh("kept"), ttl)).release();
  await later.quit({ keepClients: true });
  await untilClientsAlone();
});

it("a grant that arrives while quit closes the connections is no event", async () => {
  await using slow = await startProxy(fleet.masters[0]!);
  const on = [slow, ...fleet.masters.slice(1)];
  const { redlock, errors } = await fleet.openWarm({ ...forEver, on });
  const resource = fresh("kept");
  const lock = await redlock.acquire(resource, ttl);
  const waiting = redlock.acquire(resource, ttl);
  await fleet.untilWaiting(resource);
  slow.hold("replies");
  await lock.release();
  await (await waiting).release();
  const closing = slow.nextRequest((bytes) => /\b(quit|PING)\b/i.test(String(bytes)));
  const quitting = redlock.quit();
  await closing;
  const before = [...errors];
  slow.release("replies");
  await quitting;
  expect(errors).toEqual(before);
});

it("an option of quit that is unknown or of the wrong type is refused, and nothing has ended", async () => {
  const { redlock } = await fleet.openWarm();
  expect(() => redlock.quit({ drian: 1 } as object)).toThrow(InvalidArgumentError);
  expect(() => redlock.quit({ drain: -1 })).toThrow(InvalidArgumentError);
  expect(() => redlock.quit({ keepClients: "yes" } as object)).toThrow(InvalidArgumentError);
  await (await redlock.acquire(fresh(), ttl)).release();
});
