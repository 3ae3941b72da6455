// The differences between the simulator of this repository and the one that is published: published/edition.ts has
// the same names.

export { mutantNames, subjectNamed, subjectNames } from "../peers/subject-named.ts";
export { bundledThread as thread } from "./bundled-thread.ts";
export { viewer } from "./viewer.ts";

/** The name that it is called by in a sentence. */
export const program = "pnpm sim";
/** The words to type. */
export const commandLine = "npx -y pnpm@12 sim";
/** The subjects that have no fixed name. */
export const otherSubjects = "a mutant of packages/simulation/src/mutants by its name";
/** Whether scenarios can be played beside another library. */
export const hasScenarios = true;
