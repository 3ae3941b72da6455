import { Redis } from "ioredis";
import { createClient } from "redis";
import { lockNodeContract } from "./lock-node-contract.ts";
import { documentedRule, documentedRuleWithoutScripts } from "./permissions.ts";
import { redisDriver } from "./redis-driver.ts";

// The whole contract as the user of docs/permissions.md, with no permission beyond its ACL rule.
const username = "locks";
const password = "a secret";
const keyPrefix = "lock:";

const without = (word: string): readonly string[] => documentedRule.filter((other) => other !== word);

const cases = [
  { protocol: 3, what: "the least privilege", rule: documentedRule },
  { protocol: 2, what: "the least privilege", rule: documentedRule },
  {
    protocol: 3,
    what: "the least privilege without scripts",
    rule: documentedRuleWithoutScripts,
    scripts: false,
  },
  { protocol: 3, what: "no SUBSCRIBE", rule: without("+subscribe"), pushes: false },
  { protocol: 3, what: "no channel", rule: without("&quorlock:*"), pushes: false },
] as const;

const libraries = {
  "ioredis 6": (port: number, protocol: 2 | 3) =>
    new Redis(port, "127.0.0.1", { username, password, keyPrefix, protocol }),
  "node-redis 6": (port: number, RESP: 2 | 3) =>
    createClient({ socket: { host: "127.0.0.1", port }, username, password, keyPrefix, RESP }),
};

for (const [library, open] of Object.entries(libraries)) {
  for (const { protocol, what, rule, ...options } of cases) {
    lockNodeContract(
      `${library}, RESP${protocol}, ${what}`,
      redisDriver({
        ...options,
        client: (port) => open(port, protocol),
        keyPrefix,
        async prepare(admin, master) {
          await admin.acl("SETUSER", username, "reset", "on", `>${password}`, ...rule);
          // A connection without the user name fails instead of getting all permissions.
          await admin.acl("SETUSER", "default", "resetpass", ">of another");
          return master;
        },
      }),
    );
  }
}
