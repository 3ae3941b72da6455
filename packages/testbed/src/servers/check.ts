import { NoMastersError } from "../masters.ts";
import { startMasters } from "./start-masters.ts";

// `pnpm test` begins with this: without a real Redis it ends here, with one line, and not after each test that needs one.

try {
  await using _ = await startMasters(1);
} catch (error) {
  if (!(error instanceof NoMastersError)) throw error;
  console.error(
    "The tests need a real Redis and none can be started here: install redis-server (7 or later) or Docker, or name servers in REDLOCK_NODES.",
  );
  console.error(error.message.split("\n").slice(1).join("\n"));
  process.exitCode = 69;
}
