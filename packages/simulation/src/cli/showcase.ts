import { parse, text, UsageError } from "../command-line/options.ts";
import type { Picture } from "../pictures/picture.ts";
import { pictureOf } from "../pictures/picture-of.ts";
import { type Recording, record } from "../pictures/recording.ts";
import { ms, runStrip } from "../pictures/run-strip.ts";
import { tellRun } from "../pictures/telling.ts";
import { timeline } from "../pictures/timeline.ts";
import { scenarios } from "../scenarios/scenarios.ts";
import { type Command, exitCodes } from "./command.ts";
import { commandLine, hasScenarios, viewer } from "./edition.ts";
import { writeText } from "./files.ts";

/** Five masters, one lock, and one fault that violates it: the smallest run that shows how a lock fails. */
const name = "clock-jump-on-c";
/** The same fault with the option that prevents the violation. */
const remedy = "clock-jump-on-c-excluded";
const seed = 1;

const options = {
  out: text("FILE", "also draws the run: .svg for a document, .html with every message"),
};

export const showcase: Command = {
  usage: "showcase [--out FILE.svg|FILE.html]",
  about: "an example run: five masters, two clients, one lock, and the clock of one master jumps",
  options,
  examples: ["showcase", "showcase --out showcase.html"],
  async run(args) {
    const { out } = parse(args, options).values;
    const draw = out === undefined ? undefined : drawingFor(out);
    const scenario = scenarios.find((candidate) => candidate.name === name)!;
    const recording = await record(scenario.plan(seed));
    const picture = pictureOf(recording);
    const lines = [`${scenario.title}.`, scenario.story, "", ...eventsOf(picture), "", ...remedyLines()];
    for (const line of lines) console.log(line);
    if (out !== undefined && draw !== undefined) {
      const command = `${commandLine} showcase --out ${out}`;
      await writeText(out, await draw(recording, picture, { title: scenario.title, command }));
      console.log(`written to ${out}`);
    }
    // The violation is the expected result.
    return picture.overlaps.length > 0 ? exitCodes.ok : exitCodes.violated;
  },
};

type Drawing = (
  recording: Recording,
  picture: Picture,
  caption: { readonly title: string; readonly command: string },
) => string | Promise<string>;

function drawingFor(out: string): Drawing {
  if (out.endsWith(".svg")) return (_, picture, caption) => runStrip(picture, caption);
  if (out.endsWith(".html"))
    return async (recording, _, caption) => timeline(recording, caption, await viewer());
  throw new UsageError(`--out must end in .svg or .html, but is ${out}`);
}

/** Up to the end of the last lock. */
function eventsOf(picture: Picture): readonly string[] {
  const last = Math.max(...picture.holds.map(({ until }) => until));
  const told = tellRun(picture).filter(({ at }) => at <= last);
  return told.map(({ at, text }) => `${ms(at).padStart(7)} ms  ${text}`);
}

function remedyLines(): readonly string[] {
  return [
    "With the option clockWatch: { exclude: true }, client 1 waits until client 0 has released the lock.",
    ...(hasScenarios ? [`  ${commandLine} scenarios ${remedy}`] : []),
    `As a picture, with every message and clock: ${commandLine} showcase --out showcase.html`,
  ];
}
