import { execFileSync, spawn } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { argumentsOf, flag, text, wholeNumber } from "../../packages/simulation/src/command-line/index.ts";
import { ownTemporaryFolder } from "../programs.ts";
import { type Failure, failuresOf, reportIn } from "../report.ts";
import { luaMutantsOf } from "./lua.ts";
import { drawn, interval, type Mutant, mutantsOf } from "./mutants.ts";
import type { Plan, TimedTest } from "./plan.ts";
import { type Judgement, judged } from "./simulated.ts";

// `pnpm mutation`: which changes of the client the tests of `pnpm test` notice. Each mutant runs with the tests that evaluate
// its place, those beside it and the short ones first, until one fails. A failure counts if it comes again.

const values = argumentsOf(
  {
    usage:
      "mutation [--count N] [--seed N] [--in PATH,...] [--runs N] [--seconds N] [--workers N] [--resume]",
    about: "which changes of the client the tests of pnpm test do not notice: 200 take an hour",
    options: {
      count: text("N", "so many mutants, drawn by --seed from those of the sources in --in; default 200"),
      seed: text("N", "default 1"),
      in: text("PATH,...", "default packages/redlock/src"),
      runs: text(
        "N",
        "that many runs of the simulator, and the cases of test/behaviours, in place of the tests; .lua too",
      ),
      seconds: text(
        "N",
        "of the tests that evaluate a mutant, those that take no longer together; default 60",
      ),
      workers: text("N", "of vitest; default 1"),
      resume: flag(
        "goes on with a run that was interrupted, or, with more --seconds or --runs, with those that survived",
      ),
    },
    exit: "1 the tests fail without a mutant",
    examples: [
      "mutation",
      "mutation --in packages/redlock/src/protocol/lease.ts --count 20",
      "mutation --runs 300 --in packages/redlock/src/protocol,packages/redlock/src/redis",
      "mutation --resume --seconds 600",
    ],
  },
  ({ values: { count = "200", seed = "1", runs = "0", seconds = "60", workers = "1", ...given } }) => ({
    count: wholeNumber("count", count),
    seed: wholeNumber("seed", seed, 0),
    runs: wholeNumber("runs", runs, 0),
    seconds: wholeNumber("seconds", seconds),
    workers: wholeNumber("workers", workers),
    in: given.in?.split(",") ?? ["packages/redlock/src"],
    resume: given.resume ?? false,
  }),
);
ownTemporaryFolder();
/** Of a test, in seconds. */
const slow = 1;
const folder = join("node_modules", ".mutation");
const paths = {
  plan: join(folder, "plan.json"),
  report: join(folder, "report.json"),
  coverage: join(folder, "coverage.jsonl"),
  results: join(folder, "results.jsonl"),
  judgements: join(folder, "judgements.jsonl"),
};

interface Result {
  readonly mutant: Mutant;
  readonly outcome: "killed" | "survived" | "evaluated by no test";
  /** The test that failed. */
  readonly by?: string;
  /** How many tests were to run, of those that evaluate the mutant. */
  readonly tests: number;
  readonly of: number;
  readonly seconds: number;
}

/** Of a run of vitest: whether all passed; which tests failed, none if it was something else. */
interface Verdict {
  readonly isGood: boolean;
  readonly failures: readonly Failure[];
  readonly otherwise: string;
}

const placeOf = ({ file, line }: Pick<TimedTest, "file" | "line">): string =>
  line === 0 ? file : `${file}:${line}`;

function linesOf(path: string): string[] {
  return existsSync(path) ? readFileSync(path, "utf8").trim().split("\n").filter(Boolean) : [];
}

/** Ends with the program, or after a silence: then all that it started in its group is killed. */
function ended(args: readonly string[], silence: number): Promise<{ code: number; isSilent: boolean }> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, MUTATION_PLAN: paths.plan, MUTATION_COVERAGE: paths.coverage };
    const child = spawn("vitest", args, { env, detached: true, stdio: ["ignore", "pipe", "ignore"] });
    let isSilent = false;
    const kill = (): boolean => process.kill(-child.pid!, "SIGKILL");
    const timer = setTimeout(() => {
      isSilent = kill();
    }, silence);
    process.once("exit", kill);
    child.stdout.on("data", () => void timer.refresh());
    child.once("close", (code, signal) => {
      clearTimeout(timer);
      process.off("exit", kill);
      if (isSilent || code !== null) resolve({ code: code ?? 1, isSilent });
      else reject(new Error(`The tests were ended by ${signal}.`));
    });
  });
}

