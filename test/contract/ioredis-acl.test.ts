import { Redis } from "ioredis";
import { ioredisDriver } from "./ioredis-driver.ts";
import { lockNodeContract } from "./lock-node-contract.ts";
import { documentedRule, documentedRuleWithoutScripts } from "./permissions.ts";

// The whole contract as the user that the README tells to create, and as nobody who may do more.
const username = "locks";
const password = "a secret";
const keyPrefix = "lock:";

for (const [protocol, scripts] of [
  [3, true],
  [2, true],
  [3, false],
] as const) {
  lockNodeContract(
    `ioredis 6, RESP${protocol}, the least privilege${scripts ? "" : " without scripts"}`,
    ioredisDriver({
      scripts,
      client: (port) => new Redis(port, "127.0.0.1", { username, password, keyPrefix, protocol }),
      keyPrefix,
      async prepare(admin, master) {
        const rule = scripts ? documentedRule : documentedRuleWithoutScripts;
        await admin.acl("SETUSER", username, "reset", "on", `>${password}`, ...rule);
        // Whoever forgets to name the user is told so instead of getting through.
        await admin.acl("SETUSER", "default", "resetpass", ">of another");
        return master;
      },
    }),
  );
}
