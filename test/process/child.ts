import { Redlock } from "@quorlock/redlock";
import { Redis } from "ioredis";
import { scenarios } from "./scenarios.ts";

// Runs one scenario, says so, and then has nothing left to do: whatever keeps this process alive is a fault.
// An unhandled rejection ends it with an error, as Node does by default.
const [name = "", ...urls] = process.argv.slice(2);
const scenario = scenarios[name];
if (!scenario) throw new Error(`no scenario "${name}"`);

const clients = urls.map((url) => {
  const client = new Redis(url);
  client.on("error", () => {});
  return client;
});
const redlock = new Redlock(clients, { nodeTimeout: 500 });
await scenario({ redlock, clients, ask });
process.stdout.write("over\n");

/** Has the test do something to the masters, and waits until that is done. */
function ask(what: string): Promise<void> {
  process.stdout.write(`${what}\n`);
  return new Promise((resolve) => {
    process.stdin.once("data", () => {
      process.stdin.pause();
      process.stdin.unref();
      resolve();
    });
    process.stdin.resume();
  });
}
