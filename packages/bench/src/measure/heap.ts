import { setTimeout as pause } from "node:timers/promises";

/** Bytes of the heap that are in use once the garbage is gone. */
export async function heapInUse(): Promise<number> {
  if (!globalThis.gc) throw new Error("what is measured here needs node --expose-gc");
  // What finalisers let go of is garbage of the next collection.
  for (let round = 0; round < 5; round += 1) {
    globalThis.gc();
    await pause(20);
  }
  return process.memoryUsage().heapUsed;
}
