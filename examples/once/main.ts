import { setTimeout as pause } from "node:timers/promises";
import { argumentsOf, known, text, wholeNumber } from "@quorlock/simulation/command-line";
import { runExample } from "../fixture/fixture.ts";
import { mastersUp } from "../fixture/masters-up.ts";
import { schedulers } from "./schedulers.ts";
import { Service, type Tally } from "./service.ts";

// `pnpm once`: four instances whose clocks are apart, and a job of every second by each scheduler: one runs each tick.

const second = 1000;
/** By how much the clock of each instance is ahead, ms. */
const clocks: Readonly<Record<string, number>> = { Anna: 0, Ben: 700, Cleo: 1300, Dora: 2000 };
/** Her clock is the first to show each tick. */
const victim = "Dora";
const largest = Math.max(...Object.values(clocks));
/** Before the first tick that counts and after the last, ms. */
const margin = 2 * second;

const all = Object.keys(schedulers);
const { ticks, names } = argumentsOf(
  {
    usage: "once [--ticks N] [--schedulers NAME,...]",
    about:
      "four instances whose clocks are apart, and a job of every second by each scheduler: one runs each tick",
    options: {
      ticks: text("N", "for so many seconds; default 60"),
      schedulers: text("NAME,...", `of ${all.join(",")}; default all`),
    },
    exit: "1 a tick ran twice or not at all",
    examples: ["once", `once --ticks 10 --schedulers ${all[0]}`],
  },
  ({ values }) => ({
    ticks: wholeNumber("ticks", values.ticks ?? "60", 3),
    names: values.schedulers?.split(",").map((name) => known("scheduler", name, all)) ?? all,
  }),
);

/** The outcome of the ticks of one scheduler. */
function judge(
  tally: Tally,
  scheduler: string,
  first: number,
): { readonly text: string; readonly isRight: boolean } {
  const runs = Array.from({ length: ticks }, (_, index) => tally.of(scheduler, first + index * second));
  const total = runs.reduce((sum, { length }) => sum + length, 0);
  const [twice, none] = [runs.filter(({ length }) => length > 1), runs.filter(({ length }) => length === 0)];
  const by = Object.keys(clocks).map((name) => `${name} ${runs.flat().filter((one) => one === name).length}`);
  const text = `${ticks} ticks, ${total} runs (${by.join(", ")}); ${twice.length} ran twice, ${none.length} did not run`;
  return { text, isRight: total === ticks && twice.length === 0 && none.length === 0 };
}

await runExample(async (fixture) => {
  const { narrator } = fixture;
  narrator.heading(`A job of every second in four processes, by ${names.join(", ")}, on three Redis masters`);
  const masters = await mastersUp(fixture, 3);
  const service = await Service.prepare(fixture, names, masters);
  const ahead = await Promise.all(
    Object.entries(clocks).map(async ([name, by]) => {
      const measured = await service.start(name, by);
      narrator.event("starts", "cyan", `${name}, whose clock is ${(measured / second).toFixed(1)} s ahead`);
      return measured;
    }),
  );
  const apart = Math.max(...ahead) - Math.min(...ahead);
  const first = Math.ceil((Date.now() + largest + margin) / second) * second;
  const last = first + (ticks - 1) * second;
  await pause(first + (last - first) / 3 - Date.now());
  await service.kill(victim);
  narrator.event("killed", "red", `${victim}, between two ticks`);
  await service.start(victim, clocks[victim]!);
  narrator.event("starts", "cyan", `${victim} again`);
  await pause(last + margin - Date.now());
  narrator.heading("Summary");
  narrator.line(`  clocks up to ${(apart / second).toFixed(1)} s apart`);
  const results = names.map((name) => ({ name, ...judge(service.tally, name, first) }));
  for (const { name, text, isRight } of results)
    narrator.line(`  ${name.padEnd(10)} ${narrator.paint(isRight ? "green" : "red", text)}`);
  return apart > largest - second / 2 && results.every(({ isRight }) => isRight);
});
