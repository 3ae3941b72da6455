import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";

// Runs the steps one after the other, goes on after a failure, and counts. A step that runs tests counts each of
// them, any other counts as one.

const results = join("node_modules", ".vitest-results.json");
let passed = 0;
let failed = 0;
/** Steps that could not run on this machine; repeated at the end, so that they are not overlooked. */
const untried: string[] = [];
/** Each failure with its reason; repeated at the end, where a log that was cut still shows it. */
const failures: string[] = [];

function run(command: string, args: readonly string[]): boolean {
  const { status } = spawnSync(command, args, { stdio: "inherit" });
  return status === 0;
}

function pnpm(...args: string[]): boolean {
  return run("npx", ["-y", "pnpm@12", "--silent", ...args]);
}

function step(name: string, act: () => boolean): boolean {
  console.log(`\n=== ${name}`);
  const start = Date.now();
  const good = act();
  if (good) {
    passed += 1;
  } else {
    failed += 1;
    failures.push(`the step "${name}"`);
  }
  console.log(`=== ${name}: ${good ? "passed" : "FAILED"} in ${((Date.now() - start) / 1000).toFixed(1)} s`);
  return good;
}

/** The part of vitest's report that the end of this run needs. */
interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

function failuresOf(report: Report): string[] {
  return report.testResults.flatMap(({ name, message, assertionResults }) => {
    const file = relative(process.cwd(), name);
    const failed = assertionResults.filter(({ status }) => status === "failed");
    const tests = failed.map(({ fullName, failureMessages }) => {
      return `${file}: ${fullName}\n${failureMessages.join("\n")}`;
    });
    return message === "" ? tests : [...tests, `${file}: ${message}`];
  });
}

/** A run of vitest, by the counts in its report; one that left no report failed before its first test. */
function tests(name: string, act: () => boolean): void {
  rmSync(results, { force: true });
  step(name, act);
  if (!existsSync(results)) return;
  const report = JSON.parse(readFileSync(results, "utf8")) as Report;
  passed += report.numPassedTests;
  failed += report.numFailedTests;
  failures.push(...failuresOf(report));
  if (report.numPendingTests > 0) untried.push(`${report.numPendingTests} tests were skipped in "${name}"`);
}

function explore(name: string, ...args: string[]): void {
  step(`simulation: ${name}`, () => pnpm("sim", "explore", ...args));
}

function packageChecks(): void {
  const folder = mkdtempSync(join(tmpdir(), "quorlock-pack-"));
  step("build", () => pnpm("run", "build"));
  for (const name of [
    "redlock",
    "simulation",
    "testing",
    "opentelemetry",
    "express",
    "fastify",
    "nestjs",
    "cli",
  ]) {
    const directory = join("packages", name);
    const packed = join(folder, name);
    step(`pack ${name}`, () => pnpm("--dir", directory, "pack", "--pack-destination", packed));
    const tarball = existsSync(packed)
      ? readdirSync(packed).find((file) => file.endsWith(".tgz"))
      : undefined;
    if (tarball === undefined) continue;
    step(`publint, ${name}`, () => pnpm("exec", "publint", join(packed, tarball), "--strict"));
    step(`types as published, ${name}`, () => pnpm("exec", "attw", join(packed, tarball)));
  }
  step("nothing unused", () => pnpm("exec", "knip"));
  rmSync(folder, { recursive: true, force: true });
}

/** The contract on masters in containers, and docker-compose.redlock.yml brought up once. */
function dockerChecks(): void {
  const engine = "packages/testbed/src/docker/docker-engine.ts";
  const withEngine = (...args: string[]) => pnpm("exec", "tsx", engine, ...args);
  if (!withEngine("docker", "version")) {
    untried.push("Docker: no engine answers and none could be started");
    return;
  }
  const run = ["npx", "-y", "pnpm@12", "--silent", "exec", "vitest", "run", "--no-file-parallelism"];
  const contract = [...run, "test/contract/ioredis-6.test.ts"];
  const inContainers = [
    "packages/testbed/src/docker/docker.test.ts",
    "packages/testbed/src/docker/docker-fault.test.ts",
  ];
  tests("contract suite on masters in Docker", () =>
    withEngine("sh", ".ci/with-image", ...contract, ...inContainers),
  );
  tests("contract suite on docker-compose.redlock.yml", () =>
    withEngine("sh", ".ci/with-image", "sh", ".ci/with-compose", ...contract),
  );
}

step("pnpm check", () => pnpm("check"));
tests("pnpm test", () => pnpm("test"));
tests("pnpm test:deep", () => pnpm("test:deep"));
packageChecks();
// `pnpm test:deep` runs the first 150 seeds, and 20 of each primitive.
explore("300 further seeds", "--from", "151", "--seeds", "300");
for (const subject of ["semaphore", "read-write-lock", "once"])
  explore(`100 further seeds, ${subject}`, "--from", "21", "--seeds", "100", "--subject", subject);
explore("100 seeds, watched clocks", "--seeds", "100", "--watched");
explore("100 further seeds, lists of masters that change", "--from", "21", "--seeds", "100", "--changing");
step("the same hashes on other versions of Node", () => pnpm("exec", "tsx", ".ci/node-versions.ts"));
step("specification, quick", () => pnpm("spec", "--quick"));
step("interop", () => pnpm("--dir", "test", "run", "interop"));
step("benchmark, short", () => pnpm("bench", "--short"));
step("soak, 60 s", () => pnpm("soak", "--minutes", "1"));
if (spawnSync("python3", ["-m", "pip", "--version"], { stdio: "ignore" }).status === 0)
  step("contract, queue and faults on other servers", () => pnpm("engines", "--others"));
else untried.push("servers of other versions: no python3 with pip, which gets them");
dockerChecks();

for (const line of failures) console.log(`failed: ${line.slice(0, 2000)}`);
for (const line of untried) console.log(`not tried: ${line}`);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
