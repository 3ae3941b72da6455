import { suggestion } from "./nearest.ts";
import { type Arguments, asksForHelp, type Options, optionLines, parse, UsageError } from "./options.ts";

/** A command, as its help text describes it. */
export interface Program<O extends Options = Options> {
  /** How it is called, one line for each form. */
  readonly usage: string | readonly string[];
  readonly about: string | readonly string[];
  readonly options?: O;
  /** The most arguments that are no options; default 0, and any number where they are `names`. */
  readonly positionals?: number;
  /** The arguments that are no options, if each of them is one of these. */
  readonly names?: { readonly what: string; readonly known: readonly string[] };
  /** Its exit codes beside 0 and 64. */
  readonly exit?: string;
  /** As a user types them, after `npx -y pnpm@12`. */
  readonly examples: readonly string[];
}

/** `called`: what stands before its name in a sentence, and `typed`: what its user types there. */
export function helpText(
  { usage, about, options = {}, names, exit, examples }: Program,
  called = "pnpm",
  typed = "npx -y pnpm@12",
): string {
  return [
    ...[usage].flat().map((line, index) => `${index === 0 ? "Usage:" : "      "} ${called} ${line}`),
    ...[about].flat().map((line) => `  ${line}`),
    ...(names ? [`${names.what}: ${names.known.join(", ")}`] : []),
    "Options:",
    ...optionLines(options),
    `Exit: 0 ok, ${exit ? `${exit}, ` : ""}64 bad usage, 130 interrupted.`,
    "Examples:",
    ...examples.map((example) => `  ${typed} ${example}`),
  ].join("\n");
}

/** @throws UsageError if `given` is not among `known`: it names the nearest one. */
export function known<Name extends string>(what: string, given: string, names: readonly Name[]): Name {
  const name = names.find((one) => one === given);
  if (name === undefined) throw new UsageError(`unknown ${what} "${given}": ${suggestion(given, names)}`);
  return name;
}

/**
 * The command line of this process, as `read` takes it. After `--help`, and after bad usage, which is explained, the process has
 * ended: a command asks this before it does anything else.
 */
export function argumentsOf<const O extends Options, T = Arguments<O>>(
  program: Program<O>,
  read: (found: Arguments<O>) => T = (found) => found as T,
): T {
  const args = process.argv.slice(2);
  const { names, positionals = names ? Number.POSITIVE_INFINITY : 0 } = program;
  try {
    if (!asksForHelp(args)) {
      const found = parse(args, program.options ?? ({} as O), positionals);
      if (names) for (const name of found.positionals) known(names.what, name, names.known);
      return read(found);
    }
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(`${error.message}\n${helpText(program)}`);
    process.exit(64);
  }
  console.log(helpText(program));
  process.exit();
}

/** The whole number that an option has. @throws UsageError for none, any other text, and below `least`. */
export function wholeNumber(option: string, given: string | undefined, least = 1): number {
  if (given === undefined) throw new UsageError(`--${option} is missing`);
  if (/^\d{1,15}$/.test(given) && Number(given) >= least) return Number(given);
  throw new UsageError(`--${option} must be a whole number of at least ${least}, but is ${given}`);
}
