import { Redlock } from "@quorlock/redlock";
import { lead } from "@quorlock/redlock/lead";
import { Redis } from "ioredis";

// Stands for election, says when it leads, and ends in order, by `quit`, when it is told to.
const [ttl = "", ...urls] = process.argv.slice(2);
const redlock = new Redlock(
  urls.map((url) => new Redis(url)),
  { nodeTimeout: 500, retryDelay: 50, retryJitter: 20 },
);
const say = (what: string) => () => void process.stdout.write(`${what}\n`);
process.stdin.once("data", () => {
  process.stdin.pause();
  process.stdin.unref();
  void redlock.quit();
});
await lead(
  redlock,
  "scheduler",
  Number(ttl),
  (signal) =>
    new Promise<void>((resolve) => {
      signal.addEventListener("abort", () => resolve());
    }),
  { onStart: say("leads"), onStop: say("stops") },
);
say("over")();
