import { runExample } from "../fixture/fixture.ts";
import * as steps from "./steps.ts";

const runbooks: Readonly<Record<string, steps.Runbook>> = {
  "rolling-restart": steps.rollingRestart,
  "rolling-restart-in-memory": steps.rollingRestartInMemory,
  "add-masters": steps.addMasters,
  "replace-master": steps.replaceMaster,
  "full-disk": steps.fullMaster,
  "wrong-clock": steps.wrongClock,
  failover: steps.failover,
  "upgrade-from-redlock-5": steps.upgradeFromRedlock5,
  sigterm: steps.sigterm,
};

/** `pnpm runbook NAME ...` runs these; without a name all. */
await runExample(async ({ narrator }) => {
  const names = process.argv.slice(2);
  const unknown = names.filter((name) => !Object.hasOwn(runbooks, name));
  if (unknown.length > 0 || names.includes("--help")) {
    narrator.line(`pnpm runbook [NAME ...], of: ${Object.keys(runbooks).join(", ")}`);
    return false;
  }
  for (const name of names.length > 0 ? names : Object.keys(runbooks)) {
    const runbook = runbooks[name]!;
    narrator.heading(`${name}: ${runbook.title}`);
    await runbook.run(narrator);
  }
  return true;
});
