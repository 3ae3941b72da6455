import { startProxy } from "@quorlock/testbed";
import { sendToParent, task } from "./child.ts";

// Proxies that add latency in front of all masters. They run in a separate process, so that the client is not charged
// for them, until the process is killed.

export interface DistanceTask {
  readonly targets: ReadonlyArray<{ readonly host: string; readonly port: number }>;
  /** Added round-trip time, ms. */
  readonly latency: number;
}

export interface Listening {
  readonly kind: "listening";
  /** Addresses of the proxies, one for each target. */
  readonly urls: readonly string[];
}

const { targets, latency } = task() as DistanceTask;
const proxies = await Promise.all(targets.map((target) => startProxy(target)));
// The requests carry the whole delay; replies are not delayed.
for (const proxy of proxies) proxy.delay(latency, "requests");
const listening: Listening = { kind: "listening", urls: proxies.map(({ url }) => url) };
await sendToParent(listening);
