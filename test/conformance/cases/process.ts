import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Proxy as FaultProxy } from "@quorlock/testbed";
import { type Case, type Verdict, verdict } from "../case.ts";
import { Child, type Ending, repositoryRoot } from "../child.ts";
import { inWords, outcomeOf } from "../outcome.ts";
import type { Stage } from "../stage.ts";

/** Until a process has started, loaded TypeScript and taken a lock, ms. */
const startLimit = 15_000;

/** What a process that is not done yet is given, ms. */
const endLimit = 10_000;

async function endingOf(child: Child): Promise<Ending | undefined> {
  const outcome = await outcomeOf(() => child.ended, endLimit);
  return outcome.kind === "resolved" ? outcome.value : undefined;
}

function wordsOf(ending: Ending | undefined): string {
  if (!ending) return `still there after ${endLimit} ms`;
  const trace = ending.code === 0 ? "" : ` ${JSON.stringify(ending.output.trim().slice(-160))}`;
  return `exit code ${ending.code ?? ending.signal}${trace}`;
}

/** Extended every 3 s at most, so a timer that is left over keeps a process for far longer than is demanded. */
const holdTtl = 6000;
const options = { extensionThreshold: 3000 };

/** `fate`: what becomes of the extension that is in flight when the routine ends. */
async function endInFlight(
  stage: Stage,
  exitLimit: number,
  fate: (path: readonly FaultProxy[]) => void,
): Promise<Verdict> {
  const path = await stage.path();
  const child = Child.holder(stage, { urls: stage.urls(path), options, ttl: holdTtl });
  if (!(await child.message("held", startLimit))) return verdict("never held", { held: false });
  for (const proxy of path) proxy.hold("replies");
  const isExtension = (bytes: Buffer) => bytes.includes(stage.resource);
  const inFlight = await outcomeOf(() => path[0]!.nextRequest(isExtension), holdTtl);
  child.end();
  const ending = await child.message("ending", 1000);
  const begun = performance.now();
  fate(path);
  const end = await endingOf(child);
  const after = end ? end.at - begun : Number.POSITIVE_INFINITY;
  const words = `${wordsOf(end)}, ${Math.round(after)} ms after the routine`;
  return verdict(words, {
    "an extension was in flight": inFlight.kind === "resolved",
    "ended while held": ending?.told === false,
    "exit code 0": end?.code === 0,
    [`within ${exitLimit} ms`]: after < exitLimit,
  });
}

const endings: readonly Case[] = [
  {
    row: 15,
    situation: "an extension in flight when `using` ends, answered a little later: clean exit",
    bound:
      "the process exits by itself with code 0 within 1000 ms of the end of its routine: a release and a quit take " +
      "milliseconds, the end of a process less than 100; a timer left over would keep it for 2 s or more",
    masters: 3,
    mostlyWaits: true,
    run: (stage) =>
      endInFlight(stage, 1000, (path) => {
        for (const proxy of path) proxy.release();
      }),
  },
  {
    row: 15,
    situation: "an extension in flight when `using` ends, never answered: clean exit",
    bound:
      "the process exits by itself with code 0 within 3500 ms of the end of its routine: one node time-out for the " +
      "release (300 ms of this ttl), 500 ms for the quit, the 2000 ms that ioredis gives a silent server to close the " +
      "caller's client, and 700 ms for a busy machine",
    masters: 3,
    mostlyWaits: true,
    run: (stage) => endInFlight(stage, 3500, () => {}),
  },
];

async function refreshFails(
  stage: Stage,
  fail: (path: readonly FaultProxy[]) => Promise<void>,
): Promise<Verdict> {
  const path = await stage.path();
  const child = Child.holder(stage, { urls: stage.urls(path), options: {}, ttl: 1000 });
  if (!(await child.message("held", startLimit))) return verdict("never held", { held: false });
  await fail(path);
  const ending = await child.message("ending", 6000);
  // One that was not told is sent home, so that what is wrong is that it was not told and nothing else.
  if (!ending) child.end();
  const end = await endingOf(child);
  return verdict(`${ending?.told ? "told" : "not told within 6 s"}, ${wordsOf(end)}`, {
    told: ending?.told === true,
    "exit code 0": end?.code === 0,
    "no unhandled rejection": !/unhandled|uncaught/i.test(end?.output ?? ""),
  });
}

