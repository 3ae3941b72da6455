// A worker thread of the published program.
export { default } from "../trial-worker.ts";
