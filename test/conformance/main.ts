import { spawnSync } from "node:child_process";
import { comparePeers, optionsIn } from "./libraries/peers.ts";
import { repositoryRoot } from "./processes/child.ts";

// `pnpm conformance`: this client is held to every case. `pnpm conformance --peers [--rows 1,2,3] [library...]`:
// the same cases against the peers as well, as a table; some five minutes.
const args = process.argv.slice(2);
const at = args.indexOf("--peers");
if (at < 0) {
  const vitest = ["node_modules/vitest/vitest.mjs", "run", "--project", "conformance", ...args];
  const { status } = spawnSync(process.execPath, vitest, { cwd: repositoryRoot, stdio: "inherit" });
  process.exitCode = status ?? 1;
} else {
  args.splice(at, 1);
  await comparePeers(optionsIn(args));
}
