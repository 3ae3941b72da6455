import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { constants, setPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Tools } from "./tools.ts";

/** The modules of the specification. */
export const modules: string = fileURLToPath(new URL("../../../spec/", import.meta.url));

/** One search of TLC. */
export interface Search {
  readonly module: string;
  /** The text of the configuration file. */
  readonly config: string;
  /** The texts of generated modules, by their names; they stand before those of the specification. */
  readonly texts?: Readonly<Record<string, string>>;
  /** It gains by code that is compiled twice, as one of seconds does not. */
  readonly isLong?: boolean;
  /** How often each action is taken is counted: that takes half as long again. */
  readonly isCounted?: boolean;
  /** Random behaviours instead of all states. */
  readonly simulate?: Simulation;
}

export interface Simulation {
  readonly seed: number;
  readonly behaviours: number;
  readonly depth: number;
}

export interface Found {
  /** `holds`, or the name of what is violated. */
  readonly verdict: string;
  /** Distinct states; in a simulation those that were generated. */
  readonly states: number;
  readonly depth: number;
  readonly seconds: number;
  /** How often each action was taken, of those that are counted. */
  readonly taken: ReadonlyMap<string, number>;
  readonly output: string;
}

/** A search that ended neither with a verdict nor with a violation: an error in a module, say. */
export class TlcError extends Error {
  override readonly name = "TlcError";
  /** All that TLC has said. */
  readonly output: string;

  constructor(message: string, output = "") {
    super(`${message}:\n${lastLines(output)}`);
    this.output = output;
  }
}

/** Runs TLC with one thread and low priority. `limit`: after so many seconds it is ended, which is an error. */
export async function check(
  tools: Tools,
  { module, config, texts = {}, simulate, isLong = false, isCounted = false }: Search,
  limit: number,
  interrupted?: AbortSignal,
): Promise<Found> {
  const folder = mkdtempSync(join(tmpdir(), "quorlock-spec-"));
  try {
    const file = join(folder, `${module}.cfg`);
    writeFileSync(file, config);
    for (const [name, text] of Object.entries(texts)) writeFileSync(join(folder, `${name}.tla`), text);
    const args = [
      "-Xmx1500m",
      "-XX:+UseSerialGC",
      ...(isLong ? [] : ["-XX:TieredStopAtLevel=1"]),
      `-Djava.io.tmpdir=${folder}`,
      `-DTLA-Library=${modules}`,
      "-cp",
      tools.jar,
      "tlc2.TLC",
    ];
    args.push("-workers", "1", "-deadlock", "-difftrace", "-nowarning", "-metadir", join(folder, "states"));
    if (isCounted) args.push("-coverage", "60");
    if (simulate) args.push("-simulate", `num=${simulate.behaviours}`, "-depth", `${simulate.depth}`);
    if (simulate) args.push("-seed", `${simulate.seed}`);
    args.push("-config", file, module);
    // TLC takes the path of a configuration file from where the module is.
    const place = texts[module] === undefined ? modules : folder;
    const began = performance.now();
    const output = await outputOf(tools.java, args, place, limit, interrupted);
    return foundIn(output, config, (performance.now() - began) / 1000);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function outputOf(
  java: string,
  args: readonly string[],
  cwd: string,
  limit: number,
  interrupted?: AbortSignal,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(java, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
    if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
    let output = "";
    const collect = (bytes: Buffer): void => {
      output += bytes.toString();
    };
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    let isTooLong = false;
    const timer = setTimeout(() => {
      isTooLong = true;
      child.kill("SIGKILL");
    }, limit * 1000);
    const onAbort = (): void => void child.kill("SIGKILL");
    interrupted?.addEventListener("abort", onAbort, { once: true });
    child.once("error", reject);
    child.once("close", () => {
      clearTimeout(timer);
      interrupted?.removeEventListener("abort", onAbort);
      if (isTooLong) reject(new TlcError(`TLC has not ended within ${limit} s`, output));
      else resolve(output);
    });
  });
}

function foundIn(output: string, config: string, seconds: number): Found {
  const states =
    /generated, ([\d,]+) distinct states found/.exec(output) ??
    /([\d,]+) states checked\.\s+Finished/.exec(output);
  const depth =
    /complete state graph search is (\d+)/.exec(output) ?? /State (\d+):(?!.*State \d+:)/s.exec(output);
  const violated =
    /Invariant (\w+) is violated/.exec(output) ??
    /Action property (.+?) is violated/.exec(output) ??
    // (TLC does not say which: of each module one is temporal.)
    (/Temporal properties were violated/.test(output) ? /^PROPERTY (\w+)/m.exec(config) : undefined);
  const isOver = /No error has been found|states checked\.\s+Finished in/.test(output);
  const isError = /Error:/.test(output);
  if (!violated && (isError || !isOver)) throw new TlcError("TLC found no verdict", output);
  return {
    verdict: violated?.[1] ?? "holds",
    states: Number((states?.[1] ?? "0").replaceAll(",", "")),
    depth: Number(depth?.[1] ?? 0),
    seconds,
    taken: takenIn(output),
    output,
  };
}

/**
 * TLC names a disjunct of another action by its place, where its own text names the action first. One without a name is FALSE,
 * which bounds have in place of an action.
 */
function takenIn(output: string): ReadonlyMap<string, number> {
  const taken = new Map<string, number>();
  const lines = /^<(?!\w*Init|Action )(\w+) line .* module (\w+)(?: \((\d+) (\d+) .*\))?>: \d+:(\d+)$/gm;
  for (const [, name = "", module, line, column, count] of output.matchAll(lines)) {
    const text = line && readFileSync(join(modules, `${module}.tla`), "utf8").split("\n")[Number(line) - 1];
    const inner = text && /\b([A-Z]\w+)(?:\(| \/\\)/.exec(text.slice(Number(column) - 1))?.[1];
    taken.set(inner || name, (taken.get(inner || name) ?? 0) + Number(count));
  }
  return taken;
}

function lastLines(output: string): string {
  return output.trim().split("\n").slice(-25).join("\n");
}
