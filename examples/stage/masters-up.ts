import { type Masters, type MastersSource, startMasters } from "@quorlock/testbed";
import { now } from "./clock.ts";
import type { Stage } from "./stage.ts";

const sources: Record<MastersSource, string> = {
  REDLOCK_NODES: "those that REDLOCK_NODES names",
  "local-binary": "a redis-server on the PATH",
  docker: "containers",
  installed: "a redis-server that was just installed",
  embedded: "embedded masters: a model of Redis in this process",
};

/**
 * Finds or starts the masters and says how. An example is to be seen everywhere, so it takes a model of Redis where
 * there is no server to be had. The narrator's clock starts when they are up.
 */
export async function mastersUp(stage: Stage, count: number): Promise<Masters> {
  const { narrator } = stage;
  const began = now();
  const masters = await startMasters(count, {
    lastResort: "embedded",
    say: (line) => narrator.line(narrator.paint("dim", line)),
  });
  stage.onEnd(() => masters.stop());
  const up = now();
  const seconds = ((up - began) / 1000).toFixed(1);
  const why = masters.source === "embedded" ? `, since ${whyNotReal()}` : "";
  narrator.line(`masters up in ${narrator.paint("bold", `${seconds} s`)}: ${sources[masters.source]}${why}`);
  narrator.startClock(up);
  return masters;
}

function whyNotReal(): string {
  const { REDLOCK_SOURCE } = process.env;
  return REDLOCK_SOURCE === "embedded"
    ? "REDLOCK_SOURCE asks for them"
    : "no server is to be had on this machine";
}
