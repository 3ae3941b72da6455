import { type Bounds, configFor, nameOf, type Part, type Variant, variantsOf } from "./catalogue.ts";
import type { Judged } from "./edits.ts";
import { check, type Found } from "./tlc.ts";
import type { Tools } from "./tools.ts";

/** A search that is over. */
export interface Done {
  readonly part: Part;
  readonly bounds: Bounds;
  /** The fault that it was for; `undefined` for the module as it is. */
  readonly variant: Variant | undefined;
  readonly found: Found;
}

export interface Tally {
  /** In the order of the catalogue, whichever ends first. */
  readonly done: Done[];
  readonly judged: Judged[];
  failures: number;
}

export interface SearchOptions {
  readonly quick: boolean;
  readonly say: (line: string) => void;
  readonly interrupted: AbortSignal;
  readonly tally: Tally;
}

/** The most that one search may take, s. */
const limit = 900;

/** What takes one processor. */
export interface Task {
  readonly isLong: boolean;
  readonly run: () => Promise<void>;
}

/** As many at a time as keep two processors busy, to the end: the long ones begin first. None begins after one has failed. */
export async function twoAtATime(tasks: readonly Task[]): Promise<void> {
  const waiting = tasks.toSorted((one, other) => Number(other.isLong) - Number(one.isLong));
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) await next.run();
  };
  await Promise.all([worker(), worker()]).finally(() => waiting.splice(0));
}

/** Each module within its bounds, and each variant. */
export function searchesIn(
  tools: Tools,
  parts: readonly Part[],
  { quick, say, interrupted, tally }: SearchOptions,
): readonly Task[] {
  const searches = parts.flatMap((part) => searchesOf(part, quick));
  return searches.map((next, index) => {
    const { part, bounds, variant } = next;
    const { simulate, edits, isLong = false } = bounds;
    const how = { isLong, isCounted: edits !== undefined && !isLong, ...(simulate && { simulate }) };
    const search = { module: part.module, config: configFor(part, bounds, variant), ...how };
    const run = async (): Promise<void> => {
      const found = await check(tools, search, limit, interrupted);
      const done = { ...next, found };
      tally.done[index] = done;
      if (!isGood(done)) tally.failures += 1;
      say(lineOf(done));
    };
    return { isLong, run };
  });
}

/** It is a failure if an action of a module is taken within none of its bounds. */
export function judgeActions(parts: readonly Part[], { say, tally }: SearchOptions): void {
  for (const part of parts) {
    // (Fault is what the assumptions exclude: variants alone have one.)
    const never = [...takenIn(part, tally.done)].filter(([name, count]) => count === 0 && name !== "Fault");
    for (const [name] of never) say(`${nameOf(part.module)}: FAILED, never taken: ${name}`);
    tally.failures += never.length;
  }
}

/** How often each action of a module was taken within all its bounds. */
export function takenIn(part: Part, done: readonly Done[]): ReadonlyMap<string, number> {
  const taken = new Map<string, number>();
  for (const { part: its, variant, found } of done)
    if (its === part && !variant)
      for (const [action, count] of found.taken) taken.set(action, (taken.get(action) ?? 0) + count);
  return taken;
}

function searchesOf(part: Part, quick: boolean): Omit<Done, "found">[] {
  const own = part.bounds.filter(({ level }) => level === "quick" || (level === "full" && !quick));
  const variants = quick ? [] : variantsOf(part);
  return [
    ...own.map((bounds) => ({ part, bounds, variant: undefined })),
    ...variants.map((variant) => ({ part, bounds: variant.bounds, variant })),
  ];
}

/** The module holds, or its variant is refuted. */
function isGood({ variant, found }: Done): boolean {
  return (found.verdict === "holds") === (variant === undefined);
}

function lineOf(done: Done): string {
  const { part, bounds, variant, found } = done;
  const { verdict, states, depth, seconds } = found;
  const name = nameOf(part.module);
  const figures = `${states} states, depth ${depth}, ${seconds.toFixed(1)} s`;
  const how = bounds.simulate ? ` (random behaviours, seed ${bounds.simulate.seed})` : "";
  if (variant) {
    const outcome = isGood(done) ? `refuted, ${verdict}` : "FAILED, not refuted";
    return `${name}, ${variant.breaks.join(", ")} "${variant.name}": ${outcome}: ${figures}`;
  }
  const outcome = isGood(done)
    ? "holds"
    : `FAILED, ${verdict} is violated\n${found.output.slice(found.output.indexOf("Error:"))}`;
  return `${name}, ${bounds.name}${how}: ${outcome}: ${figures}`;
}
