import { startProxy } from "@quorlock/testbed";
import { task, tell } from "../processes/program.ts";
import type { DistanceTask, Listening } from "./messages.ts";

// Proxies in front of all masters, some of which take their time, in a process of their own: what they do is no cost of
// the client's. They last until the process is ended.

const { targets, distant, latency } = task() as DistanceTask;
const proxies = await Promise.all(targets.map((target) => startProxy(target)));
// The requests wait for all of it: so nothing is late twice.
for (const proxy of proxies.slice(0, distant)) proxy.delay(latency, "requests");
const listening: Listening = { kind: "listening", urls: proxies.map(({ url }) => url) };
await tell(listening);
