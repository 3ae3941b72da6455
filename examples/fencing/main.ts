import { argumentsOf } from "@quorlock/simulation/command-line";
import { runExample, within } from "../fixture/fixture.ts";
import { mastersUp } from "../fixture/masters-up.ts";
import { Bank } from "./bank.ts";

/** Time limit for the whole scenario, ms. */
const timeLimit = 20_000;
argumentsOf({
  usage: "--filter @quorlock/examples run fencing",
  about: "a holder is paused until its lock has expired: the database rejects its write",
  exit: "1 the stale write went through",
  examples: ["--filter @quorlock/examples run fencing"],
});

await runExample(async (fixture) => {
  const { narrator } = fixture;
  narrator.heading("An account, two processes that book payments, and a holder that is stopped for too long");
  const bank = await Bank.open(fixture, 100);
  const masters = await mastersUp(fixture, 3);
  const isSafe = await within(timeLimit, "the day", Promise.race([bank.day(masters.urls), bank.broken]));
  await fixture.end();
  narrator.heading("Summary");
  const outcome = isSafe ? "the stale write was turned away" : "the stale write went through";
  narrator.line(`  ${narrator.paint(isSafe ? "green" : "red", outcome)}`);
  return isSafe;
});
