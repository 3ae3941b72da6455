import { InvalidArgumentError } from "@quorlock/redlock";
import { ReadWriteLock } from "@quorlock/redlock/read-write-lock";
import { describe, expect, it } from "vitest";
import { documentedRule, documentedRuleOfReaders } from "../../contract/permissions.ts";
import { Fleet, fresh, type OpenOptions, rejection } from "../fleet/fleet.ts";

// Refusals, and the rights of a user. The rules of readers and writers are behaviours.

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
