import { startProxy } from "@quorlock/testbed";
import { task, tell } from "./child.ts";

// Proxies in front of all masters that take their time, in a process of their own: what they do is no cost of the
// client's. They last until the process is ended.

export interface DistanceTask {
  readonly targets: ReadonlyArray<{ readonly host: string; readonly port: number }>;
  /** How far they are: ms there and back. */
  readonly latency: number;
}

export interface Listening {
  readonly kind: "listening";
  /** Where the proxies are, one for each target. */
  readonly urls: readonly string[];
}

const { targets, latency } = task() as DistanceTask;
const proxies = await Promise.all(targets.map((target) => startProxy(target)));
// The requests wait for all of it: so nothing is late twice.
for (const proxy of proxies) proxy.delay(latency, "requests");
const listening: Listening = { kind: "listening", urls: proxies.map(({ url }) => url) };
await tell(listening);
