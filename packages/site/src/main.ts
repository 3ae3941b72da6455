import { flag, helpText, parse, runCommand, text, UsageError } from "@quorlock/simulation/command-line";
import { buildSite, serveSite } from "./build.ts";

// The entry point of `pnpm site`.

const options = {
  build: flag("only builds, into packages/site/dist"),
  port: text("N", "serves there; default 4173"),
};
const usage = helpText({
  usage: "site [--build] [--port N]",
  about:
    "builds the site from the Markdown files of this repository, and serves it: half a minute, without a network",
  options,
  exit: "1 a page could not be built or has a dead link",
  examples: ["site", "site --build", "site --port 8080"],
});

async function main(args: readonly string[]): Promise<number> {
  const { build: isOnlyBuilt = false, port = "4173" } = parse(args, options).values;
  if (!/^\d+$/.test(port) || Number(port) > 65_535)
    throw new UsageError(`--port must be a whole number up to 65535, but is ${port}`);
  const begun = performance.now();
  console.log("builds the site");
  await buildSite();
  console.log(`built in ${((performance.now() - begun) / 1000).toFixed(1)} s: packages/site/dist`);
  if (!isOnlyBuilt) await serveSite(Number(port));
  return 0;
}

const code = await runCommand(process.argv.slice(2), usage, main);
// A server that listens keeps the process.
process.exitCode = code;
