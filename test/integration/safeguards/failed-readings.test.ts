import { systemRuntime } from "@quorlock/redlock";
import { RedisNode } from "@quorlock/redlock/internal";
import { Redis } from "ioredis";
import { expect, it } from "vitest";
// The package makes guards of nodes and does not export them.
import { connectionOf } from "../../../packages/redlock/src/adapters/client-libraries.ts";
import { MasterGuard, stateRead } from "../../../packages/redlock/src/safeguards/master-guard.ts";
import { until } from "../../contract/until.ts";
import { Fleet, untilConnected } from "../fleet/fleet.ts";

const fleet = Fleet.forTests(1);
const maxTtl = 60_000;

it("an epoch that could not be read is read soon, without a vote or an extension (PROTOCOL 9.5)", async () => {
  const [master] = fleet.masters;
  const [admin] = fleet.admins;
  const opened = fleet.open({ restartGuard: { maxTtl } });
  await untilConnected(opened);
  await opened.redlock.initialize();
  await admin!.acl("SETUSER", "guard", "reset", "on", ">password", "~*", "&*", "+@all", "-info");
  const credentials = { username: "guard", password: "password", enableReadyCheck: false };
  const client = new Redis(master!.port, master!.host, credentials).on("error", () => {});
  try {
    const connection = connectionOf(client);
    const node = new RedisNode(connection);
    const coordinator = {
      runtime: systemRuntime,
      maxTtl,
      isAgreed: () => true,
      compare: () => {},
      restoreCounters: () => Promise.resolve(true),
    };
    const guard = new MasterGuard(node, coordinator, false);
    node.watchGuard(guard);
    const largestEpoch = (): number => Number(guard.terms(stateRead()).split(",").at(-1));
    await until("its node is connected", () => Promise.resolve(connection.isReady));
    const refusals = async (): Promise<number> => {
      const log = (await admin!.call("ACL", "LOG")) as unknown[][];
      return log.reduce((sum, entry) => sum + Number(entry[1]), 0);
    };
    guard.readEpoch();
    await until("the reading is refused", async () => (await refusals()) > 0);
    expect(largestEpoch()).toBe(0);
    await admin!.acl("SETUSER", "guard", "+info");
    // A tenth of `maxTtl` is 6 s.
    await until("the epoch is read", () => Promise.resolve(largestEpoch() > 0), 3000);
  } finally {
    client.disconnect();
    await admin!.acl("DELUSER", "guard");
  }
});
