export { Child, type ChildOptions, type Ending, type Message, sourceFlags, withMessages } from "./child.ts";
export { parentOf, type Remote, remoteOf, startProcess } from "./remote.ts";
export { runProgram } from "./run-program.ts";
export { now } from "./shared-clock.ts";
export { within } from "./within.ts";
