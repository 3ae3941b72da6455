import { hasShown, type Report, violationsOf } from "./report.ts";

/** The report in words; the last line sums it up. */
export function summaryOf(report: Report): string[] {
  const { notified, memoryGrowth, failures } = report;
  const lines = [
    row("grants", `${count(report.grants)}, ${count(report.hotGrants)} of them on one hot key`),
    row("faults", `${count(sum(report.faults))}: ${listed(report.faults)}`),
    row("refused requests", listed(report.refusals) || "none"),
    row("lost updates", lostOf(report)),
    row("overlaps", `${report.overlapsOfHolders} of holders, ${report.overlapsOfEffect} of writers`),
    row("writes out of order", fencingOf(report)),
    row("holders notified", notifiedOf(notified)),
    ...report.furthestCalls.map((call, index) =>
      row(index === 0 ? "closest to its time limit" : "", callOf(call)),
    ),
    row(
      "memory growth",
      memoryGrowth
        ? `heap ${mebibytes(memoryGrowth.heap)}, rss ${mebibytes(memoryGrowth.rss)}`
        : "not measured",
    ),
    ...(report.missedLeases > 0
      ? [row("leases missed", `${count(report.missedLeases)}, while their process did not run`)]
      : []),
    row("unhandled rejections", `${report.unhandledRejections}`),
    row("failures", `${failures.length}`),
    ...failures.slice(0, 20).map((failure) => `  ${failure}`),
  ];
  if (report.mode === "unsafe") lines.push(...unsafeLines(report));
  return [...lines, "", verdictOf(report)];
}

function lostOf({ lost, writes, lostUpdates }: Report): string {
  const by = lostUpdates > 0 ? `, by ${count(lostUpdates)} writes of what was not up to date` : "";
  return `${count(lost)} of ${count(writes)}${by}`;
}

/** The last line. */
function verdictOf(report: Report): string {
  const what = `${count(report.grants)} grants, ${count(sum(report.faults))} faults`;
  const replay = `seed ${report.seed}, ${Math.round(report.seconds)} s`;
  if (report.mode === "unsafe") {
    const shown = hasShown(report) ? "failures shown" : "NOTHING SHOWN";
    return `unsafe: ${what}, ${report.lost} lost updates: ${shown} (${replay})`;
  }
  const violations = violationsOf(report);
  const verdict = violations.length === 0 ? "nothing lost" : `VIOLATED: ${violations.join(", ")}`;
  return `safe: ${what}, ${report.lost} lost updates: ${verdict} (${replay})`;
}

function unsafeLines({ lostAfter, lostUpdates, stale }: Report): string[] {
  return [
    row("lost after", listed(lostAfter) || "nothing"),
    `  A resource that compares fencing tokens rejects ${stale} of these ${lostUpdates} writes: a later holder had written.`,
    "  The rest come from the later holder itself, when the stale write fell between its read and its write: a resource",
    "  that compares tokens when it is read as well rejects those stale writes too.",
  ];
}

function fencingOf({ outOfOrder, stale }: Report): string {
  return `${outOfOrder} by fencing tokens, ${stale} by the order of the grants`;
}

function notifiedOf({ count: notified, late, leastMargin, leastUntilNext }: Report["notified"]): string {
  if (leastMargin === undefined) return "none had to be";
  const next =
    leastUntilNext === undefined ? "" : `, and ${milliseconds(leastUntilNext)} before the next grant`;
  return (
    `${notified} by their signal, ${late} too late; the closest ${milliseconds(leastMargin)} ` +
    `before the masters could have given the lock away${next}`
  );
}

function callOf({ name, beyond, stoodStill }: Report["furthestCalls"][number]): string {
  const where = beyond > 0 ? `${milliseconds(beyond)} beyond` : `${milliseconds(-beyond)} within`;
  const still = stoodStill > 0 ? `, net of ${milliseconds(stoodStill)} in which its process did not run` : "";
  return `${name}: ${where} its limit${still}`;
}

function row(name: string, text: string): string {
  return `${name.padEnd(28)}${text}`;
}

function listed(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .sort(([, a], [, b]) => b - a)
    .map(([name, number]) => `${name} ${count(number)}`)
    .join(", ");
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((total, number) => total + number, 0);
}

function count(number: number): string {
  return number.toLocaleString("en-GB");
}

function milliseconds(duration: number): string {
  return `${duration.toFixed(duration < 10 ? 1 : 0)} ms`;
}

function mebibytes(size: number): string {
  return `${size >= 0 ? "+" : ""}${size.toFixed(1)} MiB`;
}
