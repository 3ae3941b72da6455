/** As a user's shell has it: with pnpm's NODE_PATH, what is not in the package would be found in this repository. */
export const userEnvironment: Readonly<Record<string, string | undefined>> = {
  ...process.env,
  NODE_PATH: undefined,
  NODE_OPTIONS: undefined,
  NODE_ENV: undefined,
  VITEST: undefined,
};