/** No test may take longer than `limit`, ms. One that never leaves its turn is known by the silence that follows. */
async function run(plan: Plan, filters: readonly string[], limit: number): Promise<Verdict> {
  writeFileSync(paths.plan, JSON.stringify(plan));
  rmSync(paths.report, { force: true });
  const reports = ["--reporter=verbose", "--reporter=json", `--outputFile.json=${paths.report}`];
  const config = join(import.meta.dirname, "vitest.config.ts");
  const options = [`--maxWorkers=${values.workers}`, `--testTimeout=${limit}`, `--hookTimeout=${limit}`];
  // Without a mutant, all failures are to be known.
  if (plan.active !== undefined) options.push("--bail=1");
  const silence = 2 * limit;
  const { code, isSilent } = await ended(
    ["run", "--config", config, ...reports, ...options, ...filters],
    silence,
  );
  if (isSilent) return { isGood: false, failures: [], otherwise: `no test ended for ${silence / 1000} s` };
  const report = reportIn(paths.report);
  return {
    isGood: code === 0,
    failures: report ? failuresOf(report) : [],
    otherwise: "an error outside of the tests",
  };
}

interface Coverage {
  readonly tests: readonly TimedTest[];
  /** The mutants that are evaluated while no test runs: as a module is loaded, or in a hook. */
  readonly outside: readonly number[];
}

/** Which tests evaluate which mutant; those that fail without any are left out. */
async function observe(mutants: readonly Mutant[]): Promise<void> {
  rmSync(paths.coverage, { force: true });
  const { isGood, failures, otherwise } = await run({ mutants, order: [] }, [], 60_000);
  if (!isGood && failures.length === 0) throw new Error(`The tests fail without a mutant: ${otherwise}.`);
  for (const failure of failures)
    console.log(`left out, fails without a mutant: ${placeOf(failure)} ${failure.name}`);
  appendFileSync(paths.coverage, `${JSON.stringify({ failures: failures.map(placeOf) })}\n`);
}

/** Tests that begin in one line, as those of a table, and those of a file whose lines are not known, are one. */
function merged(tests: readonly TimedTest[]): TimedTest[] {
  const places = new Map<string, TimedTest>();
  for (const test of tests) {
    const { seconds, hits } = places.get(placeOf(test)) ?? { seconds: 0, hits: [] };
    const all = { seconds: seconds + test.seconds, hits: [...new Set([...hits, ...test.hits])] };
    places.set(placeOf(test), { ...test, ...all });
  }
  return [...places.values()];
}

function observed(): Coverage {
  const lines = linesOf(paths.coverage).map(
    (line) => JSON.parse(line) as Partial<Coverage & { failures: string[] }>,
  );
  const failures = new Set(lines.flatMap((line) => line.failures ?? []));
  const tests = lines.flatMap((line) => line.tests ?? []);
  return {
    tests: merged(tests).filter((test) => !failures.has(placeOf(test)) && !failures.has(test.file)),
    outside: lines.flatMap((line) => line.outside ?? []),
  };
}

/** All tests for what is evaluated only as its module is loaded: any of them may use it. */
function testsOf(
  index: number,
  mutant: Mutant,
  { tests, outside }: Coverage,
): { taken: TimedTest[]; all: number } {
  const hitting = tests.filter(({ hits }) => hits.includes(index));
  const all = hitting.length > 0 ? hitting : outside.includes(index) ? tests : [];
  const isFar = ({ file }: TimedTest): number => (dirname(file) === dirname(mutant.file) ? 0 : 1);
  const ordered = all.toSorted((a, b) => isFar(a) - isFar(b) || a.seconds - b.seconds);
  let seconds = 0;
  const taken = ordered.filter((test) => {
    seconds += test.seconds;
    return seconds <= values.seconds;
  });
  return { taken, all: all.length };
}

/** A failure that does not come again is none: what failed is left out, and the others run once more. */
async function failureOf(
  active: number,
  mutants: readonly Mutant[],
  tests: readonly TimedTest[],
): Promise<string | undefined> {
  if (tests.length === 0) return undefined;
  const slowest = Math.max(...tests.map(({ seconds }) => seconds));
  const limit = Math.round((20 + 5 * slowest) * 1000);
  const order = [...new Set(tests.map(({ file }) => file))];
  const places = [...new Set(tests.map(placeOf))];
  const first = await run({ mutants, active, order }, places, limit);
  if (first.isGood) return undefined;
  const failed = first.failures.map(placeOf);
  const again = await run({ mutants, active, order }, failed.length > 0 ? failed : places, limit);
  const [failure] = again.failures;
  if (!again.isGood) return failure === undefined ? again.otherwise : `${placeOf(failure)} ${failure.name}`;
  if (failed.length === 0) return undefined;
  const files = new Set(failed);
  return failureOf(
    active,
    mutants,
    tests.filter((test) => !files.has(placeOf(test)) && !files.has(test.file)),
  );
}

const isSlow = ({ seconds }: TimedTest): boolean => seconds > slow;

