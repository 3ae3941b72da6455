import { createClient } from "redis";
import { contracts } from "./lock-node-contract.ts";

contracts({
  "node-redis 6": { client: (port) => createClient({ socket: { host: "127.0.0.1", port } }) },
});
