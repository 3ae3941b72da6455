import { type NodeError, Redlock } from "@quorlock/redlock";
import { Redis } from "ioredis";
import { expect, onTestFinished, test } from "vitest";
import { Fleet, fresh } from "../fleet/fleet.ts";

// PROTOCOL 2.8. All else of it is a behaviour.

const fleet = Fleet.forTests(1);

test("without the right to ask, it cannot be known that two masters are one server: both vote, and it is said once", async () => {
  const [{ host, port }] = fleet.masters as [(typeof fleet.masters)[0]];
  const [admin] = fleet.admins;
  await admin!.call("ACL", "SETUSER", "blind", "on", ">blind", "~*", "&*", "+@all", "-info");
  const blind = { username: "blind", password: "blind", enableReadyCheck: false };
  const clients = [new Redis(port, host, blind), new Redis(port, host, blind)];
  const redlock = new Redlock(clients, { nodeTimeout: 900 });
  onTestFinished(() => redlock.quit());
  const errors: NodeError[] = [];
  redlock.on("error", (error) => errors.push(error));
  for (const isSecond of [false, true]) {
    if (isSecond) await admin!.call("CLIENT", "KILL", "USER", "blind");
    await redlock.ready();
    const lock = await redlock.acquire(fresh(), 5000);
    expect((await lock.attempts[0]!).votesFor.size).toBe(2);
  }
  const said = errors.filter(({ reason }) => reason !== "UNREACHABLE").map(({ message }) => message);
  expect(said).toEqual([expect.stringContaining("SAME_SERVER: INFO tells no run_id")]);
});
