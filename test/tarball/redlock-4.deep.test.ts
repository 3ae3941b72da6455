import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Child } from "@quorlock/simulation/processes";
import { type Masters, startMasters } from "@quorlock/testbed";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { keptReports, reportsIn, writeReports } from "./api-reports.ts";
import { userEnvironment } from "./environment.ts";
import { repository } from "./published.ts";

// @quorlock/redlock-4 as users get it: a service of redlock 4 changes its import, and ES modules, CommonJS and TypeScript load it.

const run = promisify(execFile);
const { redlock = "", "redlock-4": tarball = "" } = inject("tarballs");
const own = '"@quorlock/redlock-4"';

let folder: string;
/** With Bluebird, its types and redlock 4. */
let full: string;
/** Without any of them. */
let bare: string;
let masters: Masters;

async function project(name: string, ...more: readonly string[]): Promise<string> {
  const user = join(folder, name);
  await mkdir(user);
  await writeFile(join(user, "package.json"), '{ "private": true }');
  const install = ["install", "--prefer-offline", "--no-audit", "--no-fund", redlock, tarball, "ioredis@6"];
  await run("npm", [...install, ...more], { cwd: user });
  return user;
}

async function node(user: string, program: string, ...flags: string[]): Promise<unknown> {
  const env = { ...userEnvironment, MASTERS: masters.urls.join() };
  const { stdout } = await run(process.execPath, [...flags, "--eval", program], { cwd: user, env });
  return JSON.parse(stdout);
}

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "quorlock-redlock-4-")));
  masters = await startMasters(3, { say: () => {} });
  full = await project("full", "bluebird@3", "@types/bluebird@3", "redlock@4.2.0");
  bare = await project("bare");
  const service = await readFile(new URL("users/redlock-4/service.cjs", import.meta.url), "utf8");
  await writeFile(join(full, "redlock 4.cjs"), service);
  await writeFile(join(full, "quorlock.cjs"), service.replace('"redlock"', own));
}, 600_000);
afterAll(async () => {
  await masters.stop();
  await rm(folder, { recursive: true, force: true });
});

function all<T>(length: number, one: (index: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length }, (_, index) => one(index)));
}

/** The outcome of the same requests, whichever library the two instances have. */
async function served(programs: readonly string[]): Promise<unknown> {
  // An instance may end inside: those of another pair do not count it.
  const env = { ...userEnvironment, MASTERS: masters.urls.join(), PAIR: String(programs) };
  const instances = programs.map((name) => Child.node(join(full, `${name}.cjs`), [], { cwd: full, env }));
  const urls = await Promise.all(
    instances.map((instance) =>
      instance.until("its URL", () => /http:\/\/[\w.[\]:]+:\d+/.exec(instance.output)?.[0]),
    ),
  );
  let count = 0;
  const ask = async (path: string): Promise<readonly [number, Readonly<Record<string, unknown>>]> => {
    count += 1;
    const response = await fetch(`${urls[count % urls.length]}/${path}`);
    return [response.status, (await response.json()) as Readonly<Record<string, unknown>>];
  };
  try {
    const paid = await all(20, () => ask("pay/42"));
    const lone = await ask("pay/43");
    const [reports, transfers] = await Promise.all([
      all(2, () => ask("report/daily")),
      all(20, (index) => ask(index % 2 ? "transfer/a/b" : "transfer/b/a")),
    ]);
    const slow = await ask("slow");
    await all(2, () => ask("throws"));
    await all(4, () => ask("ignored/44"));
    const stats = (await all(2, () => ask("stats"))).map(([, body]) => body as Record<string, number>);
    for (const instance of instances) instance.process.kill();
    const endings = await Promise.all(instances.map((instance) => instance.ended));
    return {
      // One of them may have been at the end of another one, by its second attempt.
      paid: [
        ...new Set(paid.map(([status, { name, ended }]) => `${status}: ${String(name ?? ended)}`)),
      ].sort(),
      lone,
      reports: reports.map(([status]) => status),
      transfers: [...new Set(transfers.map((answer) => JSON.stringify(answer)))],
      slow,
      overlaps: stats.map(({ overlaps }) => overlaps),
      late: stats.map(({ late }) => late),
      haveWorked: stats.map(({ jobs }) => jobs! > 3),
      faults: stats.map(({ uncaught, unhandled }) => [uncaught, unhandled]),
      codes: endings.map(({ code }) => code),
    };
  } finally {
    for (const instance of instances) await instance.kill();
  }
}

test.each([
  ["redlock 4", "redlock 4"],
  ["quorlock", "quorlock"],
  ["redlock 4", "quorlock"],
])("two instances of the service, by %s and %s", async (...programs) => {
  const payment = { attempts: 1, resource: ["payment:43"], ended: 0 };
  expect(await served(programs)).toEqual({
    paid: ["200: 0", "409: LockError"],
    lone: [200, payment],
    reports: [200, 200],
    transfers: ['[200,{"accounts":2}]'],
    slow: [410, { name: "LockError", is: true }],
    overlaps: [0, 0],
    late: [0, 0],
    haveWorked: [true, true],
    faults: [
      [["a mistake in a callback"], []],
      [["a mistake in a callback"], []],
    ],
    codes: [0, 0],
  });
});

const locks = `
  const redlock = new Redlock(process.env.MASTERS.split(",").map((url) => new Redis(url)));
  redlock.lock("loaded", 5000).then(async (lock) => {
    await lock.extend(6000);
    await lock.unlock();
    const told = await redlock.lock("disposed", 5000).then(async (held) => {
      await held[Symbol.asyncDispose]();
      await held[Symbol.asyncDispose]();
      return held.expiration;
    });
    let disposer = "a disposer";
    try { redlock.disposer("x", 100); } catch (error) { disposer = error.message; }
    const locking = redlock.lock("y", 5000);
    const isBluebird = typeof locking.done === "function";
    await (await locking).unlock();
    const one = [lock instanceof Redlock.Lock, typeof Redlock, Redlock.name, told];
    await redlock.quit();
    console.log(JSON.stringify({ one, isBluebird, disposer: disposer.slice(0, 25) }));
  });`;

