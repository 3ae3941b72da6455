import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { Application, LogLevel, type TypeDocOptions } from "typedoc";
import type { PluginOptions } from "typedoc-plugin-markdown";
import { reference, root } from "./pages.ts";

/** The packages whose public names are described. */
const packages = ["redlock", "redlock-4", "fastify", "express", "nestjs", "testing", "opentelemetry"];
/** For implementations of adapters, and no part of the promise of versions. */
const left = ["./internal"];

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly [condition: string]: unknown }>>;
}

/** The names under which users import, and the source of each. */
function entryPoints(): ReadonlyMap<string, string> {
  const all = packages.flatMap((name) => {
    const folder = join(root, "packages", name);
    const { exports } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
    return Object.entries(exports).flatMap(([subpath, entry]) => {
      if (typeof entry === "string" || !entry["import"] || left.includes(subpath)) return [];
      return [[`@quorlock/${join(name, subpath)}`, join(folder, String(entry["quorlock-source"]))] as const];
    });
  });
  return new Map(all);
}

/** Moves what has a name to the front. */
function lead(all: Array<{ readonly name?: string; readonly title?: string }>, first: string): void {
  const index = all.findIndex(({ name, title }) => (name ?? title) === first);
  if (index > 0) all.unshift(...all.splice(index, 1));
}

/** Writes a page for each public module, from the comments in the sources. */
export async function writeReference(): Promise<void> {
  const points = entryPoints();
  const options: Partial<TypeDocOptions & PluginOptions> = {
    entryPoints: [...points.values()],
    name: "API",
    basePath: join(root, "packages"),
    tsconfig: join(root, "packages/site/tsconfig.reference.json"),
    plugin: ["typedoc-plugin-markdown"],
    // The compiler of the repository has checked them.
    skipErrorChecking: true,
    logLevel: LogLevel.Warn,
    excludeExternals: true,
    excludeInternal: true,
    excludePrivate: true,
    disableSources: true,
    readme: "none",
    router: "module",
    outputs: [{ name: "markdown", path: join(root, reference) }],
    hidePageHeader: true,
    useHTMLAnchors: true,
    hideBreadcrumbs: true,
    parametersFormat: "table",
    propertiesFormat: "table",
    interfacePropertiesFormat: "table",
    typeDeclarationFormat: "table",
    enumMembersFormat: "table",
    validation: { notExported: false, invalidLink: true, invalidPath: true },
  };
  const app = await Application.bootstrapWithPlugins(options);
  const project = await app.convert();
  if (!project) throw new Error("TypeDoc could not read the sources");
  for (const [name, source] of points) {
    const path = relative(join(root, "packages"), source).replace(/(\/index)?\.ts$/, "");
    const module = project.children?.find((child) => child.name === path);
    if (!module) throw new Error(`TypeDoc has no module ${path}`);
    module.name = name;
    // Everyone begins with it.
    for (const group of module.groups ?? []) lead(group.children, "Redlock");
    lead(module.groups ?? [], "Classes");
  }
  await app.generateOutputs(project);
}
