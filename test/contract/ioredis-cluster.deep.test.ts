import { Cluster } from "ioredis";
import { Cluster as Cluster5 } from "ioredis-5";
import { lockNodeContract } from "./lock-node-contract.ts";
import { ofCluster, redisDriver } from "./redis-driver.ts";

for (const [version, make] of [
  ["6", (port: number, natMap: NatMap) => new Cluster([{ host: "127.0.0.1", port }], { natMap })],
  ["5", (port: number, natMap: NatMap) => new Cluster5([{ host: "127.0.0.1", port }], { natMap })],
] as const) {
  lockNodeContract(
    `ioredis ${version}, Cluster`,
    redisDriver({
      ...ofCluster,
      // The cluster tells its clients where its masters are: the proxy has to be put in between there as well.
      client: (port, master) => make(port, { [`127.0.0.1:${master.port}`]: { host: "127.0.0.1", port } }),
    }),
  );
}

type NatMap = Record<string, { host: string; port: number }>;
