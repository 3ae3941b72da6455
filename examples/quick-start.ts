import { Redlock } from "@quorlock/redlock";
import { Redis } from "ioredis";

// Five independent masters: `docker compose -f docker-compose.redlock.yml up --detach --wait`
const { REDLOCK_NODES = [6381, 6382, 6383, 6384, 6385].map((port) => `redis://127.0.0.1:${port}`).join() } =
  process.env;
const redlock = new Redlock(REDLOCK_NODES.split(",").map((url) => new Redis(url)));

{
  await using lock = await redlock.acquire("invoice:42", 5_000); // waits its turn; released at the brace
  console.log(`invoice:42 is mine, for ${Math.round(lock.remaining())} ms`);
}

const total = await redlock.using(["invoice:42", "invoice:43"], 5_000, async (signal, lock) => {
  // The lock is extended while this runs; the signal aborts if the lock is lost.
  signal.throwIfAborted();
  return lock.resources.length;
});
console.log(`${total} invoices booked together`);

await redlock.quit();
