import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { argumentsOf, text } from "@quorlock/simulation/command-line";
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

const { record } = argumentsOf({
  usage: "demo [--record FILE]",
  about:
    "five processes sell a stock under one lock while Redis masters fail, then without the lock: some 15 s",
  options: { record: text("FILE", "also writes the output to FILE as an SVG") },
  exit: "1 with the lock, an item was not sold once, or not by one process at a time",
  examples: ["demo", "demo --record demo.svg"],
}).values;
const file = record && resolve(record);

const next = [
  "",
  "  Next: examples/sale/worker.ts is the code of a user; README.md has ten lines to begin with;",
  "  `npx -y pnpm@12 recipe` plays a cache, payments, migrations; `npx -y pnpm@12 once` jobs on four instances.",
];

await runExample(async (fixture) => {
  const { narrator } = fixture;
  narrator.heading("A stock of 100 items, five processes that sell it, and five Redis masters for the lock");
  const shop = Shop.build();
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
  if (file) {
    const lines = ["$ npx -y pnpm@12 demo", ...narrator.lines];
    await writeFile(
      file,
      terminalPicture("pnpm demo: a stock is sold under a lock while Redis masters fail", lines),
    );
    console.log(`written to ${file}`);
  }
  return isGood;
});

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
