import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Of the repository: the pages of the site are its Markdown files, where they are. */
export const root: string = fileURLToPath(new URL("../../../", import.meta.url));
/** The built site. */
export const dist: string = join(root, "packages/site/dist");
/** TypeDoc's output, from this folder of the repository. */
export const reference = "packages/site/reference";

interface Chapter {
  readonly title: string;
  /** The file in the repository, and its name in the sidebar. */
  readonly pages: ReadonlyArray<readonly [file: string, name: string]>;
}

const client = (page: string, name: string) => [`packages/redlock/docs/${page}.md`, name] as const;
const readme = (folder: string, name: string) => [`packages/${folder}/README.md`, name] as const;

/** Every page, in the order of the sidebar. */
export const chapters: readonly Chapter[] = [
  {
    title: "Begin",
    pages: [
      ["README.md", "Quorlock"],
      client("two-minutes", "Two minutes"),
      ["packages/site/lab.md", "The lab"],
      ["packages/redlock/README.md", "Options and methods"],
      client("clients", "Which client"),
      client("one-redis", "One Redis, or several"),
      client("replica", "One Redis with a replica"),
      client("choosing", "Which numbers"),
      client("promises", "Promises and limits"),
      client("comparison", "Features of others"),
      ["examples/README.md", "Examples and recipes"],
    ],
  },
  {
    title: "Migrate from",
    pages: [
      client("redlock-5", "redlock 5"),
      client("redlock-4", "redlock 4"),
      readme("redlock-4", "redlock 4's API"),
      client("other-libraries", "other libraries"),
      client("redisson", "Redisson"),
    ],
  },
  {
    title: "Locks",
    pages: [
      client("waiting", "Waiting"),
      client("fencing", "Fencing tokens"),
      client("reentrancy", "Reentrancy"),
      client("detaching", "Detaching"),
      client("load", "Load"),
      client("shutdown", "Shutdown"),
      client("errors", "Errors and events"),
    ],
  },
  {
    title: "More than a lock",
    pages: [
      client("once", "One instance runs the job"),
      client("leadership", "Leadership"),
      client("semaphore", "Semaphore"),
      client("read-write-lock", "Readers-writer lock"),
      readme("fastify", "Fastify"),
      readme("express", "Express"),
      readme("nestjs", "NestJS"),
    ],
  },
  {
    title: "Masters",
    pages: [
      client("changing-masters", "Changing the list"),
      client("connections", "Connections"),
      client("permissions", "Permissions"),
      client("restart-guard", "Restart guard"),
      client("clocks", "Clocks"),
      client("without-scripts", "Without scripts"),
      client("servers", "Tested versions"),
      client("adapters", "Write an adapter"),
    ],
  },
  {
    title: "Operate",
    pages: [
      client("production", "Going to production"),
      client("runbooks", "Runbooks"),
      client("is-it-locked", "Is it locked?"),
      client("owners", "Who holds a lock"),
      readme("cli", "Command line"),
      client("monitoring", "Monitoring without metrics"),
      client("tracing", "Tracing channels"),
      readme("opentelemetry", "OpenTelemetry"),
    ],
  },
  { title: "Test", pages: [readme("testing", "Your code"), readme("simulation", "In a simulator")] },
  {
    title: "Evidence",
    pages: [
      ["docs/protocol.md", "Protocol"],
      ["docs/protocol-evidence.md", "Tests of each rule"],
      ["docs/specification.md", "Specification"],
      ["docs/specification-figures.md", "Figures of the specification"],
      ["docs/scenarios.md", "Scenarios"],
      ["docs/conformance.md", "Conformance"],
      ["docs/benchmark.md", "Benchmark"],
      readme("soak", "Soak"),
    ],
  },
  {
    title: "Project",
    pages: [
      ["ARCHITECTURE.md", "Architecture"],
      ["CONTRIBUTING.md", "Contributing"],
      ["docs/releases.md", "Releases and support"],
      ["SECURITY.md", "Security"],
      ["CHANGELOG.md", "Changes"],
    ],
  },
];

/** The pages that TypeDoc wrote: none before its first run. */
export function referencePages(): readonly string[] {
  try {
    return readdirSync(join(root, reference), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".md"))
      .sort()
      .map((file) => `${reference}/${file}`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** Where a file of the repository is on the site; nothing for a file that is no page. */
export function placeOf(file: string): string | undefined {
  if (file.startsWith(`${reference}/`))
    return file
      .replace(`${reference}/@quorlock`, "api")
      .replace(reference, "api")
      .replace("README.md", "index.md");
  if (!chapters.some(({ pages }) => pages.some(([page]) => page === file))) return undefined;
  if (file === "README.md") return "index.md";
  if (file === "packages/redlock/README.md") return "reference.md";
  const [, name, rest] = /^packages\/([^/]+)\/(.+)$/.exec(file) ?? [];
  if (name === "site") return rest;
  if (rest === "README.md") return `packages/${name}.md`;
  if (rest !== undefined) return `guide/${basename(rest)}`;
  return file
    .replace("/README.md", ".md")
    .replace(/^docs\//, "evidence/")
    .toLowerCase();
}

/** Where a page is for its readers: without an extension. */
export function pathOf(file: string): string {
  return `/${placeOf(file)!.replace(/(index)?\.md$/, "")}`;
}
