import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

// `pnpm mutation [--sample N] [option of Stryker...]`: which changes of the client no unit test notices. All of them take
// hours; `--sample 60` takes those within 60 windows of ten lines each, spread evenly over the rooms. The windows depend on
// the sources alone, so that the scores of two states of the tests can be compared.

const rooms = ["protocol", "waiting", "holding", "redis", "safeguards"];
const linesOfWindow = 10;

function windows(count: number): readonly string[] {
  const folders = rooms.map((room) => `packages/redlock/src/${room}`);
  const files = execFileSync("git", ["ls-files", ...folders], { encoding: "utf8" })
    .trim()
    .split("\n");
  const sources = files.filter((file) => file.endsWith(".ts") && !/\.(test|d)\.ts$/.test(file));
  const lines = sources.flatMap((file) => {
    const { length } = readFileSync(file, "utf8").trimEnd().split("\n");
    return Array.from({ length }, (_, index) => ({ file, line: index + 1 }));
  });
  return Array.from({ length: count }, (_, index) => {
    const { file, line } = lines[Math.floor(((index + 0.5) * lines.length) / count)]!;
    return `${file}:${line}-${line + linesOfWindow - 1}`;
  });
}

const [option, value, ...others] = process.argv.slice(2);
const args =
  option === "--sample" ? ["--mutate", windows(Number(value)).join(), ...others] : process.argv.slice(2);
process.exitCode =
  spawnSync("stryker", ["run", ".ci/mutation.json", ...args], { stdio: "inherit" }).status ?? 1;
