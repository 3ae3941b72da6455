import { mastersUp } from "../stage/masters-up.ts";
import { play, within } from "../stage/stage.ts";
import { Hall, servers } from "./hall.ts";

/** The whole draw must not take longer than this, ms. */
const timeLimit = 20_000;
await play(async (stage) => {
  const { narrator } = stage;
  narrator.heading("A lottery, six servers that want to draw it at the same moment, and five Redis masters");
  const hall = new Hall(stage);
  const masters = await mastersUp(stage, 5);
  const drawing = hall.draw(masters.urls);
  const draws = await within(timeLimit, "the lottery", Promise.race([drawing, hall.broken]));
  await stage.end();
  narrator.heading("Summary");
  const count = `drawn ${draws} time${draws === 1 ? "" : "s"}`;
  narrator.line(`  ${narrator.paint(draws === 1 ? "green" : "red", count)} by ${servers.length} servers`);
  return draws === 1;
});
