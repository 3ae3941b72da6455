import { Redlock } from "@quorlock/redlock";
import { startMasters } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { expect, test } from "vitest";
import { register } from "./register.ts";
import { startScraped } from "./scraped.ts";

test("exporter-prometheus exports the metrics in seconds, with buckets that suit locks", async () => {
  await using masters = await startMasters(3, { say: () => {} });
  await using scraped = await startScraped();
  const redlock = new Redlock(masters.urls.map((url) => new Redis(url).on("error", () => {})));
  await redlock.ready();
  const stop = register({ meterProvider: scraped.meterProvider, tracerProvider: false });
  try {
    const lock = await redlock.acquire("r", 20_000);
    await lock.extend(20_000);
    const held = await scraped.scrape();
    await lock.release();
    await redlock.quit();
    const text = await scraped.scrape();
    const [master] = masters.list;
    const vote = `{server_address="${master!.host}",server_port="${master!.port}",quorlock_operation="vote"`;
    expect(held).toMatch(/^quorlock_client_locks\{[^}]*\} 1$/m);
    expect(text).toMatch(/^quorlock_client_locks\{[^}]*\} 0$/m);
    expect(text).toMatch(/^quorlock_client_waiters\{[^}]*\} 0$/m);
    expect(text).toMatch(/^quorlock_client_acquire_duration_bucket\{outcome="acquired",[^}]*le="300"\} 1$/m);
    expect(text).toMatch(/^quorlock_client_hold_duration_bucket\{outcome="released",[^}]*le="3600"\} 1$/m);
    expect(text).toMatch(/^quorlock_client_renewal_margin_bucket\{[^}]*le="10"\} 0$/m);
    expect(text).toMatch(/^quorlock_client_renewal_margin_bucket\{[^}]*le="20"\} 1$/m);
    expect(text).toContain(`quorlock_master_request_duration_count${vote}`);
  } finally {
    stop();
  }
});
