import { argumentsOf } from "../packages/simulation/src/command-line/index.ts";
import { ended, ownTemporaryFolder } from "./programs.ts";

const { positionals } = argumentsOf({
  usage: "exec tsx .ci/twenty-times.ts [PATH...]",
  about: "runs tests twenty times in a row: one that fails now and then fails here. The last line counts",
  positionals: Number.POSITIVE_INFINITY,
  exit: "1 a run failed",
  examples: ["exec tsx .ci/twenty-times.ts", "exec tsx .ci/twenty-times.ts test/faults test/hostile"],
});
const times = 20;
const paths = positionals.length > 0 ? positionals : ["test/faults"];
ownTemporaryFolder();
console.log(`runs ${paths.join(", ")} ${times} times`);
let passed = 0;
for (let run = 1; run <= times; run += 1) {
  const began = performance.now();
  const { code, output } = await ended(["vitest", "run", "--reporter=dot", ...paths], false);
  if (code === 0) passed += 1;
  else console.log(output);
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  console.log(`run ${run} of ${times}: ${code === 0 ? "passed" : "FAILED"} in ${seconds} s`);
}
console.log(`${passed} of ${times} runs of ${paths.join(", ")} passed`);
process.exitCode = passed === times ? 0 : 1;
