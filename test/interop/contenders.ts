import { execFile } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { sourceFlags } from "@quorlock/simulation/processes";
import { findExecutable, installPackage, usablePackageManager } from "@quorlock/testbed";
import type { Contender } from "./contention.ts";

/** Why one is not there. */
export interface Missing {
  readonly name: string;
  readonly missing: string;
}

const run = promisify(execFile);
/** The time limit of one step of a set-up, ms: a download, or a compiler on a busy machine. */
const timeout = 300_000;
/** Git ignores it; a second run finds it there. */
const cache = fileURLToPath(new URL("../node_modules/.cache/interop/", import.meta.url));
const python = fileURLToPath(new URL("python/", import.meta.url));
/** Nothing compiled is left beside the sources. */
const pythonArguments = ["-B"];
const go = fileURLToPath(new URL("go/", import.meta.url));

/** The client under test. */
export function quorlock(): Contender {
  const program = fileURLToPath(new URL("quorlock.ts", import.meta.url));
  return { name: "quorlock", command: process.execPath, args: [...sourceFlags, program] };
}

/** The `Lock` of redis-py, as the distribution packages it (python3-redis) or as it is there already. */
export async function redisLock(mayInstall: boolean): Promise<Contender | Missing> {
  const name = "redis-py Lock";
  try {
    let interpreter = await pythonWithRedis();
    if (interpreter === undefined && mayInstall) {
      await install("python3-redis");
      interpreter = await pythonWithRedis();
    }
    if (interpreter === undefined) return { name, missing: "no python3 here has the module redis" };
    return { name, command: interpreter, args: [...pythonArguments, join(python, "redis_lock.py")] };
  } catch (error) {
    return { name, missing: reasonOf(error) };
  }
}

/** redlock-py from PyPI. */
export async function redlockPy(): Promise<Contender | Missing> {
  const name = "redlock-py";
  const interpreter = findExecutable(["python3"]);
  if (interpreter === undefined) return { name, missing: "no python3 on the PATH" };
  const modules = join(cache, "python");
  const requirements = join(python, "requirements.txt");
  try {
    await run(
      interpreter,
      ["-m", "pip", "install", "--quiet", "--upgrade", "--target", modules, "--requirement", requirements],
      { timeout },
    );
  } catch (error) {
    return { name, missing: reasonOf(error) };
  }
  return {
    name,
    command: interpreter,
    args: [...pythonArguments, join(python, "redlock_py.py")],
    env: { PYTHONPATH: modules },
  };
}

/** redsync, by way of the module proxy. */
export async function redsync(): Promise<Contender | Missing> {
  const name = "redsync";
  const command = join(cache, "redsync");
  try {
    if (findExecutable(["go"]) === undefined) await install("golang-go");
    mkdirSync(cache, { recursive: true });
    // The compiler that is there: none is downloaded.
    const env = { ...process.env, GOTOOLCHAIN: "local" };
    await run("go", ["build", "-o", command, "."], { cwd: go, env, timeout });
  } catch (error) {
    return { name, missing: reasonOf(error) };
  }
  return { name, command, args: [] };
}

async function pythonWithRedis(): Promise<string | undefined> {
  for (const interpreter of [findExecutable(["python3"]), findExecutable(["python3"], ["/usr/bin"])]) {
    if (interpreter === undefined) continue;
    const found = await run(interpreter, ["-c", "import redis.lock"], { timeout }).then(
      () => true,
      () => false,
    );
    if (found) return interpreter;
  }
  return undefined;
}

async function install(packageName: string): Promise<void> {
  const { REDLOCK_NO_INSTALL = "" } = process.env;
  if (REDLOCK_NO_INSTALL !== "" && REDLOCK_NO_INSTALL !== "0") {
    throw new Error(`${packageName} is not there, and REDLOCK_NO_INSTALL forbids to install it`);
  }
  const manager = usablePackageManager();
  if (typeof manager !== "string") throw new Error(manager.unusable);
  if (manager !== "apt-get") throw new Error(`${packageName} is not there; it is installed by apt-get only`);
  console.log(`interop: installing ${packageName} (REDLOCK_NO_INSTALL=1 forbids it)`);
  await installPackage(manager, packageName, []);
}

/** The last line is the error. */
function reasonOf(error: unknown): string {
  const { stderr, message } = error as Partial<Record<"stderr" | "message", string>>;
  const lines = (stderr?.trim() || message || String(error)).split("\n");
  return lines.slice(-2).join(" ");
}
