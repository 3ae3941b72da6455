import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Child } from "@quorlock/simulation/processes";
import { startMasters } from "@quorlock/testbed";
import { describe, expect, type TestContext, test } from "vitest";

// The examples as a user runs them: separate processes, judged by exit code, output and what they leave.

const timeout = 90_000;
const folder = fileURLToPath(new URL("../examples/", import.meta.url));
const { REDLOCK_NODES = "" } = process.env;
/** A process that was killed may be seen for a moment more, ms. */
const grace = 500;
/** Masters from REDLOCK_NODES are not the demo's to kill. */
const mastersAreOurs = REDLOCK_NODES === "";

class Example {
  /** Its processes, as far as they were looked for. */
  readonly family = new Set<number>();
  readonly directory: string = mkdtempSync(join(tmpdir(), "examples-test-"));
  readonly #child: Child;

  constructor(script: string, environment: NodeJS.ProcessEnv = {}) {
    const env = { ...environment, TMPDIR: this.directory };
    this.#child = Child.node(join(folder, script), [], { cwd: folder, env });
  }

  get output(): string {
    return this.#child.output;
  }

  get errors(): string {
    return this.#child.errors;
  }

  /** Settles when its output matches, and then notes which processes belong to the example. */
  async printed(pattern: RegExp): Promise<void> {
    await this.#child.printed(pattern);
    for (const pid of descendantsOf(this.#child.process.pid!)) this.family.add(pid);
  }

  signal(name: NodeJS.Signals): void {
    this.#child.process.kill(name);
  }

  /** The exit code, or the signal that ended it. */
  async exit(): Promise<unknown> {
    const { code, signal } = await this.#child.ended;
    return code ?? signal;
  }

  /** Which of its processes still run; waits a little for those that are just ending. */
  async survivors(patience: number): Promise<readonly number[]> {
    const deadline = performance.now() + patience;
    let running = runningOf(this.family);
    while (running.length > 0 && performance.now() < deadline) {
      await pause(20);
      running = runningOf(this.family);
    }
    return running;
  }

  /** Temporary files and folders of ours, without the cache of the TypeScript loader. */
  get leftovers(): readonly string[] {
    return readdirSync(this.directory).filter((name) => !name.startsWith("tsx-"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child.kill();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  /** `Z` has ended already and waits for its parent to notice. */
  readonly state: string;
}

function processTable(): readonly ProcessEntry[] {
  const lines =
    process.platform === "linux"
      ? readdirSync("/proc")
          .filter((name) => /^\d+$/.test(name))
          .flatMap(statOf)
      : execFileSync("ps", ["-A", "-o", "pid=,ppid=,state="], { encoding: "utf8" }).trim().split("\n");
  return lines.map((line) => {
    const [pid, parent, state = ""] = line.trim().split(/\s+/);
    return { pid: Number(pid), parent: Number(parent), state };
  });
}

/** "pid parent state"; nothing where the process has just gone. */
function statOf(pid: string): string[] {
  try {
    // "pid (name) state parent ...", and the name may hold anything.
    const [state, parent] = readFileSync(`/proc/${pid}/stat`, "latin1").split(") ").at(-1)!.split(" ");
    return [`${pid} ${parent} ${state}`];
  } catch {
    return [];
  }
}

function descendantsOf(root: number): readonly number[] {
  const table = processTable();
  const found = [root];
  for (const parent of found) {
    found.push(...table.filter((entry) => entry.parent === parent).map(({ pid }) => pid));
  }
  return found;
}

function runningOf(pids: ReadonlySet<number>): readonly number[] {
  return processTable().flatMap(({ pid, state }) => (pids.has(pid) && !state.startsWith("Z") ? pid : []));
}

/** Ends with the test, also where that runs out of time. */
function start({ onTestFinished }: TestContext, script: string, environment?: NodeJS.ProcessEnv): Example {
  const example = new Example(script, environment);
  onTestFinished(() => example[Symbol.asyncDispose]());
  return example;
}

/** The line of the summary, e.g. `with the lock  sold 100  oversold 0`. */
function figures(output: string, sale: string): { sold: number; oversold: number; atOnce: number } {
  const line = new RegExp(`^ *${sale} +sold +(\\d+) +oversold +(\\d+) +at most (\\d+) at a time`, "m").exec(
    output,
  );
  if (!line) throw new Error(`no figures of the sale ${sale} in:\n${output}`);
  return { sold: Number(line[1]), oversold: Number(line[2]), atOnce: Number(line[3]) };
}

// They wait far more than they work, so they are run beside each other.

describe.concurrent("the sale", { timeout }, () => {
  test("sells 100 with the lock while masters fail, and more without it", async (context) => {
    const demo = start(context, "sale/main.ts");
    await demo.printed(/ cut /);
    const code = await demo.exit();
    expect(demo.errors).toBe("");
    expect(code, demo.output).toBe(0);
    expect(figures(demo.output, "with the lock")).toEqual({ sold: 100, oversold: 0, atOnce: 1 });
    const without = figures(demo.output, "without the lock");
    expect(without.oversold).toBeGreaterThan(0);
    expect(without.sold).toBe(100 + without.oversold);
    const faults = mastersAreOurs
      ? ["killed", "hung", "back", "cut", "aborted", "granted", "healed"]
      : ["cut", "aborted"];
    for (const fault of faults)
      expect(demo.output).toMatch(new RegExp(`^ *\\d+\\.\\d\\d s {2}${fault} `, "m"));
    // The signal is promised to a process that runs: a busy machine can keep the holder from running when it is due.
    if (!/^ *\d+\.\d\d s {2}stalled /m.test(demo.output)) {
      const [, after, margin] = /signal aborted ([\d,]+) ms after the cut, ([\d,]+) ms before/.exec(
        demo.output,
      )!;
      expect(Number(after!.replaceAll(",", ""))).toBeLessThan(2000);
      expect(Number(margin!.replaceAll(",", ""))).toBeGreaterThan(0);
    }
    // A pipe is no terminal.
    expect(demo.output).not.toContain("\u001b");
    // Itself, five workers, a watchdog and four masters at least.
    expect(demo.family.size).toBeGreaterThanOrEqual(mastersAreOurs ? 11 : 6);
    expect(await demo.survivors(grace)).toEqual([]);
    expect(demo.leftovers).toEqual([]);
  });

  test("takes everything down at Ctrl-C, a hung master included", async (context) => {
    const demo = start(context, "sale/main.ts");
    await demo.printed(mastersAreOurs ? / hung / : / cut /);
    demo.signal("SIGINT");
    expect(await demo.exit()).toBe(130);
    expect(demo.output).toContain("nothing is left running");
    expect(demo.family.size).toBeGreaterThanOrEqual(mastersAreOurs ? 11 : 6);
    expect(await demo.survivors(grace)).toEqual([]);
    expect(demo.leftovers).toEqual([]);
  });

  test("leaves nothing running when it is killed", async (context) => {
    const demo = start(context, "sale/main.ts");
    await demo.printed(mastersAreOurs ? / hung / : / cut /);
    demo.signal("SIGKILL");
    expect(await demo.exit()).toBe("SIGKILL");
    // No process is left to wait for them: the workers and the watchdog must notice.
    expect(await demo.survivors(5_000)).toEqual([]);
    expect(demo.leftovers).toEqual([]);
  });
});

test.concurrent("the lottery is drawn once", { timeout }, async (context) => {
  const lottery = start(context, "lottery/main.ts");
  await lottery.printed(/ ready /);
  const code = await lottery.exit();
  expect(lottery.errors).toBe("");
  expect(code, lottery.output).toBe(0);
  expect(lottery.output.match(/^ *\d+\.\d\d s {2}lock .* draws ticket \d{6}/gm)).toHaveLength(1);
  expect(lottery.output.match(/^ *\d+\.\d\d s {2}null .* leaves it/gm)).toHaveLength(5);
  expect(lottery.output).toContain("drawn 1 time by 6 servers");
  expect(await lottery.survivors(grace)).toEqual([]);
  expect(lottery.leftovers).toEqual([]);
});

test.concurrent("a write that comes too late is turned away by its fencing token", {
  timeout,
}, async (context) => {
  const fencing = start(context, "fencing/main.ts");
  await fencing.printed(/ paused /);
  const code = await fencing.exit();
  expect(fencing.errors).toBe("");
  expect(code, fencing.output).toBe(0);
  const tokens = [...fencing.output.matchAll(/with fencing token (\d+)$/gm)].map(([, token]) =>
    Number(token),
  );
  expect(tokens).toHaveLength(2);
  expect(tokens[1]).toBeGreaterThan(tokens[0]!);
  const events = [...fencing.output.matchAll(/^ *\d+\.\d\d s {2}(\w+)/gm)].map(([, event]) => event);
  expect(events).toEqual(["lock", "paused", "lock", "written", "awake", "refused", "looks"]);
  expect(fencing.output).toContain("Anna's lock is lost");
  expect(fencing.output).toContain("the balance is 50:");
  expect(await fencing.survivors(grace)).toEqual([]);
  expect(fencing.leftovers).toEqual([]);
});

test.concurrent("the quick start runs as it is printed", { timeout }, async (context) => {
  await using masters = await startMasters(5);
  const quickStart = start(context, "quick-start.ts", { REDLOCK_NODES: masters.urls.join() });
  const code = await quickStart.exit();
  expect(quickStart.errors).toBe("");
  expect(code).toBe(0);
  expect(quickStart.output).toMatch(/^invoice:42 is mine, for 4\d{3} ms\n2 invoices booked together\n$/);
});

// By itself: it is told by the time that it takes.
test("a process ends once it has quit", { timeout }, async (context) => {
  await using masters = await startMasters(5);
  const quickStart = start(context, "quick-start.ts", { REDLOCK_NODES: masters.urls.join() });
  await quickStart.printed(/booked together\n/);
  const printed = performance.now();
  await quickStart.exit();
  // All that comes after its last line is `redlock.quit()`.
  expect(performance.now() - printed).toBeLessThan(1000);
});
