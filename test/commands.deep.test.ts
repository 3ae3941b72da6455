import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Child, type Ending } from "@quorlock/simulation/processes";
import { startMasters } from "@quorlock/testbed";
import { describe, expect, test } from "vitest";

// The commands of package.json and of the documents, as they are typed: each explains itself, knows what it does not know, and
// leaves nothing behind after Ctrl-C.

const timeout = 180_000;
const root = join(import.meta.dirname, "..");
const PATH = [join(root, "node_modules/.bin"), process.env["PATH"]].join(delimiter);

function scriptsOf(file: string): Record<string, string> {
  return (JSON.parse(readFileSync(join(root, file), "utf8")) as { scripts: Record<string, string> }).scripts;
}

const own = scriptsOf("package.json");
const examples = Object.entries(scriptsOf("examples/package.json")).filter(([name]) => !(name in own));
const text = ["README.md", "CONTRIBUTING.md", "examples/README.md"]
  .map((file) => readFileSync(join(root, file), "utf8"))
  .join("\n");
const files = [...text.matchAll(/ exec (tsx \S+\.ts)|`(\.ci\/\w+)\b(?!\.)/g)].map(
  ([, byTsx, file]) => byTsx ?? file!,
);
/** The commands that the documents let a user type after `npx -y pnpm@12`, but for pnpm's own commands and those of its workspaces. */
const named = [
  ...[...text.matchAll(/npx -y pnpm@12 (?:run )?([a-z][\w:-]*)/g)].map(([, name]) => name!),
  ...[...text.matchAll(/--filter @quorlock\/examples run ([\w-]+)/g)].map(([, name]) => name!),
].filter((name) => name !== "exec" && name !== "install");

/** Each with the line for the shell. */
const commands: Record<string, string> = {
  ...own,
  ...Object.fromEntries(examples.map(([name, line]) => [name, `cd examples && ${line}`])),
  ...Object.fromEntries(files.map((file) => [file, file])),
};
for (const program of ["sim", "quorlock"]) {
  const help = execFileSync("sh", ["-c", `${own[program]!} --help`], { cwd: root, encoding: "utf8" });
  for (const [, name] of help.matchAll(/^ {2}(?:pnpm sim )?([a-z]+)\b(?!.*pnpm@12)/gm))
    if (name !== "npx" && name !== "help") commands[`${program} ${name}`] = `${own[program]!} ${name}`;
}

function run(name: string, args: string, env: NodeJS.ProcessEnv = {}): Child {
  return new Child("sh", ["-c", `${commands[name]!} ${args}`], {
    cwd: root,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH, REDLOCK_NODES: undefined, ...env },
  });
}

test("the documents name commands that there are", () => {
  expect(named.filter((name) => !(name in commands))).toEqual([]);
  expect(named.length).toBeGreaterThan(20);
  expect(Object.keys(commands)).toEqual(
    expect.arrayContaining(["sim explore", "quorlock doctor", ".ci/run"]),
  );
});

describe.each(Object.keys(commands))("%s", { timeout }, (name) => {
  test("--help has examples; a slip of its options is told, and is exit 64", async () => {
    const { code, output } = await run(name, "--help").ended;
    expect(output).toMatch(/^Usage:\s[\s\S]*^Examples?:\n +\S/m);
    expect(code).toBe(0);
    const [, option = ""] = /^ +(?:-\w, )?--([\w-]{4,})/m.exec(output)!;
    const slip = await run(name, `--${option.slice(0, -1)}`).ended;
    expect(slip.errors).toContain(`did you mean --${option}?`);
    expect(slip.errors).not.toMatch(/^ {4}at /m);
    expect(slip.code).toBe(64);
  });
});

test.each([
  ["sim", "exlore", "explore"],
  ["quorlock", "docter", "doctor"],
  ["recipe", "cach", "cache"],
  ["runbook", "fail-over", "failover"],
  ["conformance", "redlok-5", "redlock-5"],
  ["evidence", "'no drift is taken'", "no drift is taken off"],
  ["once", "--schedulers crone", "croner"],
  ["spec", "--only Lok", "Lock"],
  ["soak", "--minutes 1 --mode unsave", "unsafe"],
  ["bench", "--only one-at-time", "one-at-a-time"],
  ["bench", "--contenders redis-semapore", "redis-semaphore"],
  ["words", "CONTRIBUTING.md", undefined],
])("%s %s is bad usage: %s is meant", { timeout }, async (name, args, meant) => {
  const { code, errors } = await run(name, args).ended;
  expect(errors).toContain(meant === undefined ? "is one argument too many" : `did you mean `);
  expect(errors).toContain(meant ?? "");
  expect(errors).not.toMatch(/^ {4}at /m);
  expect(code).toBe(64);
});

/** Those that are over in seconds: Ctrl-C finds none of them. */
const short =
  /^(words|rooms|scripts|release|sim|quorlock|quick-start|sim (?!explore|shrink|heatmap).*|quorlock (?!watch|serve|exec).*)$/;
/** The arguments of a command, and the text that it has printed when it has begun; the first line, if nothing stands here. */
const called: Readonly<Record<string, { args?: string; begun?: RegExp; env?: NodeJS.ProcessEnv }>> = {
  test: { begun: /RUN / },
  "test:deep": { begun: /RUN / },
  ".ci/run": { begun: /RUN / },
  engines: { begun: /RUN /, env: { REDLOCK_ENGINE: "redis-server" } },
  mutation: { args: "--resume --count 1 --in packages/redlock/src/protocol/lease.ts" },
  soak: { args: "--minutes 2" },
  spec: { args: "--quick --only Lock" },
  pictures: { begun: /masters are up/ },
  "sim explore": { args: "--seeds 100000" },
  "sim shrink": { args: "--seed 7 --beyond --out /dev/null" },
  "sim heatmap": { args: "--seeds 10000 --out $TMPDIR/heatmap.svg" },
  "quorlock watch": { args: "r" },
  "quorlock exec": { args: "r -- sh -c 'echo begun; exec sleep 600'" },
};

/** Processes that still run, of those with the mark in their environment. */
function running(mark: string): readonly string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      const isMarked = /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, "latin1").includes(mark);
      // One that has ended waits for its parent to notice.
      return isMarked && !/\) Z/.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
    } catch {
      return false;
    }
  });
}

// Watchdogs look once a second.
async function gone<T>(look: () => readonly T[]): Promise<readonly T[]> {
  const deadline = performance.now() + 20_000;
  while (look().length > 0 && performance.now() < deadline) await pause(50);
  return look();
}

const interruptible = Object.keys(commands).filter((name) => !short.test(name));

test.each(interruptible)("%s leaves nothing after Ctrl-C", { timeout }, async (name) => {
  const { args = "", begun = /\n/, env } = called[name] ?? {};
  const folder = mkdtempSync(join(tmpdir(), "commands-"));
  const mark = `QUORLOCK_TEST=${randomUUID()}`;
  await using masters = await startMasters(3, { say: () => {} });
  const nodes = name.startsWith("quorlock") ? { REDLOCK_NODES: masters.urls.join() } : {};
  const child = run(name, `${args} 2>&1`, {
    ...env,
    ...nodes,
    TMPDIR: folder,
    QUORLOCK_TEST: mark.split("=")[1],
  });
  try {
    await child.until(`${begun}`, () => begun.test(child.output) || undefined, timeout / 2);
    process.kill(-child.process.pid!, "SIGINT");
    const { code, signal, output }: Ending = await child.ended;
    // A shell has 130 for both.
    expect(signal ?? code, output).toBe(signal === null ? 130 : "SIGINT");
    expect(await gone(() => running(mark))).toEqual([]);
    const left = () => readdirSync(folder).filter((file) => !file.startsWith("tsx-"));
    expect(await gone(left)).toEqual([]);
  } finally {
    for (const pid of running(mark)) process.kill(Number(pid), "SIGKILL");
    await child.ended;
    rmSync(folder, { recursive: true, force: true });
  }
});
