import { Redis } from "ioredis";
import { ioredisDriver } from "./ioredis-driver.ts";
import { lockNodeContract } from "./lock-node-contract.ts";

// Options of the user's client that change what its commands do, or when: locks must not notice.

lockNodeContract(
  "ioredis 6, enableAutoPipelining",
  ioredisDriver({ client: (port) => new Redis(port, "127.0.0.1", { enableAutoPipelining: true }) }),
);

lockNodeContract(
  "ioredis 6, stringNumbers and replyMapping resp3",
  ioredisDriver({
    client: (port) => new Redis(port, "127.0.0.1", { stringNumbers: true, replyMapping: "resp3" }),
  }),
);

lockNodeContract(
  "ioredis 6, lazyConnect",
  ioredisDriver({ client: (port) => new Redis(port, "127.0.0.1", { lazyConnect: true }) }),
);
