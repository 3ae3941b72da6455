import { runExample, within } from "../fixture/fixture.ts";
import { mastersUp } from "../fixture/masters-up.ts";
import { Hall, servers } from "./hall.ts";

/** Time limit for the whole scenario, ms. */
const timeLimit = 20_000;
await runExample(async (fixture) => {
  const { narrator } = fixture;
  narrator.heading("A lottery, six servers that want to draw it at the same moment, and five Redis masters");
  const hall = new Hall(fixture);
  const masters = await mastersUp(fixture, 5);
  const drawing = hall.draw(masters.urls);
  const draws = await within(timeLimit, "the lottery", Promise.race([drawing, hall.broken]));
  await fixture.end();
  narrator.heading("Summary");
  const count = `drawn ${draws} time${draws === 1 ? "" : "s"}`;
  narrator.line(`  ${narrator.paint(draws === 1 ? "green" : "red", count)} by ${servers.length} servers`);
  return draws === 1;
});
