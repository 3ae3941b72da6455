import { parseArgs } from "node:util";
import { startMasters } from "@quorlock/testbed";
import { crowd } from "./crowd.ts";

// `pnpm semaphore [--seconds 60]`: twelve clients and five permits on five real masters.

const { values } = parseArgs({ options: { seconds: { type: "string", default: "60" } } });
const seconds = Number(values.seconds);
if (!(seconds > 0)) throw new Error(`--seconds must be a number above 0, but is ${values.seconds}`);
const limit = 5;
await using masters = await startMasters(5, { say: () => {} });
const { grants, refusals, most, byClient } = await crowd({
  masters: masters.list,
  clients: 12,
  limit,
  seconds,
});
console.log(`${grants} grants in ${seconds} s, ${refusals} refusals; by client ${byClient.join(", ")}`);
console.log(`most permits held at a time: ${most} of ${limit}`);
process.exitCode = most > limit || grants === 0 ? 1 : 0;
