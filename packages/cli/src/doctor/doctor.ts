import { randomBytes } from "node:crypto";
import type { Master } from "../masters.ts";
import { counted, escaped, exitCodes, type Paint } from "../output.ts";
import { type Finding, findingsOf, groups, type Status } from "./checks.ts";
import { type ObserveOptions, observe } from "./observe.ts";

// `quorlock doctor`: finds mistakes in the setup of the masters.

export interface DoctorOptions extends Omit<ObserveOptions, "nonce"> {
  /** The version of this program, which its pages have as well. */
  readonly version: string;
}

export interface Report {
  readonly schemaVersion: 1;
  /** True if every check passed. */
  readonly ok: boolean;
  readonly summary: Readonly<Record<Status, number>>;
  readonly checks: readonly (Finding & { readonly url: string })[];
}

/** Asks all masters at the same time; settles within `timeout`. */
export async function diagnose(masters: readonly Master[], options: DoctorOptions): Promise<Report> {
  const { timeout, guard, version, signal } = options;
  const nonce = randomBytes(8).toString("hex");
  const seen = await Promise.all(
    // A master that is named twice has probes that do not meet.
    masters.map((master, index) => observe(master, { timeout, guard, signal, nonce: `${nonce}${index}` })),
  );
  const page = `https://www.npmjs.com/package/quorlock/v/${version}`;
  const checks = findingsOf(seen, { guard }).map(({ observed, ...finding }) => ({
    ...finding,
    // As the page's headings are linked.
    url: `${page}#${finding.id.replace(".", "")}`,
    observed,
  }));
  const summary: Record<Status, number> = { pass: 0, warn: 0, fail: 0, unknown: 0 };
  for (const { status } of checks) summary[status] += 1;
  return { schemaVersion: 1, ok: summary.pass === checks.length, summary, checks };
}

export function exitCodeOf({ ok, summary }: Report): number {
  if (ok) return exitCodes.ok;
  return summary.warn + summary.fail > 0 ? exitCodes.findings : exitCodes.unknown;
}

const signs = {
  pass: ["green", "✓"],
  warn: ["yellow", "!"],
  fail: ["red", "✗"],
  unknown: ["magenta", "?"],
} as const;

/** For people: a line for each check that found nothing, and three for each finding. */
export function textReport({ checks, summary }: Report, paint: Paint): string {
  const reached = checks.filter(({ id }) => id === "usable.reachable");
  const gone = reached.filter(({ status }) => status === "fail").map(({ master }) => master);
  // Checks that an unreachable master leaves open are not listed.
  const told = checks.filter(({ status, master }) => status !== "unknown" || !gone.includes(master));
  const lines = Object.keys(groups).flatMap((group) => {
    const title = paint("bold", group[0]!.toUpperCase() + group.slice(1));
    const own = told.filter(({ id }) => id.startsWith(`${group}.`) && id !== "usable.settings");
    const ids = [...new Set(own.map(({ id }) => id))];
    const results = ids.flatMap((id) =>
      resultLines(
        own.filter((check) => check.id === id),
        paint,
      ),
    );
    return results.length === 0 ? [] : ["", title, ...results];
  });
  const settings = checks.find(({ id }) => id === "usable.settings")!;
  const counts = Object.entries(summary).map(([status, count]) => `${count} ${status}`);
  return [
    paint("bold", `quorlock doctor: ${counted(reached.length, "master")}`),
    ...lines,
    "",
    `Settings for these masters: ${settings.message}`,
    counts.join(", "),
  ].join("\n");
}

/** The results of one check. */
function resultLines(checks: Report["checks"], paint: Paint): readonly string[] {
  const sign = (status: Status): string => paint(signs[status][0], signs[status][1]);
  const name = checks[0]!.id.split(".")[1]!;
  const findings = checks.filter(({ status }) => status !== "pass");
  if (findings.length === 0) return [`  ${sign("pass")} ${name}`];
  return findings.flatMap(({ status, master, message, remedy, url }) => [
    `  ${sign(status)} ${name}: ${escaped(master === null ? message : `${master}: ${message}`)}`,
    `      ${escaped(remedy ?? "")}`,
    `      ${paint("dim", url)}`,
  ]);
}
