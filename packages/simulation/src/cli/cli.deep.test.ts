import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { UsageError } from "../command-line/options.ts";
import { promisedPlan } from "../plan/swarm.ts";
import { runProgram } from "../processes/run-program.ts";
import { localRunner } from "../search/runner.ts";
import { shrink as shrinkPlan } from "../search/shrink.ts";
import { subjectFrom } from "./arguments.ts";
import type { Command } from "./command.ts";
import { explore } from "./explore.ts";
import { replay } from "./replay.ts";
import { run } from "./run.ts";
import { shrink } from "./shrink.ts";

const main = new URL("main.ts", import.meta.url);

interface Said {
  readonly code: number | null;
  readonly lines: readonly string[];
  readonly errors: string;
}

/** As a user calls it, in its own process. */
async function sim(...args: readonly string[]): Promise<Said> {
  return interrupt(undefined, ...args);
}

/** Sends Ctrl-C to it as soon as it has printed a line that matches `ready`. */
async function interrupt(ready: RegExp | undefined, ...args: readonly string[]): Promise<Said> {
  const { code, output, errors } = await runProgram(main, args, { interruptAt: ready });
  return { code, lines: output.trim().split("\n"), errors };
}

/** The same in this process: what it prints, and its exit code. */
async function said(
  command: Command,
  ...args: readonly string[]
): Promise<{ code: number; lines: readonly string[] }> {
  const lines: string[] = [];
  const log = vi
    .spyOn(console, "log")
    .mockImplementation((line) => void lines.push(...String(line).split("\n")));
  try {
    return { code: await command.run(args), lines };
  } finally {
    log.mockRestore();
  }
}

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "quorlock-cli-"));
});
afterAll(() => rm(folder, { recursive: true }));

describe("pnpm sim", () => {
  test("run: the last lines are seed, verdict and hash", async () => {
    const first = await sim("run", "--seed", "6");
    expect(first.lines.slice(-3)).toEqual([
      "seed 6",
      "verdict ok",
      expect.stringMatching(/^hash [0-9a-f]{16}$/) as string,
    ]);
    expect(first.code).toBe(0);
  });

  test("bad usage is exit 64, with the mistake in one line", async () => {
    const { code, errors } = await sim("run", "--seed", "x");
    expect(code).toBe(64);
    expect(errors).toMatch(/^--seed must be a whole number .+ \(npx -y pnpm@12 sim run --help\)\n$/);
  });

  test.each([[[]], [["fly"]], [["toString"]]])(
    "a missing or unknown command is exit 64: %j",
    async (args) => {
      const { code, errors } = await sim(...args);
      expect(code).toBe(64);
      expect(errors).toMatch(/^(a|unknown) command .*\(npx -y pnpm@12 sim --help\)\n$/);
    },
  );

  test("--help lists every command, and has examples", async () => {
    const { code, lines } = await sim("--help");
    expect(code).toBe(0);
    expect(lines.join("\n")).toMatch(/sim run .*sim explore .*sim replay .*sim shrink /s);
    const examples = lines.slice(lines.indexOf("Examples:") + 1);
    expect(examples.length).toBeGreaterThan(2);
    expect(examples.filter((line) => !/^ {2}npx -y pnpm@12 sim \w+/.test(line))).toEqual([]);
  });
});

describe("Ctrl-C", () => {
  test("explore prints the violations and counts so far, and exits with 130", async () => {
    const { code, lines, errors } = await interrupt(
      /^replay: /m,
      ...["explore", "--seeds", "1000000", "--mutant", "a minority is a quorum"],
    );
    expect(code).toBe(130);
    expect(lines).toContainEqual(expect.stringMatching(/^interrupted after \d+ of 1000000 runs$/));
    expect(lines.at(-1)).toBe("verdict violated");
    expect(errors).not.toMatch(/^ {4}at /m);
  });

  test("shrink saves the smallest plan so far", async () => {
    const controller = new AbortController();
    const mutant = "only the monotonic clock counts";
    const { subject } = await subjectFrom({ mutant });
    const shrunk = await shrinkPlan(promisedPlan(99), localRunner({ subject }), {
      interrupted: controller.signal,
      onStep: () => controller.abort(),
    });
    expect(shrunk?.runs).toBeLessThan(20);
    expect(shrunk?.outcome.verdict).toBe("violated");
  });
});

