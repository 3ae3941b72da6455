import { Redis } from "ioredis";
import { ioredisDriver } from "./ioredis-driver.ts";
import { lockNodeContract } from "./lock-node-contract.ts";
import { documentedRule } from "./permissions.ts";

// The whole contract as the user that the README tells to create, and as nobody who may do more.
const username = "locks";
const password = "a secret";
const keyPrefix = "lock:";

for (const protocol of [3, 2] as const) {
  lockNodeContract(
    `ioredis 6, RESP${protocol}, the least privilege`,
    ioredisDriver({
      client: (port) => new Redis(port, "127.0.0.1", { username, password, keyPrefix, protocol }),
      keyPrefix,
      async prepare(admin, master) {
        await admin.acl("SETUSER", username, "reset", "on", `>${password}`, ...documentedRule);
        // Whoever forgets to name the user is told so instead of getting through.
        await admin.acl("SETUSER", "default", "resetpass", ">of another");
        return master;
      },
    }),
  );
}
