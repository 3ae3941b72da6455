import { ReadWriteLock, type WriteLock } from "@quorlock/redlock/read-write-lock";
import { expect, it } from "vitest";
import { until } from "../../contract/until.ts";
import { Fleet, fresh } from "../fleet/fleet.ts";

const fleet = Fleet.forTests(3);

const ttl = 20_000;
const patient = { waitTimeout: 30_000 };

// A release names the tokens of all leases that it follows (PROTOCOL 5.4).

it("a read lock that began as a write lock deletes what earlier writers of its process left on a master", async () => {
  const name = fresh("report");
  const key = `quorlock:rw:{${name}}:write`;
  const queue = `quorlock:queue:tagged:${key}`;
  const [one, other] = [await fleet.openWarm(patient), await fleet.openWarm(patient)].map(
    ({ redlock }) => new ReadWriteLock(redlock, name),
  );
  const blocking = await other!.write(ttl);
  await fleet.untilHeld(blocking);
  const [first, second] = [one!.write(ttl), one!.write(ttl)];
  await fleet.untilAll("one waits", () => Promise.all(fleet.admins.map((admin) => admin.zcard(queue))), 1);
  await blocking.release();
  const earlier = await first;
  const { value } = earlier;
  await fleet.untilHeld(earlier);
  const late = fleet.admins[2]!;
  // It refuses the token transfer, and the downgrade.
  await late.config("SET", "min-replicas-to-write", "1");
  await earlier.release();
  const writing = await second;
  const reading = await writing.downgrade();
  await late.config("SET", "min-replicas-to-write", "0");
  expect(await fleet.values(key)).toEqual([null, null, value]);
  await reading.release();
  await until("it is deleted", async () => (await late.exists(key)) === 0);
});

it("a downgrade that no master confirms leaves a resumed lock the rest of its time, as any other", async () => {
  const name = fresh("report");
  const lock = new ReadWriteLock((await fleet.openWarm({ nodeTimeout: 200 })).redlock, name);
  const writing = lock.resume(await (await lock.write(ttl)).detach()) as WriteLock;
  await writing.extend(ttl);
  for (const admin of fleet.admins) await admin.config("SET", "min-replicas-to-write", "1");
  const reading = await writing.downgrade();
  for (const admin of fleet.admins) await admin.config("SET", "min-replicas-to-write", "0");
  expect(reading).toMatchObject({ state: "unknown", resources: [`quorlock:rw:{${name}}:readers`] });
  expect(reading.remaining()).toBeGreaterThan(ttl / 2);
  await reading.extend(ttl);
  expect(reading.state).toBe("held");
  await reading.release();
});
