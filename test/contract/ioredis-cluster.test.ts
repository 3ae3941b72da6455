import { Cluster } from "ioredis";
import { Cluster as Cluster5 } from "ioredis-5";
import { ioredisDriver } from "./ioredis-driver.ts";
import { lockNodeContract } from "./lock-node-contract.ts";
import { addSlots } from "./slots.ts";
import { until } from "./until.ts";

const config = ["--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1"];

for (const [version, make] of [
  ["6", (port: number, natMap: NatMap) => new Cluster([{ host: "127.0.0.1", port }], { natMap })],
  ["5", (port: number, natMap: NatMap) => new Cluster5([{ host: "127.0.0.1", port }], { natMap })],
] as const) {
  lockNodeContract(
    `ioredis ${version}, Cluster`,
    ioredisDriver({
      config,
      keepsQueues: false,
      keepsCounters: false,
      // The cluster tells its clients where its masters are: the proxy has to be put in between there as well.
      client: (port, master) => make(port, { [`127.0.0.1:${master.port}`]: { host: "127.0.0.1", port } }),
      async prepare(admin, master) {
        await addSlots(admin, 0, 16383);
        await until("the cluster is up", async () => /cluster_state:ok/.test(await admin.cluster("INFO")));
        return master;
      },
    }),
  );
}

type NatMap = Record<string, { host: string; port: number }>;
