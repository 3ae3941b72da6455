import { type Masters, type MastersSource, startMasters } from "@quorlock/testbed";
import { now } from "./clock.ts";
import type { Stage } from "./stage.ts";

const sources: Record<MastersSource, string> = {
  REDLOCK_NODES: "those that REDLOCK_NODES names",
  "local-binary": "a redis-server on the PATH",
  docker: "containers",
  installed: "a redis-server that was just installed",
};

/** Finds or starts the masters and says how. The narrator's clock starts when they are up. */
export async function mastersUp(stage: Stage, count: number): Promise<Masters> {
  const { narrator } = stage;
  const began = now();
  const masters = await startMasters(count, { say: (line) => narrator.line(narrator.paint("dim", line)) });
  stage.onEnd(() => masters.stop());
  const up = now();
  const seconds = ((up - began) / 1000).toFixed(1);
  narrator.line(`masters up in ${narrator.paint("bold", `${seconds} s`)}: ${sources[masters.source]}`);
  narrator.startClock(up);
  return masters;
}
