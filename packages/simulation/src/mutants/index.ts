export { operationsIn } from "../master/twins/batch.ts";
export { twinScripts } from "../master/twins/script-twins.ts";
export { type Hunt, hunts } from "./every-mutant.ts";
export type { Mutant } from "./mutant.ts";
export { mutatedClient } from "./mutated-client.ts";
