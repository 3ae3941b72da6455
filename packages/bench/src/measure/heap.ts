import { setTimeout as pause } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

let collect: (() => void) | undefined;

/** Only where the heap is measured: everything else is timed as users run it, without a flag of V8. */
function garbageCollector(): () => void {
  if (!collect) {
    setFlagsFromString("--expose-gc");
    collect = runInNewContext("gc") as () => void;
  }
  return collect;
}

/** Bytes of the heap that are in use once the garbage is gone. */
export async function heapInUse(): Promise<number> {
  // What finalisers let go of is garbage of the next collection.
  for (let round = 0; round < 5; round += 1) {
    garbageCollector()();
    await pause(20);
  }
  return process.memoryUsage().heapUsed;
}
