import { check } from "./tlc.ts";
import type { Tools } from "./tools.ts";
import { blank, type Step, type Trace } from "./trace.ts";

/** The verdict of TLC on a trace: how many of its steps are steps of the specification. */
export interface Verdict {
  readonly trace: Trace;
  readonly accepted: number;
  /** The first step that is none. */
  readonly refused: Step | undefined;
}

const module = "Recorded";
/** The most that TLC may take for one module of traces, s. */
const limit = 600;

/** Has TLC decide of all the traces at once, in one module, whether each is a behaviour of the specification. */
export async function verdictsOn(
  tools: Tools,
  traces: readonly Trace[],
  interrupted?: AbortSignal,
): Promise<readonly Verdict[]> {
  const { output } = await check(
    tools,
    { module, texts: { [module]: moduleOf(traces) }, config: configFor(traces) },
    limit,
    interrupted,
  );
  const report = /<<([\d, \n]+)>>/.exec(output)?.[1];
  if (report === undefined) throw new Error(`TLC has not said how far the traces are behaviours:\n${output}`);
  const places = report.split(",").map(Number);
  return traces.map((trace, index) => {
    const accepted = places[index]!;
    return { trace, accepted, refused: trace.steps[accepted] };
  });
}

function configFor(traces: readonly Trace[]): string {
  return [
    "SPECIFICATION TraceSpec",
    "VIEW Where",
    "CONSTANTS",
    `  Masters = {${upTo(most(traces.map(({ masters }) => masters)))}}`,
    `  Attempts = {${upTo(most(traces.map(({ attempts }) => attempts)))}}`,
    "  Clients = {0}",
    "  ClientOf <- ClientOfRun",
    "  Rounds = 0",
    "  Extending = {}",
    "  Extensions = {}",
    "  Deaf = {}",
    "  Ttls = {}",
    "  Slow = 1",
    "  Fast = 1",
    "  Rate <- RateOfRun",
    "  Runs <- RecordedRuns",
    "  Now <- EventClock",
    "  Lives <- LivesInRun",
    "  Quorum <- QuorumOfRun",
    "  Lease <- LeaseOfRun",
    "  IsFirst <- IsNamed",
    "  IsReserved <- ReservedInRun",
    "  ReservedUntil <- UntilInRun",
    "  EntryStays <- MayStay",
    "  DeleteSent <- SentInRun",
    "",
  ].join("\n");
}

function most(numbers: readonly number[]): number {
  return Math.max(1, ...numbers);
}

function upTo(count: number): string {
  return Array.from({ length: count }, (_, index) => index + 1).join(", ");
}

/** The last run only passes time, and is the longest: it reports on the others. */
function moduleOf(traces: readonly Trace[]): string {
  const length = Math.max(0, ...traces.map(({ steps }) => steps.length)) + 1;
  const pass = textOf({ ...blank, what: "passes", of: 0, words: "" });
  const runs = traces.map(
    ({ drift, steps }, index) =>
      `Run${index} == [drift |-> ${drift}, steps |-> <<${steps.map(textOf).join(",\n")}>>]`,
  );
  const last = `[drift |-> 0, steps |-> [step \\in 1..${length} |-> ${pass}]]`;
  const names = [...traces.map((_, index) => `Run${index}`), last];
  return [
    `---- MODULE ${module} ----`,
    "EXTENDS Trace",
    ...runs,
    `RecordedRuns == <<${names.join(", ")}>>`,
    "====",
    "",
  ].join("\n");
}

function textOf(step: Step): string {
  const { what, of, round, does, to, took, joins, winner, rank, until, ahead } = step;
  const numbers = [to, step.ttl, step.sent, step.client, step.quorum, step.master].join();
  const words = [took, joins].map((word) => String(word).toUpperCase());
  return `<<"${what}",${of},${round},"${does}",${numbers},${words.join()},${winner},${rank},${until},{${ahead.join()}}>>`;
}
