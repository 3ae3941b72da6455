import { argumentsOf } from "@quorlock/simulation/command-line";
import { now } from "@quorlock/simulation/processes";
import { Crew } from "../fixture/crew.ts";
import { type Fixture, runExample, within } from "../fixture/fixture.ts";
import { mastersUp } from "../fixture/masters-up.ts";
import { listed, milliseconds } from "../fixture/narrator.ts";
import type { Server } from "./server.ts";

/** The competing servers, each in its own process. */
const servers = ["Anna", "Ben", "Cleo", "Dora", "Emil", "Fay"];
/** From the call to the draw, ms: every server has received the call by then, so all start at the same time. */
const notice = 200;
/** Time limit for the whole scenario, ms. */
const timeLimit = 20_000;

argumentsOf({
  usage: "--filter @quorlock/examples run lottery",
  about: "six servers start the same job at the same moment: one of them does it",
  exit: "1 it was drawn more than once, or not at all",
  examples: ["--filter @quorlock/examples run lottery"],
});

await runExample(async (fixture) => {
  const { narrator } = fixture;
  narrator.heading("A lottery, six servers that want to draw it at the same moment, and five Redis masters");
  const crew = new Crew<Server>(fixture, new URL("server.ts", import.meta.url), servers, () => ({}));
  const masters = await mastersUp(fixture, 5);
  const drawing = draw(fixture, crew, masters.urls);
  const draws = await within(timeLimit, "the lottery", Promise.race([drawing, crew.broken]));
  await fixture.end();
  narrator.heading("Summary");
  const count = `drawn ${draws} time${draws === 1 ? "" : "s"}`;
  narrator.line(`  ${narrator.paint(draws === 1 ? "green" : "red", count)} by ${servers.length} servers`);
  return draws === 1;
});

/** Returns the number of times that the lottery was drawn. */
async function draw({ narrator }: Fixture, crew: Crew<Server>, urls: readonly string[]): Promise<number> {
  await crew.all((server) => server.open(urls));
  narrator.heading("The draw");
  narrator.event("ready", "cyan", `${listed(servers)}: processes ${listed(crew.pids)}`);
  const moment = now() + notice;
  const draws = await crew.all(async (server, name): Promise<number> => {
    const { ticket, after } = await server.draw(moment);
    const time = `(after ${milliseconds(after)})`;
    if (ticket === undefined)
      narrator.event("null", "dim", `${name} leaves it to the holder of the lock ${time}`);
    else narrator.event("lock", "green", `${name} draws ticket ${`${ticket}`.padStart(6, "0")} ${time}`);
    return ticket === undefined ? 0 : 1;
  });
  await crew.leave();
  return draws.reduce((sum, drawn) => sum + drawn, 0);
}
