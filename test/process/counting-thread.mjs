import { parentPort, workerData } from "node:worker_threads";
import { register } from "tsx/esm/api";

// JavaScript, since a thread does not take over from its process how TypeScript is loaded.
register();
const { count } = await import("./counting.ts");
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port has no origin
parentPort.postMessage(await count(workerData));
