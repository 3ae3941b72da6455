export { interruptedCode, interruption } from "./interruption.ts";
export { suggestion } from "./nearest.ts";
export { asksForHelp, flag, type Options, optionLines, parse, text, UsageError } from "./options.ts";
export { argumentsOf, helpText, known, type Program, wholeNumber } from "./program.ts";
export { runCommand } from "./run-command.ts";
