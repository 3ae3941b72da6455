import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Child } from "@quorlock/simulation/processes";
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
  /** Has the files that the lock guards: `inside`, which exists while a process holds the lock, and `count`. */
  readonly folder: string;
}

export interface Tally {
  readonly grants: number;
  /** Grants while another process was inside. */
  readonly overlaps: number;
}

export interface Outcome {
  /** By the contenders' names. */
  readonly tallies: Readonly<Record<string, Tally>>;
  /** Counts that were overwritten by a process with an older value. */
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
  const running = contenders.map(({ name, command, args, env }) => ({
    name,
    child: new Child(command, [...args, JSON.stringify(task)], env ? { env } : {}),
  }));
  type Running = (typeof running)[number];
  const line = ({ name, child }: Running, index: number): Promise<string> =>
    child.until(`line ${index + 1} of ${name}`, () => child.lines[index], duration + slack);
  try {
    await Promise.all(running.map((one) => line(one, 0)));
    for (const { child } of running) child.process.stdin!.end("go\n");
    const tallyOf = async (one: Running) => [one.name, JSON.parse(await line(one, 1)) as Tally] as const;
    const tallies = await Promise.all(running.map(tallyOf));
    const grants = tallies.reduce((sum, [, tally]) => sum + tally.grants, 0);
    const lostUpdates = grants - Number(readFileSync(count, "utf8"));
    return { tallies: Object.fromEntries(tallies), lostUpdates };
  } finally {
    await Promise.all(running.map(({ child }) => child.kill()));
    rmSync(folder, { recursive: true });
  }
}
