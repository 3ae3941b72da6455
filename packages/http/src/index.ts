export { handed, headersOfContent } from "./handed.ts";
export { type Exchange, type Key, type LockedOptions, LockedRoute } from "./locked-route.ts";
export { type Problem, problemFor } from "./problem.ts";
