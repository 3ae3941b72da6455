import { Redlock } from "@quorlock/redlock";
import { Redis } from "ioredis";

// A process that holds a lock until it is killed: `holder.ts OWNER RESOURCE MASTER...`.

const [owner, resource = "", ...urls] = process.argv.slice(2);
const redlock = new Redlock(
  urls.map((url) => new Redis(url)),
  { owner },
);
await redlock.acquire(resource, 600_000);
console.log("held");
