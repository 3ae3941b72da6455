import { Redlock } from "@quorlock/redlock";
import { once } from "@quorlock/redlock/once";
import { Redis } from "ioredis";

// Runs a job that never ends, until it is killed; says whether it runs.
const [name = "", ttl = "", ...urls] = process.argv.slice(2);
const redlock = new Redlock(
  urls.map((url) => new Redis(url)),
  { nodeTimeout: 500 },
);
await once(redlock, name, { keepFor: 600_000, ttl: Number(ttl) }, async () => {
  process.stdout.write("runs\n");
  await new Promise(() => {
    setInterval(() => {}, 60_000);
  });
});
process.stdout.write("does not run\n");