describe.each([
  ["with Bluebird", () => full, true, "a disposer"],
  ["without Bluebird", () => bare, false, "disposer() needs Bluebird"],
] as const)("%s", (_, user, isBluebird, disposer) => {
  const expected = { one: [true, "function", "Redlock", 0], isBluebird, disposer };

  test("require() returns the class", async () => {
    const load = `const Redlock = require(${own}); const { Redis } = require("ioredis");`;
    expect(await node(user(), `${load}${locks}`)).toEqual(expected);
  });

  test("import has the same class as its default", async () => {
    const load = `import Redlock from ${own}; import { Redis } from "ioredis";`;
    expect(await node(user(), `${load}${locks}`, "--input-type=module")).toEqual(expected);
    const same = `import Redlock from ${own}; import { createRequire } from "node:module";
      console.log(createRequire(import.meta.url)(${own}) === Redlock);`;
    expect(await node(user(), same, "--input-type=module")).toBe(true);
  });
});

/** A program for @types/redlock, and three lines that are wrong: types that are missing would let them pass. */
const typed = `
const redlock = new Redlock([], { driftFactor: 0.01, retryCount: 10, retryDelay: 200, retryJitter: 100 });
redlock.on("clientError", (error: unknown) => console.error(error));
redlock.lock("a", 1000, (error, lock) => lock?.unlock((lost: unknown) => console.error(error, lost)));
const callback: Redlock.Callback<Redlock.Lock> = (error, lock) => console.error(error, lock?.value);
redlock.lockWithOptions(["a", "b"], 1000, { retryCount: 1 }, callback);
async function used(): Promise<void> {
  const lock: Redlock.Lock = await redlock.acquire("a", 1000);
  const [attempts, expiration]: number[] = [lock.attempts, lock.expiration];
  await lock.extend(1000).then((same) => redlock.release(same));
  await redlock.unlock(new Redlock.Lock(redlock, "a", lock.value, expiration!, attempts!));
  try { await redlock.quit(); } catch (error) { if (error instanceof Redlock.LockError) { const { attempts }: { attempts: number } = error; } }
}
const options: Redlock.Options = { retryCount: 1 };
const disposer = redlock.disposer("a", 1000, (error) => console.error(error));
const wrong1: Redlock.Lock = 1;
const wrong2: number = redlock.lock("a", 1000).then((lock) => lock.value);
redlock.lock("a");
`;
const withBluebird = `
redlock.lock("a", 1).tap(() => {}).done((lock) => lock.unlock().timeout(5));
import { using } from "bluebird";
void using(redlock.disposer("a", 1000), async (lock) => lock.value);
`;
const imported = `import Redlock from ${own};\n`;
const required = `import Redlock = require(${own});\n`;

/** With the oldest compiler also programs without the interoperability that newer ones always have: those that require. */
const compilers = [
  ["typescript-5.4", "node16/node16", "import", "mts"],
  ["typescript-5.4", "node16/node16", "require", "cts"],
  ["typescript-5.4", "esnext/bundler", "import", "ts"],
  ["typescript-5.4", "commonjs/node10", "require", "ts"],
  ["typescript", "nodenext/nodenext", "import", "ts"],
  ["typescript", "preserve/bundler", "import", "ts"],
] as const;

describe.each(["full", "bare"] as const)("in a %s project", (name) => {
  test.each(compilers)(
    "%s accepts the types under %s, by %s in a .%s",
    async (compiler, module, way, ending) => {
      const [kind, moduleResolution] = module.split("/");
      const user = await mkdtemp(join(name === "full" ? full : bare, "types-"));
      const text = `${way === "import" ? imported : required}${typed}${name === "full" ? withBluebird : ""}`;
      await writeFile(join(user, `consumer.${ending}`), text);
      const types = { types: ["node"], typeRoots: [join(repository, "node_modules/@types")] };
      const interop = { esModuleInterop: way === "import", allowSyntheticDefaultImports: way === "import" };
      const lib = ["es2022", "esnext.disposable"];
      const compilerOptions = {
        module: kind,
        moduleResolution,
        target: "es2022",
        lib,
        strict: true,
        noEmit: true,
      };
      const config = {
        compilerOptions: { ...compilerOptions, ...types, ...interop },
        files: [`consumer.${ending}`],
      };
      await writeFile(join(user, "tsconfig.json"), JSON.stringify(config));
      const tsc = fileURLToPath(new URL("bin/tsc", import.meta.resolve(`${compiler}/package.json`)));
      const told = await run(process.execPath, [tsc, "-p", user]).catch((error: { stdout: string }) => error);
      const errors = told.stdout.split("\n").filter((line) => line.includes("error TS"));
      expect(errors.map((line) => /error (TS\d+)/.exec(line)![1])).toEqual(["TS2322", "TS2322", "TS2554"]);
    },
  );
});

test("the package has the API report that is kept", async () => {
  const built = join(folder, "built");
  await cp(join(full, "node_modules/@quorlock/redlock-4"), built, { recursive: true });
  await symlink(join(full, "node_modules"), join(built, "node_modules"));
  await writeReports(built, join(built, "api"));
  expect(reportsIn(join(built, "api")), "`pnpm run api` writes it").toEqual(
    reportsIn(keptReports("redlock-4")),
  );
});
