import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Script } from "@quorlock/redlock/internal";
import { build, type Plugin } from "esbuild";
import { clientScripts, know, knownScript, type ScriptName } from "../master/known-scripts.ts";
import { type ClientModule, clientOf, type Subject, theClient } from "../run/subject.ts";
import type { Mutant, MutatedModule } from "./mutant.ts";

const sources = fileURLToPath(new URL("../../../redlock/src/", import.meta.url));

/** The exports of a copy. */
const modules = [
  "index.ts",
  "redis/internal.ts",
  "primitives/lead.ts",
  "primitives/once.ts",
  "primitives/read-write-lock.ts",
  "primitives/semaphore.ts",
];

let bundles = 0;

/** A copy of the client: what it exports, what stands between it and its masters, and what it takes for its clocks. */
export interface ClientCopy {
  readonly module: MutatedModule;
  readonly connections: NonNullable<Mutant["connections"]>;
  readonly runtime: NonNullable<Mutant["runtime"]>;
}

/** The client with the mutant's fault. */
export async function mutatedCopy(mutant: Mutant): Promise<ClientCopy> {
  const { connections = (same) => same, runtime = (same) => same } = mutant;
  const module = await importMutated(mutant);
  await changeScripts(module, mutant);
  return { module, connections, runtime };
}

/** The same as something to simulate. */
export async function mutatedClient(mutant: Mutant): Promise<Subject> {
  const { name, subjectOf = locksOf, planOf } = mutant;
  if (planOf) return { ...theClient, name, planOf };
  const { module, connections: through, runtime: seenBy } = await mutatedCopy(mutant);
  const subject = subjectOf(module);
  return {
    ...subject,
    name,
    create: (connections, runtime, settings) =>
      subject.create(through(connections), seenBy(runtime), settings),
  };
}

const locksOf: NonNullable<Mutant["subjectOf"]> = (client) => ({
  create: (connections, runtime, settings) => clientOf(client, connections, runtime, settings),
});

/** The mutant's scripts have their own text and digest, by which masters know them. */
async function changeScripts(client: ClientModule, mutant: Mutant): Promise<void> {
  const texts = editedScripts(mutant);
  if (texts.size === 0) return;
  // The parser of Lua is needed by these alone.
  const { evaluated } = await import("../lua/evaluate.ts");
  for (const [name, source] of texts) {
    const script: { -readonly [Key in keyof Script]: Script[Key] } = client[name];
    script.source = source;
    script.sha1 = createHash("sha1").update(source).digest("hex");
    if (!knownScript(script.sha1)) know(name, script, evaluated(source));
  }
}

/** The scripts that the mutant changes, with their new text. */
export function editedScripts({ name: mutant, lua = {} }: Mutant): ReadonlyMap<ScriptName, string> {
  const texts = new Map<ScriptName, string>();
  for (const [found, change] of Object.entries(lua)) {
    const within = scriptNames.filter((name) => clientScripts[name].source.includes(found));
    if (within.length === 0) throw new Error(`mutant "${mutant}": no script has "${found}"`);
    const written = typeof change === "string" ? change : change(found);
    for (const name of within)
      texts.set(
        name,
        (texts.get(name) ?? clientScripts[name].source).replaceAll(found, () => written),
      );
  }
  return texts;
}

const scriptNames = Object.keys(clientScripts) as ScriptName[];

/** The files that the mutant changes, by their paths in the client, with their new text. */
export async function editedFiles({
  name,
  edits = {},
  files = {},
}: Mutant): Promise<ReadonlyMap<string, string>> {
  const texts = new Map(Object.entries(files).map(([file, text]) => [`${sources}${file}`, text]));
  for (const [place, change] of Object.entries(edits)) {
    const [file, ...words] = place.split(" ");
    const path = `${sources}${file}`;
    // The compiler takes a while to load, and most runs need none.
    const { edited } = await import("./anchor.ts");
    try {
      texts.set(path, edited(texts.get(path) ?? (await readFile(path, "utf8")), words, change));
    } catch (error) {
      throw new Error(`mutant "${name}", "${place}": ${(error as Error).message}`, { cause: error });
    }
  }
  return texts;
}

/**
 * A separate bundle, dependencies and all: nothing is shared with the client that others import.
 */
export async function importMutated(mutant: Mutant): Promise<MutatedModule> {
  const texts = await editedFiles(mutant);
  bundles += 1;
  const mutation: Plugin = {
    name: "mutation",
    setup(builder) {
      builder.onLoad({ filter: /\/redlock\/src\/.*\.ts$/ }, ({ path }) => {
        const contents = texts.get(path);
        return contents === undefined ? undefined : { contents, loader: "ts" };
      });
    },
  };
  const contents = modules.map((file) => `export * from "./${file}";`).join("");
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: sources, loader: "ts" },
    bundle: true,
    write: false,
    logLevel: "silent",
    format: "esm",
    platform: "node",
    plugins: [mutation],
    // Node imports the same text once: without edits two mutants would share their scripts, and so their rules.
    footer: { js: `// ${bundles}` },
  });
  const code = Buffer.from(outputFiles[0]!.contents).toString("base64");
  return (await import(/* @vite-ignore */ `data:text/javascript;base64,${code}`)) as MutatedModule;
}
