import { createCluster } from "redis";
import { createCluster as createCluster5 } from "redis-5";
import { lockNodeContract } from "./lock-node-contract.ts";
import { ofCluster, redisDriver } from "./redis-driver.ts";

for (const [version, make] of [
  ["6", (options: Options) => createCluster(options)],
  ["5", (options: Options) => createCluster5(options)],
] as const) {
  lockNodeContract(
    `node-redis ${version}, Cluster`,
    redisDriver({
      ...ofCluster,
      // The cluster tells its clients where its masters are: the proxy has to be put in between there as well.
      client: (port, master) => {
        const socket = { host: "127.0.0.1", port };
        return make({ rootNodes: [{ socket }], nodeAddressMap: { [`127.0.0.1:${master.port}`]: socket } });
      },
    }),
  );
}

interface Options {
  rootNodes: { socket: Address }[];
  nodeAddressMap: Record<string, Address>;
}

interface Address {
  host: string;
  port: number;
}
