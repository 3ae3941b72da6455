import { writeFileSync } from "node:fs";
import { mutatedClient } from "./mutants/mutated-client.ts";
import { promisedPlan } from "./plan/swarm.ts";
import { simulate } from "./run/simulate.ts";
Error.stackTraceLimit = 0;
const subject = await mutatedClient({ name: "grain", edits: [{ file: "clock.ts", line: "this.#elapsed += leapt ? byWall + wallGrain : byMonotonic;", instead: "this.#elapsed += Math.max(byMonotonic, byWall - 2);" }] });
let n = 0; const end = performance.now() + 400_000;
for (let s = 1; n < 3 && performance.now() < end; s++) {
  const plan = promisedPlan(s);
  if (!plan.faults.some(({ kind }) => kind === "suspend") || plan.settings.ttl < 300) continue;
  const o = await simulate(plan, { engine: "heap", subject, stopAt: "any" });
  if (o.verdict === "violated") { n++; console.log(s, o.violations[0]); writeFileSync(`/tmp/search/grain-${s}.json`, JSON.stringify(plan)); }
  if (s % 500 === 0) console.log("at", s);
}
