import { rights } from "@quorlock/redlock/internal";
import { startMasters } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { commandsNeeded } from "./observe.ts";

// For tests: five masters without a mistake, each at an address that no other has.

export interface GoodMasters extends AsyncDisposable {
  /** `redis://127.0.0.1:port` to `redis://127.0.0.5:port`. */
  readonly addresses: readonly string[];
  readonly admins: readonly Redis[];
}

/** The rule of a user with the rights of locks and no others. */
export const rightsOfLocks: readonly string[] = [
  ...rights.channels,
  "~lock:*",
  rights.keysOfQueues,
  ...commandsNeeded(false).map((name) => `+${name}`),
];

export async function startGoodMasters(config: readonly string[] = []): Promise<GoodMasters> {
  const hosts = [1, 2, 3, 4, 5].map((number) => `127.0.0.${number}`);
  const masters = await startMasters(hosts.length, {
    source: "local-binary",
    persistence: "aof-always",
    config: ["--bind", ...hosts, ...config],
    say: () => {},
  });
  const admins = masters.list.map(({ port }) => new Redis(port));
  return {
    addresses: masters.list.map(({ port }, index) => `redis://${hosts[index]}:${port}`),
    admins,
    async [Symbol.asyncDispose]() {
      for (const admin of admins) admin.disconnect();
      await masters.stop();
    },
  };
}
