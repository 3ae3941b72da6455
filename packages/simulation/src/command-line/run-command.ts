import { asksForHelp, UsageError } from "./options.ts";

/**
 * Runs a command, and returns its exit code. `--help` prints `usage`. Bad usage is printed with it, and is exit 64. Where
 * `couldNotRun` is true of an error, its message is printed, and it is exit 2; other errors are thrown.
 */
export async function runCommand(
  args: readonly string[],
  usage: string,
  act: (args: readonly string[]) => Promise<number>,
  couldNotRun: (error: unknown) => boolean = () => false,
): Promise<number> {
  if (asksForHelp(args)) {
    console.log(usage);
    return 0;
  }
  try {
    return await act(args);
  } catch (error) {
    if (error instanceof UsageError) console.error(`${error.message}\n${usage}`);
    else if (error instanceof Error && couldNotRun(error)) console.error(error.message);
    else throw error;
    return error instanceof UsageError ? 64 : 2;
  }
}