/** Goes on after the tests that the mutant survived earlier. Nothing, if there are no others. */
async function resultOf(
  index: number,
  mutants: readonly Mutant[],
  coverage: Coverage,
  earlier: Result | undefined,
): Promise<Result | undefined> {
  const mutant = mutants[index]!;
  const begun = performance.now();
  const { taken, all } = testsOf(index, mutant, coverage);
  const left = taken.slice(earlier?.tests ?? 0);
  if (earlier && left.length === 0) return undefined;
  // Apart, so that a short test that hangs is not given the time of a long one.
  const failure =
    (await failureOf(
      index,
      mutants,
      left.filter((test) => !isSlow(test)),
    )) ?? (await failureOf(index, mutants, left.filter(isSlow)));
  const seconds = Math.round((performance.now() - begun) / 1000);
  const run = { mutant, tests: taken.length, of: all, seconds };
  if (failure !== undefined) return { ...run, outcome: "killed", by: failure };
  return { ...run, outcome: all === 0 ? "evaluated by no test" : "survived" };
}

function changeOf({ file, line, original, replacement }: Mutant): string {
  return `${file}:${line} ${original} -> ${replacement}`.replaceAll(/\s+/g, " ");
}

function lineOf({ mutant, outcome, by, tests, of, seconds }: Result): string {
  return `${outcome}: ${changeOf(mutant)} | ${by ?? `${tests} of ${of} tests`} | ${seconds} s`;
}

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;

function summary(results: readonly Result[]): string {
  const killed = results.filter(({ outcome }) => outcome === "killed").length;
  const uncovered = results.filter(({ outcome }) => outcome === "evaluated by no test").length;
  const [from, to] = interval(killed, results.length);
  return `${killed} of ${results.length} killed: ${percent(killed / results.length)}, interval ${percent(from)} to ${percent(to)} (Wilson, 95 %); ${uncovered} evaluated by no test`;
}

const nameOf = ({ file, start, end, replacement }: Mutant): string =>
  `${file} ${start} ${end} ${replacement}`;

async function main(): Promise<void> {
  const runs = values.runs;
  const found = execFileSync("git", ["ls-files", ...values.in], { encoding: "utf8" })
    .trim()
    .split("\n");
  const sources = found.filter(
    (file) => (runs > 0 ? /\.(ts|lua)$/ : /\.ts$/).test(file) && !/\.(test|d|generated)\.ts$/.test(file),
  );
  const all = sources.flatMap((file) =>
    (file.endsWith(".lua") ? luaMutantsOf : mutantsOf)(file, readFileSync(file, "utf8")),
  );
  const mutants = drawn(all, values.count, values.seed);
  console.log(
    `${mutants.length} of ${all.length} mutants of ${sources.length} files, drawn by seed ${values.seed}`,
  );
  mkdirSync(folder, { recursive: true });
  if (runs > 0) return await judge(mutants, runs);
  if (!values.resume) rmSync(paths.results, { force: true });
  // The last line is written when all tests have ended.
  if (!values.resume || !linesOf(paths.coverage).at(-1)?.startsWith('{"failures"')) await observe(mutants);
  const coverage = observed();
  console.log(`${coverage.tests.length} tests are observed`);
  const results = new Map(
    linesOf(paths.results).map((line) => [
      nameOf((JSON.parse(line) as Result).mutant),
      JSON.parse(line) as Result,
    ]),
  );
  for (const [index, mutant] of mutants.entries()) {
    const earlier = results.get(nameOf(mutant));
    if (earlier?.outcome === "killed") continue;
    const result = await resultOf(index, mutants, coverage, earlier);
    if (result === undefined) continue;
    results.set(nameOf(mutant), result);
    appendFileSync(paths.results, `${JSON.stringify(result)}\n`);
    console.log(lineOf(result));
  }
  const drawnResults = mutants.map((mutant) => results.get(nameOf(mutant))!);
  console.log("\nSurvivors:");
  for (const result of drawnResults) if (result.outcome !== "killed") console.log(lineOf(result));
  console.log(summary(drawnResults));
}

async function judge(mutants: readonly Mutant[], runs: number): Promise<void> {
  if (!values.resume) rmSync(paths.judgements, { force: true });
  const known = new Map(
    linesOf(paths.judgements).map((line) => {
      const result = JSON.parse(line) as Judgement;
      return [nameOf(result.mutant), result];
    }),
  );
  const left = mutants
    .map((mutant) => ({ mutant, earlier: known.get(nameOf(mutant)) }))
    .filter(({ earlier }) => earlier === undefined || (earlier.runs === undefined && earlier.of < runs));
  for await (const result of judged(left, runs, paths.judgements)) {
    known.set(nameOf(result.mutant), result);
    console.log(`${changeOf(result.mutant)} | ${result.cases ?? "no case"} | ${result.runs ?? "no run"}`);
  }
  const results = mutants.map((mutant) => known.get(nameOf(mutant))!);
  const count = (isShown: (result: Judgement) => unknown): number => results.filter(isShown).length;
  console.log(
    `${results.length} mutants: ${count(({ cases }) => cases)} shown by a case, ${count(({ runs: shown }) => shown)} by ${runs} runs, ` +
      `${count(({ cases, runs: shown }) => cases ?? shown)} by either`,
  );
}

await main();
