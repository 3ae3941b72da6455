import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Masters } from "@quorlock/testbed";

/** A program that contends for the lock; it is given its {@link Task} as one more argument. */
export interface Contender {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** The settings of each contender. It says "ready", waits for a line, contends, and says what came of it. */
export interface Task {
  readonly masters: ReadonlyArray<{ readonly host: string; readonly port: number }>;
  readonly resource: string;
  /** Milliseconds. */
  readonly ttl: number;
  /** Milliseconds. */
  readonly duration: number;
  /** Of the files that the lock guards: `inside`, which is there while somebody is inside, and `count`. */
  readonly folder: string;
}

export interface Tally {
  readonly grants: number;
  /** Grants with which somebody else was inside already. */
  readonly overlaps: number;
}

export interface Outcome {
  /** By the contenders' names. */
  readonly tallies: Readonly<Record<string, Tally>>;
  /** Grants whose count was written over by somebody who had read it before. */
  readonly lostUpdates: number;
}

/** The time all have to connect, and to end after the measured time, ms: a client may have to wait for its turn. */
const slack = 60_000;

/** All contend for one lock at the same time, `duration` ms long. Fails when one of them does. */
export async function contend(
  masters: Masters,
  contenders: readonly Contender[],
  duration: number,
): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), "quorlock-interop-"));
  const count = join(folder, "count");
  writeFileSync(count, "0");
  const task: Task = {
    masters: masters.list.map(({ host, port }) => ({ host, port })),
    resource: "interop",
    ttl: 10_000,
    duration,
    folder,
  };
  const running = contenders.map((contender) => new Running(contender, task));
  const timer = setTimeout(() => {
    for (const one of running) one.kill();
  }, duration + slack);
  try {
    await Promise.all(running.map(({ ready }) => ready));
    for (const one of running) one.start();
    const tallies = await Promise.all(running.map(async ({ name, tally }) => [name, await tally] as const));
    const grants = tallies.reduce((sum, [, tally]) => sum + tally.grants, 0);
    const lostUpdates = grants - Number(readFileSync(count, "utf8"));
    return { tallies: Object.fromEntries(tallies), lostUpdates };
  } finally {
    clearTimeout(timer);
    for (const one of running) one.kill();
    rmSync(folder, { recursive: true });
  }
}

class Running {
  readonly name: string;
  readonly ready: Promise<void>;
  readonly tally: Promise<Tally>;
  readonly #child: ChildProcess;

  constructor({ name, command, args, env }: Contender, task: Task) {
    this.name = name;
    this.#child = spawn(command, [...args, JSON.stringify(task)], {
      stdio: ["pipe", "pipe", "pipe"],
      env: { ...process.env, ...env },
    });
    let complaints = "";
    this.#child.stderr!.setEncoding("utf8").on("data", (text: string) => {
      complaints += text;
    });
    const lines: string[] = [];
    const ended = new Promise<never>((_, reject) => {
      this.#child.once("error", reject);
      this.#child.once("close", (code, signal) =>
        reject(new Error(`${name} ended (${code ?? signal}) after ${lines.length} lines: ${complaints}`)),
      );
    });
    const said = (index: number): Promise<string> => {
      const line = new Promise<string>((resolve) => {
        output.on("line", () => lines.length > index && resolve(lines[index]!));
      });
      const result = Promise.race([line, ended]);
      // The first one that fails is what the others are ended for.
      result.catch(() => {});
      return result;
    };
    const output = createInterface({ input: this.#child.stdout! }).on("line", (line) => lines.push(line));
    this.ready = said(0).then(() => {});
    this.ready.catch(() => {});
    this.tally = said(1).then((line) => JSON.parse(line) as Tally);
    this.tally.catch(() => {});
  }

  start(): void {
    this.#child.stdin!.end("go\n");
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }
}
