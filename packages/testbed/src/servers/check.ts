import { NoMastersError } from "../masters.ts";
import { startMasters } from "./start-masters.ts";

// `pnpm test` begins with this: without a real Redis it ends here, with one line, and not after each test that needs one. It
// loads no library before it needs it, so that it ends soon.

const needed =
  "The tests need a real Redis and none can be started here: install redis-server (7 or later) or Docker, or name servers in REDLOCK_NODES";

function say(line: string): void {
  if (!line.startsWith("testbed: skipping")) console.error(line);
}

try {
  await using _ = await startMasters(1, { say });
} catch (error) {
  if (!(error instanceof NoMastersError)) throw error;
  const [, ...reasons] = error.message.split("\n- ");
  console.error(`${needed} (${reasons.join("; ")}).`);
  process.exitCode = 69;
}
