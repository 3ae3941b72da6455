import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { asksForHelp, optionLines, parse, text, UsageError } from "@quorlock/simulation/command-line";
import { now } from "@quorlock/simulation/processes";
import { connect } from "../fixture/connect.ts";
import { runExample, whileAlive, within } from "../fixture/fixture.ts";
import { mastersUp } from "../fixture/masters-up.ts";
import { terminalPicture } from "../fixture/terminal-picture.ts";
import { injectFaults } from "./faults.ts";
import type { Ledger } from "./ledger.ts";
import { Links } from "./links.ts";
import { Shop } from "./shop.ts";
import { Staff } from "./staff.ts";
import { type Outcome, summarise } from "./summary.ts";

/** A sale fails if no worker reports for this long, ms; the cut and a restart cause gaps of some 4 s. */
const longestSilence = 10_000;
/** Five processes start at once, on a machine that may be busy, ms. */
const timeToOpen = 60_000;
/** Time limit for the faults after the stock is sold out, ms. */
const timeAfterwards = 2_000;

const options = { record: text("FILE", "also writes the output to FILE as an SVG") };
const usage = [
  "Usage: pnpm demo [--record FILE]",
  "  five processes sell a stock under one lock while Redis masters fail, then without the lock: some 15 s",
  "Options:",
  ...optionLines(options),
  "Exit: 0 with the lock each item is sold once, by one process at a time; 1 otherwise, 64 bad usage, 130 interrupted.",
].join("\n");

const next = [
  "",
  "  Next: examples/sale/worker.ts is the code of a user; README.md has ten lines to begin with;",
  "  `npx -y pnpm@12 recipe` plays a cache, payments, migrations; `npx -y pnpm@12 once` jobs on four instances.",
];

const file = recordingFile();

await runExample(async (fixture) => {
  const { narrator } = fixture;
  narrator.heading("A stock of 100 items, five processes that sell it, and five Redis masters for the lock");
  const shop = await Shop.build();
  fixture.onEnd(() => shop.remove());
  const staff = new Staff(fixture, shop);
  const masters = await mastersUp(fixture, 5);
  const links = await Links.lay(fixture, masters.list);
  const watcher = connect(masters.urls);
  fixture.onEnd(() => watcher.quit());

  narrator.heading("With the lock, while masters fail");
  await within(timeToOpen, "the start of the processes", Promise.race([staff.open(links), staff.broken]));
  const show = async () => {
    const faults = { narrator, staff, masters: masters.list, links, watcher };
    const withLock = await sell(staff, true, async (ledger) => injectFaults({ ...faults, ledger }));
    narrator.heading("Without the lock, while nothing fails");
    const withoutLock = await sell(staff, false, async () => undefined);
    await staff.leave();
    return { withLock, withoutLock };
  };
  const { withLock, withoutLock } = await whileAlive(
    longestSilence,
    "the sale",
    Promise.race([show(), staff.broken]),
    (listener) => staff.onReport(listener),
  );
  await fixture.end();
  const isGood = summarise(narrator, withLock, withoutLock);
  for (const line of next) narrator.line(line);
  if (file !== undefined) {
    const lines = ["$ npx -y pnpm@12 demo", ...narrator.lines];
    await writeFile(
      file,
      terminalPicture("pnpm demo: a stock is sold under a lock while Redis masters fail", lines),
    );
    console.log(`written to ${file}`);
  }
  return isGood;
});

/** The value of `--record`, if any. Ends the process after `--help` and after bad usage. */
function recordingFile(): string | undefined {
  const args = process.argv.slice(2);
  try {
    if (!asksForHelp(args)) {
      const { record } = parse(args, options).values;
      return record === undefined ? undefined : resolve(record);
    }
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(`${error.message}\n${usage}`);
    process.exit(64);
  }
  console.log(usage);
  process.exit();
}

/** Sells the whole stock while `meanwhile` runs. */
async function sell<T>(
  staff: Staff,
  locked: boolean,
  meanwhile: (ledger: Ledger) => Promise<T>,
): Promise<Outcome<T>> {
  const began = now();
  const ledger = await staff.sell(locked);
  const happening = meanwhile(ledger);
  // The first failure rejects the sale; `happening` is awaited below as well.
  await Promise.race([staff.untilClosed(), happening.then(() => staff.untilClosed())]);
  const duration = now() - began;
  const happened = await within(
    timeAfterwards,
    "what was to happen before the stock was sold out",
    happening,
  );
  return { ledger, duration, happened };
}
