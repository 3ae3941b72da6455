import { parse, text, UsageError } from "../command-line/options.ts";
import { movingPicture } from "../pictures/moving.ts";
import { pictureOf } from "../pictures/picture-of.ts";
import { record } from "../pictures/recording.ts";
import type { Plan } from "../plan/plan.ts";
import { sketched, use } from "../scenarios/sketch.ts";
import { type Command, exitCodes } from "./command.ts";
import { commandLine } from "./edition.ts";
import { writeText } from "./files.ts";

const options = { out: text("FILE", "where to write the picture, an .svg") };

/** The story of `pnpm demo`: a master dies, the holder is cut off, and the next one gets the lock. */
export const sale: Plan = sketched({
  script: [[use(200, 60_000, 400, "using")], [use(300, 1700, 10)], [use(400, 1200, 7)]],
  faults: [
    { at: 900, kind: "crash", masters: [1], how: "process", downFor: 5500 },
    {
      at: 2000,
      kind: "cut",
      clients: [0],
      masters: [0, 1, 2, 3, 4],
      direction: "both",
      duration: 4000,
      ending: "heal",
    },
  ],
  duration: 9000,
  settings: { retryCount: 400 },
})(1);

export const moving: Command = {
  usage: "moving --out FILE.svg",
  about: "the story of the demo as a picture that moves without scripts: docs/moving.svg",
  options,
  examples: ["moving --out docs/moving.svg"],
  async run(args) {
    const { out } = parse(args, options).values;
    if (!out?.endsWith(".svg")) throw new UsageError("--out FILE.svg is missing");
    const recording = await record(sale);
    const command = `${commandLine} moving --out ${out}`;
    await writeText(out, movingPicture(pictureOf(recording), { title: title(), command }));
    console.log(`written to ${out}`);
    return exitCodes[recording.outcome.verdict];
  },
};

function title(): string {
  return (
    "Three clients sell under one lock: a master dies, the holder is cut off and stops in time, the next client gets the lock, " +
    "and each item is sold once"
  );
}
