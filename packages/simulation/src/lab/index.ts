// The parts that a page needs to run a plan and to show it: the lab of packages/site. It runs in browsers.

export { loading } from "../peers/redlock-5-module.ts";
export { redlock5Of } from "../peers/redlock-5-subject.ts";
export type { Picture } from "../pictures/picture.ts";
export { pictureOf } from "../pictures/picture-of.ts";
export { record } from "../pictures/recording.ts";
export { stage } from "../pictures/stage.ts";
export type { Plan } from "../plan/plan.ts";
export type { Subject } from "../run/subject.ts";
export { verdictOn } from "../scenarios/scenario.ts";
export { scenarios } from "../scenarios/scenarios.ts";
export {
  type Action,
  actions,
  faultOf,
  type Knobs,
  knobsOf,
  type Process,
  ranges,
  turned,
  withFault,
} from "./changes.ts";
export { hashOf, type LabState, planOf, replayFileOf, stateOf } from "./link.ts";
export { type Story, stories } from "./stories.ts";
export { type WaitsOfRun, waitsIn } from "./waits.ts";
