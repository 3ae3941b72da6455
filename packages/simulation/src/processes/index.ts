export { Child, type ChildOptions, type Ending, type Message, withMessages } from "./child.ts";
export { runProgram } from "./run-program.ts";
export { within } from "./within.ts";
