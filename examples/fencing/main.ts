import { mastersUp } from "../stage/masters-up.ts";
import { play, within } from "../stage/stage.ts";
import { Bank } from "./bank.ts";

/** The whole day must not take longer than this, ms. */
const timeLimit = 20_000;
await play(async (stage) => {
  const { narrator } = stage;
  narrator.heading("An account, two processes that book payments, and a holder that is stopped for too long");
  const bank = await Bank.open(stage, 100);
  const masters = await mastersUp(stage, 3);
  const isSafe = await within(timeLimit, "the day", Promise.race([bank.day(masters.urls), bank.broken]));
  await stage.end();
  narrator.heading("Summary");
  const outcome = isSafe ? "the stale write was turned away" : "the stale write went through";
  narrator.line(`  ${narrator.paint(isSafe ? "green" : "red", outcome)}`);
  return isSafe;
});
