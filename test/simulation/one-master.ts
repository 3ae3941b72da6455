import { startMasters } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { afterAll, beforeAll } from "vitest";

/** One real master for all tests of a file; what is returned tells its client once they run. `config`: more arguments of the server. */
export function oneMaster(config: readonly string[] = []): () => Redis {
  let masters: Awaited<ReturnType<typeof startMasters>> | undefined;
  let redis: Redis | undefined;

  beforeAll(async () => {
    masters = await startMasters(1, { config });
    // The model answers in RESP2, as scripts do.
    redis = new Redis(masters.urls[0]!, { protocol: 2 });
  }, 60_000);

  afterAll(async () => {
    redis?.disconnect();
    await masters?.stop();
  });

  return () => redis!;
}
