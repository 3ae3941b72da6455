import { Redlock } from "@quorlock/redlock";
import { Redis } from "ioredis";

// Locks a hundred times with some hostile servers among its masters, and tells by how much it has grown.
const clients = process.argv.slice(2).map((url) => new Redis(url));
for (const client of clients) client.on("error", () => {});
const redlock = new Redlock(clients, { nodeTimeout: 300, retryCount: 5 });
const before = process.resourceUsage().maxRSS;

let acquired = 0;
for (let round = 0; round < 100; round += 1) {
  const lock = await redlock.acquire(`resource-${round}`, 20_000);
  acquired += 1;
  // The hostile are given their whole time in some of the rounds.
  if (round % 25 === 0) await Promise.all(lock.attempts);
  await lock.release();
}

const grownBy = (process.resourceUsage().maxRSS - before) / 1024;
process.stdout.write(JSON.stringify({ acquired, grownBy }));
for (const client of clients) client.disconnect();
