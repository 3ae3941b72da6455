import type { Redis } from "ioredis";

/**
 * Opens another connection to the same master, which emits a `monitor` event for every command that the master
 * executes.
 */
export async function startMonitoring(redis: Redis): Promise<Redis> {
  const stream = redis.duplicate({ monitor: true, lazyConnect: true });
  // ioredis reports lines before and after the monitoring itself as errors; they do not matter.
  stream.on("error", () => {});
  const monitoring = new Promise<void>((resolve) => {
    stream.once("monitoring", () => resolve());
  });
  await stream.connect();
  await monitoring;
  return stream;
}