describe("explore", () => {
  test("has the same results for any number of threads", async () => {
    const [one, three] = [
      await said(explore, "--from", "14", "--seeds", "6", "--workers", "1"),
      await said(explore, "--from", "14", "--seeds", "6", "--workers", "3"),
    ];
    expect(one.lines.slice(-2)).toEqual(["6 runs: 0 violated, 0 unknown", "verdict ok"]);
    // The first line contains the duration; all others are compared.
    expect(three.lines.slice(1)).toEqual(one.lines.slice(1));
    expect([one.code, three.code]).toEqual([0, 0]);
  });

  test("prints the command that replays each violation, and it does", async () => {
    const { code, lines } = await said(explore, "--seeds", "2", "--mutant", "a minority is a quorum");
    expect(code).toBe(1);
    const command = lines.find((line) => line.startsWith("replay: "))!;
    const [, seed, mutant] = /sim run --seed (\d+) --subject "(.*)"$/.exec(command)!;
    const again = await said(run, "--seed", seed!, "--subject", mutant!);
    expect(again.code).toBe(1);
  });

  test("guided: a varied plan has no seed, so it is saved and replayed from its file", async () => {
    // The first 32 are drawn, those after them are bred.
    const runs = ["--from", "200", "--seeds", "48"];
    const { lines } = await said(explore, ...runs, "--beyond", "--mode", "guided");
    const command = lines.findLast((line) => line.startsWith("replay: "))!;
    const [, path] = /sim replay "(.*)"$/.exec(command)!;
    expect((await said(replay, path!)).code).toBe(1);
    await Promise.all(
      lines.flatMap((line) => /sim replay "(.*)"$/.exec(line)?.[1] ?? []).map((file) => rm(file)),
    );
  });
});

describe("replay", () => {
  test("produces the saved hash, also where the name of the file looks like a link", async () => {
    const file = join(folder, "saved#6.json");
    const saved = await said(run, "--seed", "6", "--save", file);
    const replayed = await said(replay, file);
    expect(replayed.lines.slice(-3)).toEqual(saved.lines.slice(-3));
    expect(replayed.code).toBe(0);
  });

  test("of another hash is exit 3", async () => {
    const file = join(folder, "other.json");
    await said(run, "--seed", "6", "--save", file);
    const text = await readFile(file, "utf8");
    await writeFile(file, text.replace(/"hash": "[0-9a-f]+"/, '"hash": "0123456789abcdef"'));
    const { code, lines } = await said(replay, file);
    expect(code).toBe(3);
    expect(lines).toContainEqual(expect.stringContaining("expected verdict ok and hash 0123456789abcdef"));
  });
});

describe("shrink", () => {
  test("prints the shortest course of events, and saves it as a run with the same violation", async () => {
    const out = join(folder, "shrunk.json");
    const mutant = "only the monotonic clock counts";
    const { code, lines } = await said(shrink, "--seed", "99", "--mutant", mutant, "--out", out);
    expect(code).toBe(1);
    expect(lines).toContainEqual(expect.stringMatching(/fault: .*suspended/));
    expect(lines).toContainEqual(expect.stringMatching(/ms {2}belief: /));
    expect((await said(replay, out)).code).toBe(1);
  });

  test("of a run without a violation does nothing", async () => {
    expect(await said(shrink, "--seed", "6")).toEqual({
      code: 0,
      lines: ["nothing is violated: there is nothing to shrink"],
    });
  });
});

describe("bad input", () => {
  const beyond = "--beyond";
  test.each<[Command, readonly string[], string]>([
    [run, [], "--seed is missing"],
    [run, ["--seed"], "argument missing"],
    [run, ["--seed", "-1"], "ambiguous"],
    [run, ["--seed=-1"], "--seed must be a whole number"],
    [run, ["--seed", "1", "--colour", "red"], "--colour"],
    [run, ["1"], "one argument too many"],
    [run, ["--seed", "1", "--mutant", "a minorty is a quorum"], 'did you mean "a minority is a quorum"?'],
    [explore, ["--seeds", "1", beyond, "--mode", "giuded"], 'did you mean "guided"?'],
    [run, ["--seed", "1", "--mutant", "x", "--subject", "y"], "exclude each other"],
    [explore, [], "--seeds is missing"],
    [explore, ["--seeds", "0"], "of at least 1"],
    [explore, ["--seeds", "1", "--attempts", "1"], "exclude each other"],
    [explore, ["--seeds", "1", "--mode", "guided"], "needs --beyond"],
    [replay, [], "file or link to replay is missing"],
    [replay, ["a.json", "b.json"], "one argument too many"],
    [replay, ["/nowhere/at/all.json"], "cannot be read"],
    [shrink, [], "either a file or --seed"],
    [shrink, ["a.json", "--seed", "1"], "either a file or --seed"],
    [shrink, ["a.json", "--beyond"], "--beyond needs --seed"],
  ])("%o %j", async (command, args, message) => {
    const error: unknown = await command.run(args).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(UsageError);
    expect(String(error)).toContain(message);
  });

  test.each([
    ["{", "no JSON"],
    ["[]", "file.version: is missing"],
    ['{"version": 2}', "file.version: 2 is unknown here"],
    ['{"version": 1}', "file.plan"],
    ['{"version": 1, "plan": {"version": 1}}', "plan.seed"],
  ])("a file that holds %s", async (text, message) => {
    const file = join(folder, "corrupt.json");
    await writeFile(file, text);
    await expect(replay.run([file])).rejects.toThrow(message);
    await expect(replay.run([file])).rejects.toThrow(UsageError);
  });
});
