import {
  interruptedCode,
  optionLines,
  parse,
  runCommand,
  text,
  UsageError,
} from "@quorlock/simulation/command-line";
import { NoMastersError, startMasters } from "@quorlock/testbed";
import { type CrowdReport, crowd } from "./crowd.ts";

// `pnpm semaphore`: twelve clients and five permits on five real masters.

const options = { seconds: text("N", "the duration; default 60") };
const usage = [
  "Usage: pnpm semaphore [--seconds N]",
  "  twelve clients compete for five permits on five real masters; counts the permits held at once",
  "Options:",
  ...optionLines(options),
  "Exit: 0 never more than five were held, 1 more were held, or none, 2 it could not run, 64 bad usage, 130 interrupted.",
].join("\n");
const limit = 5;

function print({ grants, refusals, most, byClient }: CrowdReport, seconds: number): void {
  console.log(
    `${grants} grants in ${seconds.toFixed(0)} s, ${refusals} refusals; by client ${byClient.join(", ")}`,
  );
  console.log(`most permits held at a time: ${most} of ${limit}`);
}

async function run(seconds: number): Promise<number> {
  await using masters = await startMasters(5, { say: () => {} });
  const begun = performance.now();
  const report = await crowd({
    masters: masters.list,
    clients: 12,
    limit,
    seconds,
    onStart: (soFar) => {
      process.once("SIGINT", () => {
        const elapsed = (performance.now() - begun) / 1000;
        console.log(`interrupted after ${elapsed.toFixed(0)} of ${seconds} s`);
        print(soFar(), elapsed);
        // Watchdogs end the masters.
        process.exit(interruptedCode);
      });
      console.log(`twelve clients, ${limit} permits, ${masters.list.length} masters, ${seconds} s`);
    },
  });
  print(report, seconds);
  return report.most > limit || report.grants === 0 ? 1 : 0;
}

async function runFor(args: readonly string[]): Promise<number> {
  const { seconds: given = "60" } = parse(args, options).values;
  const seconds = Number(given);
  if (!(seconds > 0 && Number.isFinite(seconds)))
    throw new UsageError(`--seconds must be a number above 0, but is ${given}`);
  return await run(seconds);
}

process.exitCode = await runCommand(
  process.argv.slice(2),
  usage,
  runFor,
  (error) => error instanceof NoMastersError,
);
