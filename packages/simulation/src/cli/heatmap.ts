import { type DriftGrid, measureDrift } from "../pictures/drift-grid.ts";
import { heatMap, heatMapPage } from "../pictures/heat-map.ts";
import { parse, text, UsageError, wholeNumber } from "./arguments.ts";
import { type Command, exitCodes } from "./command.ts";
import { writeText } from "./files.ts";
import { Progress } from "./progress.ts";

const options = { drift: text, ttl: text, seeds: text, "drift-factor": text, out: text };

export const heatmap: Command = {
  usage:
    "heatmap --out FILE.svg|FILE.html [--drift 0.1,0.5,1,2,5,10] [--ttl 100,1000,10000] [--seeds 20] [--drift-factor 0.01]",
  purpose: "how often the lock is violated when the rates of clocks are so many per cent apart, by ttl (ms)",
  async run(args) {
    const { values } = parse(args, options);
    const { drift = "0.1,0.5,1,2,5,10", ttl = "100,1000,10000", seeds = "20", out } = values;
    const grid: DriftGrid = {
      // A clock at -100 % would stand still.
      drifts: numbers("drift", String(drift), { above: 0, below: 100, unit: "per cent" }),
      ttls: numbers("ttl", String(ttl), { above: 9, below: 100_001, unit: "whole ms" }),
      seeds: wholeNumber("seeds", seeds, 1),
      driftFactor: numbers("drift-factor", String(values["drift-factor"] ?? "0.01"), {
        above: 0,
        below: 1,
        unit: "a share of the ttl",
      })[0]!,
    };
    const draw = drawingFor(out);
    const command =
      `pnpm sim heatmap --drift ${grid.drifts.join(",")} --ttl ${grid.ttls.join(",")} --seeds ${grid.seeds}` +
      `${grid.driftFactor === 0.01 ? "" : ` --drift-factor ${grid.driftFactor}`} --out ${String(out)}`;
    const progress = new Progress(grid.drifts.length * grid.ttls.length * grid.seeds, "runs");
    let done = 0;
    const cells = await measureDrift(grid, () => {
      done += 1;
      progress.reach(done);
    });
    progress.clear();
    await writeText(String(out), draw(grid, cells, command));
    for (const { ttl: its, drift: apart, violated, runs, leastMargin } of cells)
      console.log(
        `ttl ${its} ms, ${apart} % apart: ${violated} of ${runs} violated, least margin ${leastMargin.toFixed(3)} ms`,
      );
    return exitCodes.ok;
  },
};

function drawingFor(out: string | boolean | undefined): typeof heatMap {
  if (out === undefined) throw new UsageError("--out is missing");
  if (String(out).endsWith(".svg")) return heatMap;
  if (String(out).endsWith(".html")) return heatMapPage;
  throw new UsageError(`--out must end in .svg or .html, but is ${String(out)}`);
}

interface Range {
  readonly above: number;
  readonly below: number;
  readonly unit: string;
}

/** More columns or rows than this cannot be read. */
const mostNumbers = 12;

/** A list with commas, in rising order. @throws UsageError for what is none, or not within the range. */
function numbers(name: string, given: string, { above, below, unit }: Range): readonly number[] {
  const list = given.split(",").map((item) => {
    const number = Number(item);
    const isWhole = unit !== "whole ms" || Number.isSafeInteger(number);
    if (item.trim() !== "" && number > above && number < below && isWhole) return number;
    throw new UsageError(`--${name} must be ${unit}, above ${above} and below ${below}, but is "${item}"`);
  });
  if (list.length > mostNumbers) throw new UsageError(`--${name} takes ${mostNumbers} numbers at most`);
  return [...new Set(list)].sort((left, right) => left - right);
}
