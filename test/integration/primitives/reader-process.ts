import { Redlock } from "@quorlock/redlock";
import { ReadWriteLock } from "@quorlock/redlock/read-write-lock";
import { Redis } from "ioredis";

// Reads for ever: until it is killed.
const [name = "", ttl = "", ...urls] = process.argv.slice(2);
const redlock = new Redlock(
  urls.map((url) => new Redis(url)),
  { nodeTimeout: 500 },
);
await new ReadWriteLock(redlock, name).usingRead(Number(ttl), async () => {
  process.stdout.write("reading\n");
  await new Promise(() => {
    setInterval(() => {}, 60_000);
  });
});
