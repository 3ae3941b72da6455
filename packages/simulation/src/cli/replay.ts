import { flag, parse, text, UsageError } from "../command-line/options.ts";
import { verdictOn } from "../scenarios/scenario.ts";
import { subjectFrom, subjectOptions } from "./arguments.ts";
import { type Command, exitCodes } from "./command.ts";
import { readReplay } from "./files.ts";
import { fileCommand } from "./report.ts";
import { runTwice } from "./run-twice.ts";
import { writeTimeline } from "./timeline.ts";

const options = {
  trace: flag("prints every event"),
  html: text("FILE", "writes the timeline of the run as a page"),
  ...subjectOptions,
};

export const replay: Command = {
  usage: "replay FILE|LINK [--trace] [--html FILE] [--subject NAME | --mutant NAME]",
  about: "runs a saved plan, or a link to the lab, again; exit 3 if its hash differs from the saved one",
  options,
  examples: ["replay plan.json", "replay plan.json --trace --html replay.html"],
  async run(args) {
    const parsed = parse(args, options, 1);
    const [path] = parsed.positionals;
    const { html, trace } = parsed.values;
    if (path === undefined) throw new UsageError("the file or link to replay is missing");
    const file = await readReplay(path);
    const { subject, subjectName } = await subjectFrom(parsed.values, file.subject);
    const { outcome, exitCode } = await runTwice(file.plan, {
      subject,
      trace: trace === true,
      replay: fileCommand(path),
    });
    if (html !== undefined) {
      const title = file.about?.split(":")[0];
      const caption = { ...(title === undefined ? {} : { title }), command: fileCommand(path) };
      await writeTimeline(file.plan, html, { subject, ...caption });
    }
    // The saved verdict and hash hold for the saved subject only.
    const expected = subjectName === (file.subject ?? "quorlock") ? file.expected : undefined;
    const isOther = expected?.hash !== undefined && expected.hash !== outcome.hash;
    if (isOther) {
      console.log(
        `expected verdict ${expected.verdict} and hash ${expected.hash}: the client or the simulator has changed`,
      );
    }
    console.log(`seed ${file.plan.seed}`);
    console.log(`verdict ${verdictOn(outcome)}`);
    console.log(`hash ${outcome.hash}`);
    return isOther ? exitCodes["not deterministic"] : exitCode;
  },
};
