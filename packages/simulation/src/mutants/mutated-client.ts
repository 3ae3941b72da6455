import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";
import type { Rules } from "../master/twins/rules.ts";
import { makeKnown, type ScriptName, twinScripts, twinsWith } from "../master/twins/script-twins.ts";
import { nameScript, purposeOf } from "../run/moments.ts";
import { type ClientModule, clientOf, type Subject, theClient } from "../run/subject.ts";
import type { Edit, Mutant, SourceMutant } from "./mutant.ts";

const sources = fileURLToPath(new URL("../../../redlock/src/", import.meta.url));

/** The client with the mutant's fault, as something to simulate. */
export async function mutatedClient(mutant: Mutant): Promise<Subject> {
  if ("edits" in mutant) {
    const client = await importMutated(mutant);
    if (mutant.rules) knowScripts(client, mutant.rules);
    return {
      name: mutant.name,
      create: (connections, runtime, settings) => clientOf(client, connections, runtime, settings),
    };
  }
  const { name, connections: through = (same) => same, runtime = (same) => same } = mutant;
  return {
    name,
    create: (connections, itsRuntime, settings) =>
      theClient.create(through(connections), runtime(itsRuntime), settings),
  };
}

/** Scripts with another text have another digest, and another twin. */
function knowScripts(client: ClientModule, rules: Partial<Rules>): void {
  const twins = twinsWith(rules);
  for (const name of Object.keys(twinScripts) as ScriptName[]) {
    const original = twinScripts[name].script;
    const script: { readonly source: string; sha1: string } = client[name];
    if (script.source === original.source) continue;
    script.sha1 = createHash("sha1").update(script.source).digest("hex");
    makeKnown(script, twins[name]);
    nameScript(script, purposeOf(original)!);
  }
}

/** `text` with the edit's line in place of the original's. */
export function edited(text: string, { file, line, instead }: Edit): string {
  const parts = text.split(line);
  if (parts.length === 2) return parts.join(instead);
  throw new Error(`"${line}" must be in ${file} exactly once, but is there ${parts.length - 1} times`);
}

/**
 * A bundle of its own, dependencies and all: nothing is shared with the client that others import. It exports
 * what the client does, and what `more` does, a text beside the sources.
 */
export async function importMutated<Module = ClientModule>(mutant: SourceMutant, more = ""): Promise<Module> {
  const applied = new Set<Edit>();
  const mutation: Plugin = {
    name: "mutation",
    setup(builder) {
      builder.onLoad({ filter: /\/redlock\/src\/.*\.ts$/ }, async ({ path }) => {
        const edits = mutant.edits.filter(({ file }) => path === `${sources}${file}`);
        for (const edit of edits) applied.add(edit);
        return { contents: edits.reduce(edited, await readFile(path, "utf8")), loader: "ts" };
      });
    },
  };
  const contents = `export * from "./index.ts"; export * from "./redis/internal.ts"; ${more}`;
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: sources, loader: "ts" },
    bundle: true,
    write: false,
    logLevel: "silent",
    format: "esm",
    platform: "node",
    plugins: [mutation],
  });
  const missing = mutant.edits.find((edit) => !applied.has(edit));
  if (missing) throw new Error(`mutant "${mutant.name}": there is no file ${missing.file} in the client`);
  const code = Buffer.from(outputFiles[0]!.contents).toString("base64");
  return (await import(/* @vite-ignore */ `data:text/javascript;base64,${code}`)) as Module;
}
