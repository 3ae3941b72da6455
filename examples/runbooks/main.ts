import { argumentsOf } from "@quorlock/simulation/command-line";
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

const { positionals: names } = argumentsOf({
  usage: "runbook [NAME...]",
  about: "runs operations on real masters, while clients lock; without a name all",
  names: { what: "runbook", known: Object.keys(runbooks) },
  exit: "1 a runbook failed",
  examples: ["runbook", "runbook rolling-restart failover"],
});

await runExample(async ({ narrator }) => {
  for (const name of names.length > 0 ? names : Object.keys(runbooks)) {
    const runbook = runbooks[name]!;
    narrator.heading(`${name}: ${runbook.title}`);
    await runbook.run(narrator);
  }
  return true;
});
