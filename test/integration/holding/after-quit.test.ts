import { ClosedError, LockLostError } from "@quorlock/redlock";
import { ReadWriteLock } from "@quorlock/redlock/read-write-lock";
import { expect, it } from "vitest";
import { Fleet, fresh } from "../fleet/fleet.ts";

const fleet = Fleet.forTests(3);
const forEver = { retryCount: -1 };

async function detached() {
  const { redlock } = await fleet.openWarm();
  return (await redlock.acquire(fresh("detached"), 20_000)).detach();
}

it("an extension of a resumed lock that is under way ends with quit, whatever the masters do", async () => {
  const given = await detached();
  const { redlock } = await fleet.openWarm(forEver);
  await Promise.all(fleet.masters.map((master) => master.hang()));
  const lock = redlock.resume(given);
  const extending = expect(lock.extend(5000)).rejects.toThrow(LockLostError);
  await redlock.quit();
  await extending;
  await Promise.all(fleet.masters.map((master) => master.resume()));
});

it("after quit a resumed lock is not extended any more, and none is resumed", async () => {
  const given = await detached();
  const { redlock } = await fleet.openWarm(forEver);
  const lock = redlock.resume(given);
  await redlock.quit();
  await expect(lock.extend(5000)).rejects.toThrow(ClosedError);
  expect(() => redlock.resume(given)).toThrow(ClosedError);
});

it("a readers-writer lock that is made after quit is closed", async () => {
  const { redlock } = await fleet.openWarm(forEver);
  await redlock.quit();
  const lock = new ReadWriteLock(redlock, fresh("late"));
  await expect(lock.read(1000)).rejects.toThrow(ClosedError);
  await expect(lock.tryWrite(1000)).rejects.toThrow(ClosedError);
});
