import { Child, type ChildOptions, type Ending } from "./child.ts";

/** Runs a program of this repository to its end. Ctrl-C is sent to it once its output matches `interruptAt`. */
export function runProgram(
  file: URL | string,
  args: readonly string[] = [],
  { interruptAt, ...options }: ChildOptions & { readonly interruptAt?: RegExp | undefined } = {},
): Promise<Ending> {
  const child = Child.node(file, args, options);
  if (interruptAt)
    child.printed(interruptAt).then(
      () => child.process.kill("SIGINT"),
      () => {},
    );
  return child.ended;
}
