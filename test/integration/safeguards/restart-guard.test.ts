import { InvalidArgumentError, Redlock } from "@quorlock/redlock";
import { Redis } from "ioredis";
import { beforeEach, describe, expect, it } from "vitest";
import { documentedRule, documentedRuleOfGuard } from "../../contract/permissions.ts";
import { until } from "../../contract/until.ts";
import { Fleet, fresh, type Opened, rejection, timed, untilConnected } from "../fleet/fleet.ts";
import { itWithIoredis } from "../fleet/library.ts";

// The guard with users of few rights, and with each kind of client. Its rules are behaviours.

const ttl = 60_000;
const restartGuard = { maxTtl: ttl };

describe("with a restart guard", () => {
  const fleet = Fleet.forTests(5);
  beforeEach(() => fleet.empty());

  /** All masters have been declared new, and vote. */
  async function openNew(): Promise<Opened> {
    const opened = fleet.open({ restartGuard });
    await untilConnected(opened);
    await opened.redlock.initialize();
    await fleet.warmUp(opened);
    return opened;
  }

  itWithIoredis("an event of select")(
    "a client that is switched to a database of another maxTtl is told, as a new client would be",
    async () => {
      const opened = await openNew();
      const clients = fleet.masters.map(({ host, port }) => new Redis({ host, port, db: 2 }));
      const other = new Redlock(clients, { restartGuard: { maxTtl: ttl * 2 }, nodeTimeout: 900 });
      await other.initialize();
      await Promise.all(opened.clients.map((client) => client.select(2)));
      const refused = await rejection(opened.redlock.acquire(fresh("switched"), ttl));
      expect(refused).toBeInstanceOf(InvalidArgumentError);
      expect(String(refused)).toContain("maxTtl must be the same for all clients");
      await other.quit();
    },
  );

  it.each(["info", "object"])(
    "a user without the right to %s gets an error that says so",
    async (command) => {
      await openNew();
      for (const admin of fleet.admins) {
        await admin.acl(
          "SETUSER",
          "uninformed",
          "reset",
          "on",
          ">password",
          "~*",
          "&*",
          "+@all",
          `-${command}`,
        );
      }
      const client = { username: "uninformed", password: "password", enableReadyCheck: false };
      const { redlock } = fleet.open({ restartGuard, client });
      const asked = timed(() => rejection(redlock.acquire(fresh("uninformed"), ttl, { retryCount: 50 })));
      const { result: error, net } = await asked;
      expect(error).toBeInstanceOf(InvalidArgumentError);
      expect((error as Error).message).toContain("does not allow its user to run INFO and OBJECT");
      // At once: the retries that are allowed would take ten seconds.
      expect(net).toBeLessThan(4000);
    },
  );

  it.each(["info", "object"])("without the right to %s, votes report that as well", async (command) => {
    const { redlock, errors } = await openNew();
    for (const admin of fleet.admins) await admin.acl("SETUSER", "default", `-${command}`);
    try {
      await rejection(redlock.acquire(fresh("uninformed"), ttl, { retryCount: 0 }));
    } finally {
      for (const admin of fleet.admins) await admin.acl("SETUSER", "default", `+${command}`);
    }
    expect(new Set(errors.map(({ reason }) => reason))).toEqual(new Set(["NOPERM"]));
  });

  it("without the right to SETRANGE, a master is not declared new, and its votes report that", async () => {
    const { redlock, errors } = fleet.open({ restartGuard });
    await untilConnected({ redlock });
    for (const admin of fleet.admins) await admin.acl("SETUSER", "default", "-setrange");
    try {
      expect(String(await rejection(redlock.initialize()))).toContain("could not be declared new");
      await rejection(redlock.acquire(fresh("unmarked"), ttl, { retryCount: 0 }));
    } finally {
      for (const admin of fleet.admins) await admin.acl("SETUSER", "default", "+setrange");
    }
    expect(new Set(errors.map(({ reason }) => reason))).toEqual(new Set(["NOPERM"]));
  });

  it("a replica that can be written to does not vote", async () => {
    const { redlock, errors } = await openNew();
    const [first] = fleet.admins as [Redis];
    await first.config("SET", "replica-read-only", "no");
    await first.call("REPLICAOF", "127.0.0.1", "1");
    try {
      const lock = await redlock.acquire(fresh("replica"), ttl);
      const { votesFor } = await lock.attempts[0]!;
      expect(votesFor.size).toBe(4);
      await until("it has said so", () => errors.some(({ reason }) => reason === "READONLY"));
    } finally {
      await first.call("REPLICAOF", "NO", "ONE");
      await first.config("SET", "replica-read-only", "yes");
    }
  });

  it("the documented permissions are enough", async () => {
    const rule = [
      ...documentedRule.filter((word) => !word.startsWith("~lock")),
      "~*",
      ...documentedRuleOfGuard,
    ];
    for (const admin of fleet.admins)
      await admin.acl("SETUSER", "locks", "reset", "on", ">password", ...rule);
    const client = { username: "locks", password: "password" };
    const { redlock, errors } = fleet.open({ restartGuard, client });
    await untilConnected({ redlock });
    await redlock.initialize();
    const lock = await redlock.acquire(fresh("permitted"), ttl);
    expect((await lock.attempts[0]!).votesFor.size).toBe(5);
    expect(errors).toEqual([]);
  });
});
