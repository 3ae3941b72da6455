import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, openSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { findExecutable } from "../servers/executables.ts";
import { installPackage, usablePackageManager } from "../servers/packages.ts";
import { startWatchdog } from "../watchdog.ts";

const startTimeoutMilliseconds = 30_000;

/** A Docker engine that answers. */
export interface DockerEngine extends AsyncDisposable {
  /** For `DOCKER_HOST`; undefined: the engine that the docker command finds. */
  readonly host: string | undefined;
  /** Whether it was started here, and so ends with `stop`. */
  readonly started: boolean;
  /** Ends the engine, its containers and its data, if it was started here. */
  stop(): Promise<void>;
}

/**
 * The Docker engine that answers, or one started for the purpose, with its own socket and its own data in a
 * temporary directory. Where dockerd is missing, docker.io is installed first (root and apt-get only;
 * `REDLOCK_NO_INSTALL=1` forbids it). Throws when none of this works.
 */
export async function startDockerEngine(
  say: (line: string) => void = (line) => console.error(line),
): Promise<DockerEngine> {
  if (answers(undefined)) return engineOf(undefined, async () => {});
  if (!findDockerd()) await installDockerd(say);
  const began = performance.now();
  const directory = mkdtempSync(join(tmpdir(), "quorlock-docker-"));
  const host = `unix://${join(directory, "docker.sock")}`;
  const logPath = join(directory, "dockerd.log");
  const log = openSync(logPath, "a");
  const daemon = spawn(
    findDockerd() ?? "dockerd",
    [
      ["--host", host],
      ["--data-root", join(directory, "data")],
      ["--exec-root", join(directory, "exec")],
      ["--pidfile", join(directory, "docker.pid")],
    ].flat(),
    { stdio: ["ignore", log, log], detached: true },
  );
  const ended = endOf(daemon);
  const watchdog = startWatchdog("sh", ["-c", engineWatch, "quorlock-watchdog", `${daemon.pid}`, directory]);
  const stop = async (): Promise<void> => {
    daemon.kill("SIGTERM");
    await ended.promise;
    await rm(directory, { recursive: true, force: true });
    watchdog.dismiss();
  };
  const deadline = began + startTimeoutMilliseconds;
  while (!answers(host)) {
    if (ended.isOver() || performance.now() > deadline) {
      const output = readFileSync(logPath, "utf8").slice(-3000);
      await stop();
      throw new Error(`dockerd did not start; its output:\n${output}`);
    }
    await pause(50);
  }
  say(`testbed: dockerd started in ${Math.round(performance.now() - began)} ms`);
  return engineOf(host, stop);
}

// dockerd ends its containers and its containerd when it is asked to end, and only then.
const engineWatch = `
while read -r _; do :; done
kill "$1"
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
  kill -0 "$1" || break
  sleep 1
done
rm -rf "$2"
`;

function engineOf(host: string | undefined, end: () => Promise<void>): DockerEngine {
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopped ??= end();
    return stopped;
  };
  return { host, started: host !== undefined, stop, [Symbol.asyncDispose]: stop };
}

function endOf(child: ChildProcess): { promise: Promise<void>; isOver(): boolean } {
  let isOver = false;
  const promise = new Promise<void>((resolve) => {
    const over = (): void => {
      isOver = true;
      resolve();
    };
    child.once("exit", over);
    child.once("error", over);
  });
  return { promise, isOver: () => isOver };
}

function findDockerd(): string | undefined {
  return findExecutable(["dockerd"]) ?? findExecutable(["dockerd"], ["/usr/sbin", "/usr/bin"]);
}

async function installDockerd(say: (line: string) => void): Promise<void> {
  const { REDLOCK_NO_INSTALL = "" } = process.env;
  const manager = usablePackageManager();
  if (REDLOCK_NO_INSTALL !== "" && REDLOCK_NO_INSTALL !== "0") {
    throw new Error("no Docker engine answers, and REDLOCK_NO_INSTALL forbids to install one");
  }
  if (manager !== "apt-get") {
    const reason = typeof manager === "string" ? `${manager} is not supported here` : manager.unusable;
    throw new Error(`no Docker engine answers, and none can be installed: ${reason}`);
  }
  const began = performance.now();
  say("testbed: no Docker engine on this machine, installing docker.io with apt-get");
  await installPackage(manager, "docker.io", ["dockerd"]);
  say(`testbed: docker.io installed in ${((performance.now() - began) / 1000).toFixed(1)} s`);
}

function answers(host: string | undefined): boolean {
  const environment = host === undefined ? process.env : { ...process.env, DOCKER_HOST: host };
  return spawnSync("docker", ["info"], { env: environment, stdio: "ignore", timeout: 10_000 }).status === 0;
}

/** Runs a command with an engine up; its exit code becomes ours. */
async function runWithEngine(command: string, commandArguments: readonly string[]): Promise<void> {
  await using engine = await startDockerEngine();
  const environment = engine.host === undefined ? process.env : { ...process.env, DOCKER_HOST: engine.host };
  const child = spawn(command, commandArguments, { env: environment, stdio: "inherit" });
  process.exitCode = await new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => resolve(code ?? 1));
  });
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [command, ...commandArguments] = process.argv.slice(2);
  if (command === undefined) {
    console.error("usage: docker-engine.ts command [argument...]\nRuns the command with a Docker engine up.");
    process.exitCode = 2;
  } else {
    await runWithEngine(command, commandArguments);
  }
}
