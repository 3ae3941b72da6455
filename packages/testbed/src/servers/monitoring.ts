import type { Redis } from "ioredis";

/** Another connection to the same master, on which it tells every command that it executes, by `monitor` events. */
export async function startMonitoring(redis: Redis): Promise<Redis> {
  const stream = redis.duplicate({ monitor: true, lazyConnect: true });
  // Lines that come before and after the monitoring proper are errors to ioredis; nobody misses them.
  stream.on("error", () => {});
  const monitoring = new Promise<void>((resolve) => {
    stream.once("monitoring", () => resolve());
  });
  await stream.connect();
  await monitoring;
  return stream;
}
