// `node --import tsx` reaches the main thread only, so a worker thread sees to it itself.
import { register } from "tsx/esm/api";

register();
export default (await import("./trial-worker.ts")).default;
