import { spawnSync } from "node:child_process";

// Runs tests that have to do with time and faults twenty times in a row: one that fails now and then fails here.
// Usage: tsx .ci/twenty-times.ts [path...], default test/faults. The last line counts.

const times = 20;
const given = process.argv.slice(2);
const paths = given.length > 0 ? given : ["test/faults"];
let passed = 0;
for (let run = 1; run <= times; run += 1) {
  const began = performance.now();
  const vitest = ["-y", "pnpm@12", "--silent", "exec", "vitest", "run", "--reporter=dot", ...paths];
  const { status, stdout, stderr } = spawnSync("npx", vitest, { encoding: "utf8" });
  if (status === 0) passed += 1;
  else console.log(`${stdout}\n${stderr}`);
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  console.log(`run ${run} of ${times}: ${status === 0 ? "passed" : "FAILED"} in ${seconds} s`);
}
console.log(`${passed} of ${times} runs of ${paths.join(", ")} passed`);
process.exitCode = passed === times ? 0 : 1;
