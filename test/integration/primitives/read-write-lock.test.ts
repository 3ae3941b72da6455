import { InvalidArgumentError } from "@quorlock/redlock";
import { ReadWriteLock } from "@quorlock/redlock/read-write-lock";
import { describe, expect, it } from "vitest";
import { documentedRule, documentedRuleOfReaders } from "../../contract/permissions.ts";
import { Fleet, fresh, type OpenOptions, rejection } from "../fleet/fleet.ts";

// Refusals, and the words of errors. The rules of readers and writers are behaviours.

const fleet = Fleet.forTests(3);

const ttl = 30_000;
/** Waiters poll at short intervals. */
const soon: OpenOptions = { retryDelay: 20, retryJitter: 10, waitTimeout: 20_000 };

/** Each client has its own connections. */
function open(name: string, options: OpenOptions = {}): ReadWriteLock {
  return new ReadWriteLock(fleet.open({ ...soon, ...options }).redlock, name);
}

describe("what is refused", () => {
  it.each([null, {}, { resources: 5 }, { resources: {} }])("to resume %j", (detached) => {
    expect(() => open("report").resume(detached as never)).toThrow(InvalidArgumentError);
  });

  it("masters without scripts, and a name that is none", () => {
    const bare = fleet.open({ scripts: false });
    expect(() => new ReadWriteLock(bare.redlock, "report")).toThrow("run scripts");
    expect(() => new ReadWriteLock(fleet.open().redlock, "")).toThrow("non-empty");
  });
});

it("a readers-writer lock needs no more than the documented permissions", async () => {
  const rule = [...documentedRule, ...documentedRuleOfReaders];
  for (const admin of fleet.admins) await admin.acl("SETUSER", "readers", "reset", "on", ">secret", ...rule);
  const clients = { username: "readers", password: "secret" };
  const { redlock, errors } = fleet.open({ ...soon, client: clients });
  const lock = new ReadWriteLock(redlock, fresh("report"));
  const reading = await lock.read(ttl);
  const waiting = lock.write(ttl);
  await reading.release();
  const downgraded = await (await waiting).downgrade();
  await downgraded.extend(ttl);
  expect(await rejection(lock.write(ttl, { waitTimeout: 100 }))).toMatchObject({ code: "RESOURCE_LOCKED" });
  await downgraded.release();
  expect(errors).toEqual([]);
});

describe("errors", () => {
  it("name the lock as its user does, and not by a key", async () => {
    const name = `{a}${fresh()}`;
    const writing = await open(name).write(ttl);
    await writing.release();
    const error = await rejection(writing.extend(ttl));
    expect(error).toMatchObject({ code: "LOCK_LOST", resources: [name] });
    expect((error as Error).message).toContain(`The lock on "${name}" is lost`);
    const reading = await open(name).read(ttl);
    await Promise.all(fleet.admins.map((admin) => admin.flushall()));
    expect(await reading.verify()).toBe(false);
    expect(reading.signal.reason).toMatchObject({ resources: [name] });
  });

  it.each([true, false])(
    "a call that waits for its own lock gets an error that says so (reentrant: %s)",
    async (reentrant) => {
      const { redlock } = fleet.open({ ...soon, reentrant });
      const lock = new ReadWriteLock(redlock, fresh());
      const short = { waitTimeout: 200 };
      const itself = "this same Redlock (a call nested in that lock waits for itself: readers and writers";
      const write = () => lock.write(ttl, short);
      const read = () => lock.read(ttl, short);
      for (const nested of [
        () => lock.usingWrite(ttl, write),
        () => lock.usingWrite(ttl, read),
        () => lock.usingRead(ttl, write),
      ]) {
        const error = (await rejection(nested())) as Error;
        expect(error.message).toContain(`"${lock.name}" is locked by ${itself}`);
        expect(error.message).not.toContain("reentrant lets");
      }
      // Not where another one has it.
      const other = await open(lock.name).write(ttl);
      expect(((await rejection(read())) as Error).message).toContain("by someone else");
      await other.release();
    },
  );

  it("a reader behind a writer that waits for this same reader gets an error that says so", async () => {
    const lock = open(fresh());
    const reading = await lock.read(ttl);
    const writing = open(lock.name).write(ttl);
    const queue = `quorlock:queue:tagged:quorlock:rw:{${lock.name}}:write`;
    const waiting = () => Promise.all(fleet.admins.map((admin) => admin.zcard(queue)));
    await fleet.untilAll("the writer waits", waiting, 1);
    const error = (await rejection(lock.read(ttl, { waitTimeout: 200 }))) as Error;
    expect(error.message).toContain("by a writer that waits for the readers of this same Redlock");
    await reading.release();
    await (await writing).release();
  });
});
