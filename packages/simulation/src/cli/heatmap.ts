import { until } from "../command-line/interruption.ts";
import { parse, text, UsageError } from "../command-line/options.ts";
import { wholeNumber } from "../command-line/program.ts";
import { type DriftCell, type DriftGrid, measureDrift } from "../pictures/drift-grid.ts";
import { heatMap } from "../pictures/heat-map.ts";
import { type Command, exitCodes, neverInterrupted } from "./command.ts";
import { program } from "./edition.ts";
import { writeText } from "./files.ts";
import { Progress } from "./progress.ts";

const options = {
  out: text("FILE", "the picture to write, an .svg"),
  drift: text("LIST", "differences between the rates of any two clocks, per cent; default 0.1,0.5,1,2,5,10"),
  ttl: text("LIST", "TTLs of the locks, ms; default 100,1000,10000"),
  seeds: text("N", "runs of each cell; default 20"),
  "drift-factor": text("SHARE", "drift that the client allows for, as a share of the TTL; default 0.01"),
};

export const heatmap: Command = {
  usage:
    "heatmap --out FILE.svg [--drift 0.1,0.5,1,2,5,10] [--ttl 100,1000,10000] [--seeds 20] [--drift-factor 0.01]",
  about: "draws how often two clients hold the lock at once, by clock drift (per cent) and TTL (ms)",
  options,
  examples: ["heatmap --out heatmap.svg", "heatmap --out heatmap.svg --drift 1,5 --ttl 1000 --seeds 5"],
  isInterruptible: true,
  async run(args, interrupted = neverInterrupted) {
    const { values } = parse(args, options);
    const { drift = "0.1,0.5,1,2,5,10", ttl = "100,1000,10000", seeds = "20", out } = values;
    const grid: DriftGrid = {
      // A clock at -100 % would stand still.
      drifts: numbers("drift", drift, { above: 0, below: 100, unit: "per cent" }),
      ttls: numbers("ttl", ttl, { above: 9, below: 100_001, unit: "whole ms" }),
      seeds: wholeNumber("seeds", seeds),
      driftFactor: numbers("drift-factor", values["drift-factor"] ?? "0.01", {
        above: 0,
        below: 1,
        unit: "a share of the ttl",
        most: 1,
      })[0]!,
    };
    if (out === undefined) throw new UsageError("--out is missing");
    if (!out.endsWith(".svg")) throw new UsageError(`--out must end in .svg, but is ${out}`);
    const command =
      `${program} heatmap --drift ${grid.drifts.join(",")} --ttl ${grid.ttls.join(",")} --seeds ${grid.seeds}` +
      `${grid.driftFactor === 0.01 ? "" : ` --drift-factor ${grid.driftFactor}`} --out ${out}`;
    const progress = new Progress(grid.drifts.length * grid.ttls.length * grid.seeds, "runs");
    let done = 0;
    const cells: DriftCell[] = [];
    for await (const cell of until(interrupted, measureDrift(grid))) {
      if (cell) cells.push(cell);
      else done += 1;
      progress.reach(done);
    }
    progress.clear();
    const total = grid.drifts.length * grid.ttls.length;
    if (interrupted.aborted)
      console.log(`interrupted after ${cells.length} of ${total} cells: no picture is written`);
    else await writeText(out, heatMap(grid, cells, command));
    for (const { ttl: its, drift: apart, violated, runs, leastMargin } of cells)
      console.log(
        `ttl ${its} ms, ${apart} % apart: ${violated} of ${runs} violated, least margin ${leastMargin.toFixed(3)} ms`,
      );
    return exitCodes.ok;
  },
};

interface Range {
  readonly above: number;
  readonly below: number;
  readonly unit: string;
  /** More columns or rows than the default cannot be read. */
  readonly most?: number;
}

/** A list with commas, in rising order. @throws UsageError for what is none, or not within the range. */
function numbers(name: string, given: string, { above, below, unit, most = 12 }: Range): readonly number[] {
  const list = given.split(",").map((item) => {
    const number = Number(item);
    const isWhole = unit !== "whole ms" || Number.isSafeInteger(number);
    if (item.trim() !== "" && number > above && number < below && isWhole) return number;
    throw new UsageError(`--${name} must be ${unit}, above ${above} and below ${below}, but is "${item}"`);
  });
  if (list.length > most) throw new UsageError(`--${name} takes at most ${most}, but has ${list.length}`);
  return [...new Set(list)].sort((left, right) => left - right);
}
