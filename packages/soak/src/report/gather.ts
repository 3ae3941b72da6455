import type { Crew } from "../crew/crew.ts";
import { check } from "../history/check.ts";
import type { Chronicle } from "../history/chronicle.ts";
import type { LostUpdate } from "../history/effect.ts";
import type { Nemesis, Stroke } from "../nemesis/nemesis.ts";
import type { Options } from "../options.ts";
import type { MemoryMeasured } from "../soak.ts";
import type { Store } from "../store/store.ts";
import { type Memory, unhandledRejection } from "../worker/protocol.ts";
import { countsOf, type Report } from "./report.ts";

/** What a run leaves behind. */
export interface Remains {
  readonly options: Options;
  readonly seconds: number;
  readonly chronicle: Chronicle;
  readonly store: Store;
  readonly crew: Crew;
  readonly nemesis: Nemesis;
  readonly memory: MemoryMeasured;
  readonly stuck: readonly string[];
}

/** Has the history checked, and counts the rest. */
export function gather({
  options,
  seconds,
  chronicle,
  store,
  crew,
  nemesis,
  memory,
  stuck,
}: Remains): Report {
  const findings = check(chronicle.history);
  const failures = [...crew.failures, ...nemesis.failures, ...stuck];
  return {
    mode: options.mode,
    seed: options.seed,
    seconds,
    grants: chronicle.grants,
    hotGrants: chronicle.hotGrants,
    writes: store.accepted,
    faults: countedBy(nemesis.strokes, ({ name }) => name),
    lost: store.lost,
    ...countsOf(findings),
    refusals: Object.fromEntries(crew.refusals),
    furthestCalls: [...crew.furthest.values()].sort((a, b) => b.beyond - a.beyond),
    memoryGrowth: growthOf(memory),
    lostAfter: countedBy(findings.lostUpdates, (lost) => faultBefore(lost, nemesis.strokes)),
    unhandledRejections: failures.filter((failure) => failure.startsWith(unhandledRejection)).length,
    failures,
  };
}

function countedBy<T>(items: readonly T[], nameOf: (item: T) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const item of items) {
    const name = nameOf(item);
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

function faultBefore({ by }: LostUpdate, strokes: readonly Stroke[]): string {
  return strokes.findLast(({ at }) => at < by.at)?.name ?? "no fault";
}

/** The largest growth among the workers that were measured, MiB. */
function growthOf({ before, after }: MemoryMeasured): Report["memoryGrowth"] {
  const grown = (of: keyof Memory): number =>
    Math.max(...after.map((memory, index) => memory[of] - before[index]![of])) / 2 ** 20;
  return { heap: grown("heap"), rss: grown("rss") };
}
