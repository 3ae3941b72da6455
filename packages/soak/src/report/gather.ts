import { check } from "../history/check.ts";
import type { LostUpdate } from "../history/effect.ts";
import type { Recorder } from "../history/recorder.ts";
import { isRefusal } from "../nemesis/inject.ts";
import type { Injection, Nemesis } from "../nemesis/nemesis.ts";
import type { Options } from "../options.ts";
import type { Store } from "../store/store.ts";
import { nodeTimeout, reconnection } from "../terms.ts";
import { type Memory, unhandledRejection } from "../worker/protocol.ts";
import type { Unreachable, Workers } from "../workers/workers.ts";
import { countsOf, type Report } from "./report.ts";

export interface MemoryMeasured {
  readonly before: readonly Memory[];
  readonly after: readonly Memory[];
}

/** The results of a run. */
export interface Remains {
  readonly options: Options;
  readonly seconds: number;
  readonly recorder: Recorder;
  readonly store: Store;
  readonly workers: Workers;
  readonly nemesis: Nemesis;
  /** Missing if the run was interrupted. */
  readonly memory?: MemoryMeasured;
  readonly stuck: readonly string[];
}

/** Checks the history, and adds the counts. */
export function gather({
  options,
  seconds,
  recorder,
  store,
  workers,
  nemesis,
  memory,
  stuck,
}: Remains): Report {
  const findings = check(recorder.history);
  const leases = Object.entries(countedBy(workers.lostLeases, (why) => why.replace(/"[^"]*"/, "..."))).map(
    ([why, count]) => `${count} leases were lost: ${why}`,
  );
  const unreachable = withoutReason(workers.unreachable, nemesis.injections);
  const failures = [...leases, ...unreachable, ...workers.failures, ...nemesis.failures, ...stuck];
  return {
    mode: options.mode,
    seed: options.seed,
    seconds,
    grants: recorder.grants,
    hotGrants: recorder.hotGrants,
    writes: store.accepted,
    faults: countedBy(nemesis.injections, ({ name }) => name),
    lost: store.lost,
    ...countsOf(findings),
    missedLeases: workers.missedLeases,
    refusals: Object.fromEntries(workers.refusals),
    furthestCalls: [...workers.furthest.values()].sort((a, b) => b.beyond - a.beyond),
    memoryGrowth: memory && growthOf(memory),
    lostAfter: countedBy(findings.lostUpdates, (lost) => faultBefore(lost, nemesis.injections)),
    unhandledRejections: failures.filter((failure) => failure.startsWith(unhandledRejection)).length,
    failures,
  };
}

/** Reports of unreachable masters that neither a fault nor a stall of the worker explains. */
export function withoutReason(reports: readonly Unreachable[], injections: readonly Injection[]): string[] {
  // A process that has not run for so long may have closed its connections: it has heard nothing.
  const whoRan = reports.filter(({ stoodStill }) => stoodStill < nodeTimeout);
  const falsely = whoRan.filter((one) => !injections.some((injection) => isReason(injection, one)));
  const spells = new Map<string, { times: number; from: number; to: number; why: string }>();
  for (const one of falsely) {
    const latest = injections.findLast((injection) => injection.until < one.at && isAbout(injection, one));
    const after = latest ? Math.round(one.at - latest.until) : Number.POSITIVE_INFINITY;
    const name = latest ? ` after the end of ${latest.name} at ${Math.round(latest.at)}` : "";
    const line = `master ${one.master} was reported as unreachable by w${one.worker + 1}${name}`;
    const spell = spells.get(line) ?? { times: 0, from: after, to: after, why: one.why };
    spells.set(line, { ...spell, times: spell.times + one.times, to: after });
  }
  return [...spells].map(
    ([line, { times, from, to, why }]) => `${line}, ${from} to ${to} ms: ${times} times: ${why}`,
  );
}

function isReason(injection: Injection, one: Unreachable): boolean {
  return isAbout(injection, one) && one.at >= injection.at && one.at <= injection.until + reconnection;
}

/** Whether the fault concerned that worker, and that master or all of them. */
function isAbout({ fault }: Injection, { worker, master }: Unreachable): boolean {
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

function faultBefore({ by }: LostUpdate, injections: readonly Injection[]): string {
  return injections.findLast(({ at }) => at < by.at)?.name ?? "no fault";
}

/** The largest growth among the workers that were measured, MiB. */
function growthOf({ before, after }: MemoryMeasured): NonNullable<Report["memoryGrowth"]> {
  const grown = (of: keyof Memory): number =>
    Math.max(...after.map((memory, index) => memory[of] - before[index]![of])) / 2 ** 20;
  return { heap: grown("heap"), rss: grown("rss") };
}
