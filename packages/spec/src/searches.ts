import {
  type Bounds,
  catalogue,
  configFor,
  nameOf,
  type Part,
  type Variant,
  variantsOf,
} from "./catalogue.ts";
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

/** As many at a time as keep two processors busy. */
export async function twoAtATime<T>(all: readonly T[], go: (one: T) => Promise<void>): Promise<void> {
  const waiting = [...all];
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await go(next);
  };
  await Promise.all([worker(), worker()]);
}

/** Each module within its bounds, and each variant. */
export async function searchAll(
  tools: Tools,
  parts: readonly Part[],
  { quick, say, interrupted, tally }: SearchOptions,
): Promise<void> {
  await twoAtATime(
    parts.flatMap((part) => searchesOf(part, quick)),
    async (next) => {
      const { part, bounds, variant } = next;
      const { simulate } = bounds;
      const search = { module: part.module, config: configFor(part, bounds, variant) };
      const found = await check(tools, simulate ? { ...search, simulate } : search, limit, interrupted);
      const done = { ...next, found };
      tally.done.push(done);
      if (!isGood(done)) tally.failures += 1;
      say(lineOf(done));
    },
  );
  tally.done.sort((one, other) => place(one) - place(other));
  for (const part of quick ? [] : parts) {
    const never = neverTaken(part, tally.done);
    if (never.length > 0) say(`${nameOf(part.module)}: FAILED, never taken: ${never.join(", ")}`);
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

function neverTaken(part: Part, done: readonly Done[]): readonly string[] {
  // (Fault is what the assumptions exclude: variants alone have one.)
  const never = [...takenIn(part, done)].filter(([action, count]) => count === 0 && action !== "Fault");
  return never.map(([action]) => action);
}

/** The order of the catalogue. */
function place({ part, bounds, variant }: Done): number {
  return catalogue.indexOf(part) * 1000 + (variant ? 500 : part.bounds.indexOf(bounds));
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
