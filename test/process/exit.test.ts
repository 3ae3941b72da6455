import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type Masters, startMasters } from "@quorlock/testbed";
import { describe, expect, it } from "vitest";
import { scenarios } from "./scenarios.ts";

const child = fileURLToPath(new URL("child.ts", import.meta.url));

/** For a busy machine, ms. */
const slack = 1500;
/** ioredis's `disconnectTimeout`: so long it waits for a connection to close that its master does not close, ms. */
const disconnectTimeout = 2000;

/** What a process may need to exit after its last act, ms. */
function boundOf(name: string): number {
  if (!/hung|dead|died/.test(name)) return slack;
  // Our connections follow the user's client: they begin to close when that one is closed.
  return slack + disconnectTimeout * (name.startsWith("the clients") ? 2 : 1);
}

interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** From "over" to the exit, ms. */
  readonly took: number;
  readonly said: readonly string[];
  readonly complaints: string;
}

const acts: Record<string, (masters: Masters) => Promise<unknown>> = {
  hang: ({ list }) => Promise.all(list.slice(1).map((master) => master.hang())),
  "hang all": ({ list }) => Promise.all(list.map((master) => master.hang())),
  kill: ({ list }) => Promise.all(list.slice(1).map((master) => master.kill())),
  "kill all": ({ list }) => Promise.all(list.map((master) => master.kill())),
};

async function run(name: string, masters: Masters): Promise<Ending> {
  const source = ["--import", "tsx", "--conditions=quorlock-source"];
  const running = spawn(process.execPath, [...source, child, name, ...masters.urls], {
    stdio: ["pipe", "pipe", "pipe"],
  });
  const said: string[] = [];
  let complaints = "";
  let over = Number.NaN;
  let killer: NodeJS.Timeout | undefined;
  running.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaints += text;
  });
  createInterface({ input: running.stdout }).on("line", (line) => {
    said.push(line);
    if (line === "over") {
      over = performance.now();
      killer = setTimeout(() => running.kill("SIGKILL"), boundOf(name));
    } else {
      void acts[line]!(masters).then(() => running.stdin.write("done\n"));
    }
  });
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) => {
    running.once("exit", (exitCode, exitSignal) => resolve([exitCode, exitSignal]));
  });
  const took = performance.now() - over;
  clearTimeout(killer);
  return { code, signal, took, said, complaints };
}

describe.concurrent("a process exits by itself, without an error:", () => {
  it.each(Object.keys(scenarios))("%s", async (name) => {
    await using masters = await startMasters(3, { say: () => {} });
    const ending = await run(name, masters);
    expect(ending.complaints).toBe("");
    expect(ending.said.at(-1)).toBe("over");
    // SIGKILL means that something kept it alive.
    expect({ code: ending.code, signal: ending.signal }).toEqual({ code: 0, signal: null });
  });
});
