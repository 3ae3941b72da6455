import type { Crew, Unreachable } from "../crew/crew.ts";
import { check } from "../history/check.ts";
import type { Chronicle } from "../history/chronicle.ts";
import type { LostUpdate } from "../history/effect.ts";
import type { Nemesis, Stroke } from "../nemesis/nemesis.ts";
import { isRefusal } from "../nemesis/strike.ts";
import type { Options } from "../options.ts";
import type { Store } from "../store/store.ts";
import { type Memory, unhandledRejection } from "../worker/protocol.ts";
import { countsOf, type Report } from "./report.ts";

export interface MemoryMeasured {
  readonly before: readonly Memory[];
  readonly after: readonly Memory[];
}

/** The results of a run. */
export interface Remains {
  readonly options: Options;
  readonly seconds: number;
  readonly chronicle: Chronicle;
  readonly store: Store;
  readonly crew: Crew;
  readonly nemesis: Nemesis;
  /** Missing if the run was interrupted. */
  readonly memory?: MemoryMeasured;
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
  const leases = Object.entries(countedBy(crew.lostLeases, (why) => why.replace(/"[^"]*"/, "..."))).map(
    ([why, count]) => `${count} leases were lost: ${why}`,
  );
  const unreachable = withoutReason(crew.unreachable, nemesis.strokes);
  const failures = [...leases, ...unreachable, ...crew.failures, ...nemesis.failures, ...stuck];
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
    memoryGrowth: memory && growthOf(memory),
    lostAfter: countedBy(findings.lostUpdates, (lost) => faultBefore(lost, nemesis.strokes)),
    unhandledRejections: failures.filter((failure) => failure.startsWith(unhandledRejection)).length,
    failures,
  };
}

/** A master that has been struck is connected to again within this time, ms. */
const reconnection = 2000;

/** Masters that were said to be unreachable by a worker to which nothing was done, nor to them. */
function withoutReason(told: readonly Unreachable[], strokes: readonly Stroke[]): string[] {
  const falsely = told.filter((one) => !strokes.some((stroke) => isReason(stroke, one)));
  const spells = new Map<string, { times: number; from: number; to: number; why: string }>();
  for (const one of falsely) {
    const latest = strokes.findLast((stroke) => stroke.until < one.at && isAbout(stroke, one));
    const after = latest ? Math.round(one.at - latest.until) : Number.POSITIVE_INFINITY;
    const name = latest ? ` after the end of ${latest.name} at ${Math.round(latest.at)}` : "";
    const line = `master ${one.master} was said to be unreachable by w${one.worker + 1}${name}`;
    const spell = spells.get(line) ?? { times: 0, from: after, to: after, why: one.why };
    spells.set(line, { ...spell, times: spell.times + one.times, to: after });
  }
  return [...spells].map(
    ([line, { times, from, to, why }]) => `${line}, ${from} to ${to} ms: ${times} times: ${why}`,
  );
}

function isReason(stroke: Stroke, one: Unreachable): boolean {
  return isAbout(stroke, one) && one.at >= stroke.at && one.at <= stroke.until + reconnection;
}

/** Whether it was about that worker, and that master, or all of them. */
function isAbout({ fault }: Stroke, { worker, master }: Unreachable): boolean {
  // All masters of the Cluster are well, and answer.
  if (fault.name === "reshard") return false;
  if ("worker" in fault && !isRefusal(fault) && fault.worker !== worker) return false;
  if ("masters" in fault) return fault.masters.includes(master);
  return !("master" in fault) || fault.master === master;
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
function growthOf({ before, after }: MemoryMeasured): NonNullable<Report["memoryGrowth"]> {
  const grown = (of: keyof Memory): number =>
    Math.max(...after.map((memory, index) => memory[of] - before[index]![of])) / 2 ** 20;
  return { heap: grown("heap"), rss: grown("rss") };
}