const refreshes: readonly Case[] = [
  {
    row: 20,
    situation: "refreshes answered with an error: no unhandled rejection",
    bound:
      "the holder is told and its process exits with code 0: Node ends it with code 1 for an unhandled rejection",
    masters: 3,
    mostlyWaits: true,
    run: (stage) => refreshFails(stage, () => stage.spoil([0, 1, 2])),
  },
  {
    row: 20,
    situation: "refreshes on refused connections: no unhandled rejection",
    bound:
      "the holder is told and its process exits with code 0: Node ends it with code 1 for an unhandled rejection",
    masters: 3,
    mostlyWaits: true,
    run: (stage) =>
      refreshFails(stage, async (path) => {
        await Promise.all(path.map((proxy) => proxy.refuse()));
        for (const proxy of path) proxy.reset();
      }),
  },
];

const testPackage = resolve(import.meta.dirname, "../..");

/** The same program for both ways to load a package; the default export is the constructor in each. */
const loaders = {
  require: {
    file: "consumer.cjs",
    load: (name: string) => `const loaded = require(${JSON.stringify(name)});
const { Redis } = require("ioredis");`,
  },
  import: {
    file: "consumer.mjs",
    load: (name: string) => `import * as loaded from ${JSON.stringify(name)};
import { Redis } from "ioredis";`,
  },
};

function consumer(load: string, urls: readonly string[], resource: string): string {
  return `${load}
const Redlock = loaded.default;
const redlock = new Redlock(${JSON.stringify(urls)}.map((url) => new Redis(url)));
redlock
  .acquire([${JSON.stringify(resource)}], 5000)
  .then((lock) => lock.release())
  .then(() => redlock.quit())
  .then(() => console.log("locked and released"));
`;
}

function loaded(how: "require" | "import"): Case {
  return {
    row: 21,
    situation: `the built package is loaded with ${how} and locks`,
    bound:
      "a plain Node process, without this project's own resolution, loads it, locks, releases and exits with code 0",
    masters: 3,
    async run(stage) {
      const { packageName } = stage.library;
      const build = await buildOf(stage, packageName);
      if (build) return verdict(build, { built: false });
      // Packages are looked for from where the program is.
      await mkdir(join(testPackage, "dist"), { recursive: true });
      const directory = await mkdtemp(join(testPackage, "dist", "consumer-"));
      stage.onDispose(() => rm(directory, { recursive: true, force: true }));
      const { file, load } = loaders[how];
      const program = join(directory, file);
      await writeFile(program, consumer(load(packageName), stage.urls(), stage.resource));
      const end = await endingOf(Child.run(stage, process.execPath, [program], directory));
      return verdict(wordsOf(end), {
        "exit code 0": end?.code === 0,
        "locked and released": end?.output.includes("locked and released") === true,
      });
    },
  };
}

/** Builds our own package (a peer comes built); what went wrong, or nothing. */
async function buildOf(stage: Stage, packageName: string): Promise<string | undefined> {
  if (packageName !== "@quorlock/redlock") return undefined;
  const compiler = join(repositoryRoot, "node_modules/.bin/tsc");
  const built = await outcomeOf(
    () => Child.run(stage, compiler, ["-b", "packages/redlock"], repositoryRoot).ended,
    60_000,
  );
  if (built.kind !== "resolved") return `tsc -b ${inWords(built)}`;
  return built.value.code === 0 ? undefined : `tsc -b: ${built.value.output.slice(-300)}`;
}

/** What only a process of its own can show. */
export const processes: readonly Case[] = [...endings, ...refreshes, loaded("require"), loaded("import")];
