import { setTimeout as pause } from "node:timers/promises";
import { Redlock } from "@quorlock/redlock";
import { now } from "@quorlock/simulation/processes";
import { Redis } from "ioredis";
import { resource, ttl } from "./fleet.ts";

// One process of the application, as Kubernetes ends it: SIGTERM, and some seconds later SIGKILL. It prints when its routine
// begins and ends, by the clock that all processes of this machine share.

/** The work that is left when SIGTERM arrives, ms: longer than the ttl, so that the lock has to be extended. */
const workLeft = 2 * ttl;
/** Less than `terminationGracePeriodSeconds`, ms. */
const drain = 20_000;

const redlock = new Redlock(process.argv.slice(2).map((url) => new Redis(url)));
const terminated = new Promise<void>((resolve) => {
  process.once("SIGTERM", () => {
    resolve();
    void redlock.quit({ drain });
  });
});

await redlock.using(resource, ttl, { waitTimeout: drain }, async () => {
  console.log(`begins ${now()}`);
  await terminated;
  await pause(workLeft);
  console.log(`ends ${now()}`);
});
