import { spawnSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { argumentsOf, flag } from "../packages/simulation/src/command-line/index.ts";
import { type Command, ended, ownTemporaryFolder } from "./programs.ts";
import { failuresOf, reportIn } from "./report.ts";
import { turns } from "./turns.ts";

// Runs the steps, goes on after a failure, and counts. A step that runs tests counts each of them, any other counts as one.
// Steps that wait for servers run beside steps that compute, which have the lower priority; what such a step prints is
// shown when it is over. All programs are on the path: `.ci/run` starts this by pnpm.

const { all = false } = argumentsOf({
  usage: "exec .ci/run [--all]",
  about: "what a change has to pass, from a clean clone; the last line counts: N passed, N failed",
  options: {
    all: flag("no group of steps waits for its turn: at a release, and before an issue is resolved"),
  },
  exit: "1 something failed",
  examples: ["exec .ci/run", "exec .ci/run --all"],
}).values;
ownTemporaryFolder();
/** Each commit takes the turn of another group, and searches other seeds. */
const commits = Number(spawnSync("git", ["rev-list", "--count", "HEAD"], { encoding: "utf8" }).stdout);
const { taken, waiting } = turns(commits, all);

let passed = 0;
let failed = 0;
/** Of vitest. */
let runs = 0;
/** Steps that could not run on this machine; repeated at the end, so that they are not overlooked. */
const untried: string[] = [];
/** Each failure with its reason; repeated at the end, where a log that was cut still shows it. */
const failures: string[] = [];

const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as {
  scripts: Readonly<Record<string, string>>;
};

/** A script of package.json. (`npx -y pnpm@12` costs six seconds of processor time before it begins.) */
function script(name: string, ...args: string[]): Command {
  return ["sh", "-c", `${scripts[name]!} "$@"`, name, ...args];
}

async function step(name: string, command: Command, isBeside = false): Promise<void> {
  if (!isBeside) console.log(`\n=== ${name}`);
  const start = Date.now();
  const { code, output } = await ended(command, !isBeside);
  const good = code === 0;
  if (good) passed += 1;
  else {
    failed += 1;
    failures.push(`the step "${name}"`);
  }
  const seconds = ((Date.now() - start) / 1000).toFixed(1);
  if (isBeside) console.log(`\n=== ${name}\n${output}`);
  console.log(`=== ${name}: ${good ? "passed" : "FAILED"} in ${seconds} s`);
}

/** A run of vitest, by the counts in its report; one that left no report failed before its first test. */
async function tests(name: string, given: Command, isBeside = false): Promise<void> {
  runs += 1;
  // By its process: one of the tests starts `.ci/run` as well.
  const results = join("node_modules", `.vitest-results-${process.pid}-${runs}.json`);
  const command = [...given, `--outputFile.json=${results}`] as const;
  await step(name, command, isBeside);
  const report = reportIn(results);
  rmSync(results, { force: true });
  if (!report) return;
  passed += report.numPassedTests;
  failed += report.numFailedTests;
  for (const { file, name: test, messages } of failuresOf(report))
    failures.push([`${file}: ${test}`, ...messages].join("\n"));
  if (report.numPendingTests > 0) untried.push(`${report.numPendingTests} tests were skipped in "${name}"`);
}

/** The contract on masters in containers, and docker-compose.redlock.yml brought up once. */
async function dockerChecks(): Promise<void> {
  const engine: Command = ["tsx", "packages/testbed/src/docker/docker-engine.ts"];
  if ((await ended([...engine, "docker", "version"], false)).code !== 0) {
    untried.push("Docker: no engine answers and none could be started");
    return;
  }
  const inImage = [...engine, "sh", ".ci/with-image"] as const;
  const contract = ["vitest", "run", "--no-file-parallelism", "test/contract/ioredis-6.test.ts"];
  const inContainers = "packages/testbed/src/docker/docker.test.ts";
  await tests("contract suite on masters in Docker", [...inImage, ...contract, inContainers], true);
  const composed = [...inImage, "sh", ".ci/with-compose", ...contract] as const;
  await tests("contract suite on docker-compose.redlock.yml", composed, true);
}

/** Without what waits for its turn. */
function vitest(...projects: string[]): Command {
  const names = projects.flatMap((project) => ["--project", project]);
  return ["env", `CI_WAITING=${waiting.join()}`, "vitest", "run", ...names];
}

async function stepsThatWait(): Promise<void> {
  const projects = taken.includes("node-redis") ? ["deep", "node-redis"] : ["deep"];
  await tests("deep tests", [...vitest(...projects), "--maxWorkers", "2"], true);
  if (taken.includes("interop"))
    await step("interop", ["pnpm", "--silent", "--dir", "test", "interop"], true);
  if (taken.includes("engines")) await otherServers();
  await dockerChecks();
}

async function otherServers(): Promise<void> {
  if (spawnSync("python3", ["-m", "pip", "--version"], { stdio: "ignore" }).status === 0)
    await step("contract and faults on other servers", script("engines", "--others"), true);
  else untried.push("servers of other versions: no python3 with pip, which gets them");
}

/** Searches, from the first seed that `pnpm test:deep` leaves out to the last one that a release searches. */
const searches = [
  { name: "the lock", seeds: 40, first: 151, last: 5000, args: [] },
  { name: "the semaphore", seeds: 12, first: 9, last: 2000, args: ["--subject", "semaphore"] },
  { name: "readers and writers", seeds: 12, first: 9, last: 2000, args: ["--subject", "read-write-lock"] },
  { name: "jobs that run once", seeds: 12, first: 9, last: 2000, args: ["--subject", "once"] },
  { name: "watched clocks", seeds: 12, first: 57, last: 2000, args: ["--watched"] },
  { name: "lists of masters that change", seeds: 12, first: 11, last: 2000, args: ["--changing"] },
];

/** It computes while all others wait: one that runs beside them makes commands to masters late. */
function inBackground(command: Command): Command {
  return process.platform === "linux" ? ["chrt", "--idle", "0", ...command] : ["nice", ...command];
}

async function stepsThatCompute(): Promise<void> {
  await step("pnpm check", inBackground(script("check")), true);
  await tests("deep tests that compute", inBackground(vitest("packages", "computing")), true);
  await step("nothing unused", inBackground(["knip"]), true);
  if (taken.includes("specification"))
    await step("specification, quick", inBackground(script("spec", "--quick")), true);
  for (const { name, seeds, first, last, args } of searches) {
    const from = first + ((commits * seeds) % (last - first - seeds));
    const range = ["--from", `${from}`, "--seeds", `${seeds}`];
    const search = inBackground(script("sim", "explore", ...range, ...args));
    await step(`simulation, ${name}, from seed ${from}`, search, true);
  }
}

const turn = `commit ${commits} takes the turn of ${taken.join(", ")};
  those that wait for theirs: ${waiting.join(", ") || "none"}`;
console.log(turn);
// Alone: its time is a promise.
await tests("pnpm test", script("test"));
await Promise.all([stepsThatWait(), stepsThatCompute()]);
// Alone: the soak holds each call to its time, and the benchmark measures.
await step("soak, 60 s", script("soak", "--minutes", "1"));
if (taken.includes("benchmark")) await step("benchmark, short", script("bench", "--short"));

console.log(turn);
for (const line of failures) console.log(`failed: ${line.slice(0, 2000)}`);
for (const line of untried) console.log(`not tried: ${line}`);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
