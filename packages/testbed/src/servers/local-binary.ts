import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { mkdir, open, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Master, type Masters, mastersOf, type Unavailable, type WayOptions } from "../masters.ts";
import { type Watchdog, watchProcesses } from "../watchdog.ts";
import { findExecutable } from "./executables.ts";
import { untilAnswers } from "./ping.ts";
import { PortTakenError, untilRefused, withFreePort } from "./ports.ts";
import { redisArguments } from "./redis-arguments.ts";

const host = "127.0.0.1";
const startTimeoutMilliseconds = 15_000;
const stopTimeoutMilliseconds = 5000;

/** `REDLOCK_ENGINE`, or the first redis-server or valkey-server in the folders, default those of `PATH`. */
export function findServerBinary(folders?: readonly string[]): string | undefined {
  const { REDLOCK_ENGINE } = process.env;
  if (REDLOCK_ENGINE && !folders) return REDLOCK_ENGINE;
  return findExecutable(["redis-server", "valkey-server"], folders);
}

/** Masters from a server binary on the PATH: own loopback ports, own temporary directory. */
export async function mastersFromLocalBinary(
  count: number,
  options: WayOptions,
): Promise<Masters | Unavailable> {
  const binary = findServerBinary();
  if (!binary) return { unavailable: "neither redis-server nor valkey-server is on the PATH" };
  return startBinary(binary, count, options, "local-binary");
}

/** Starts `count` masters from `binary`, in parallel; when one fails, none is left running. */
export async function startBinary(
  binary: string,
  count: number,
  options: WayOptions,
  source: "local-binary" | "installed",
): Promise<Masters> {
  const began = performance.now();
  const directory = mkdtempSync(join(tmpdir(), "quorlock-masters-"));
  const watchdog = watchProcesses(directory);
  const processes: ServerProcess[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(processes.map((server) => server.end()));
    await rm(directory, { recursive: true, force: true });
    // Last: a process that ends meanwhile leaves the rest to it.
    watchdog.dismiss();
  };
  const startOne = async (index: number): Promise<Master> =>
    withFreePort(async (port) => {
      const server = new ServerProcess(binary, port, join(directory, `${index}-${port}`), options, watchdog);
      processes.push(server);
      await server.start();
      return server;
    });
  const started = await Promise.allSettled(Array.from({ length: count }, (_, index) => startOne(index)));
  const failure = started.find((result) => result.status === "rejected");
  if (failure) {
    await stop();
    throw failure.reason;
  }
  const list = started.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  const milliseconds = Math.round(performance.now() - began);
  options.say(
    `testbed: ${count} masters (${binary}) on ports ${list.map((master) => master.port).join(", ")}, ` +
      `${milliseconds} ms`,
  );
  return mastersOf(source, list, stop);
}

/** One redis-server child process and its data directory. */
class ServerProcess implements Master {
  readonly host = host;
  readonly port: number;
  readonly url: string;
  readonly controllable = true;
  readonly #binary: string;
  readonly #directory: string;
  readonly #options: WayOptions;
  readonly #watchdog: Watchdog;
  #child: ChildProcess | undefined;
  #exited: Promise<void> = Promise.resolve();
  /** Settles when no start is under way. */
  #starting: Promise<void> = Promise.resolve();
  #isOver = false;

  constructor(binary: string, port: number, directory: string, options: WayOptions, watchdog: Watchdog) {
    this.#binary = binary;
    this.port = port;
    this.url = `redis://${host}:${port}`;
    this.#directory = directory;
    this.#options = options;
    this.#watchdog = watchdog;
  }

  async start(): Promise<void> {
    if (this.#isOver) throw new Error(`the master on port ${this.port} was stopped for good`);
    const starting = this.#startProcess();
    this.#starting = starting.catch(() => {});
    await starting;
  }

  async #startProcess(): Promise<void> {
    await mkdir(this.#directory, { recursive: true });
    const logStart = await this.#spawn();
    const child = this.#child;
    try {
      const answer = await untilAnswers(host, this.port, startTimeoutMilliseconds, () => {
        if (this.#child !== child || !child) throw new Error("the server process ended");
      });
      // A stranger that was faster to bind this port answers PING just as well.
      if (answer.processId !== undefined && answer.processId !== child?.pid) {
        throw new PortTakenError(`port ${this.port} answers as process ${answer.processId}`);
      }
    } catch (error) {
      await this.#terminate();
      throw error instanceof PortTakenError ? error : await this.#startError(error, logStart);
    }
  }

  /** Spawns the process; resolves with the length the log had before. */
  async #spawn(): Promise<number> {
    const log = await open(this.#logPath, "a");
    try {
      const logStart = (await log.stat()).size;
      if (this.#isOver) throw new Error(`the master on port ${this.port} was stopped meanwhile`);
      // A file, not a pipe: a test that blocks this event loop must not block the server's logging.
      const child = spawn(
        this.#binary,
        [
          "--port",
          `${this.port}`,
          "--bind",
          host,
          "--dir",
          this.#directory,
          ...redisArguments(this.#options),
        ],
        { cwd: this.#directory, stdio: ["ignore", log.fd, log.fd], detached: true },
      );
      this.#child = child;
      this.#exited = new Promise((resolve) => {
        const ended = (): void => {
          if (this.#child === child) this.#child = undefined;
          if (child.pid !== undefined) this.#watchdog.remove(child.pid);
          resolve();
        };
        child.once("exit", ended);
        child.once("error", ended);
      });
      if (child.pid !== undefined) this.#watchdog.add(child.pid);
      // A program that forgets to stop its masters still ends; the watchdog then ends them.
      child.unref();
      return logStart;
    } finally {
      await log.close();
    }
  }

  async #startError(cause: unknown, logStart: number): Promise<Error> {
    const log = (await readFile(this.#logPath)).subarray(logStart).toString().trim();
    if (/Address already in use|Failed listening/i.test(log)) return new PortTakenError(log, { cause });
    return new Error(`${this.#binary} did not start on port ${this.port}; its output:\n${log.slice(-4000)}`, {
      cause,
    });
  }

  get #logPath(): string {
    return join(this.#directory, "server.log");
  }

  async #terminate(): Promise<void> {
    const child = this.#child;
    if (!child) return;
    child.ref();
    child.kill("SIGKILL");
    await this.#exited;
  }

  /** Kills it for good: a restart that is under way, or comes later, fails and leaves no file. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#terminate();
    await this.#starting;
  }

  async kill(): Promise<void> {
    await this.#terminate();
    await untilRefused(host, this.port);
  }

  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }

  async hang(): Promise<void> {
    const child = this.#running("hang");
    child.kill("SIGSTOP");
    const deadline = performance.now() + stopTimeoutMilliseconds;
    while (!isStopped(child.pid as number)) {
      this.#running("hang");
      if (performance.now() > deadline) throw new Error(`the master on port ${this.port} does not stop`);
      await pause(1);
    }
  }

  async resume(): Promise<void> {
    this.#running("resume").kill("SIGCONT");
    await untilAnswers(host, this.port, startTimeoutMilliseconds, () => this.#running("resume"));
  }

  #running(what: string): ChildProcess {
    if (!this.#child) throw new Error(`cannot ${what} the master on port ${this.port}: it is not running`);
    return this.#child;
  }
}

/** Whether the process is stopped by a signal: the kernel stops it some time after kill(2) returned. */
function isStopped(pid: number): boolean {
  const state =
    process.platform === "linux"
      ? // "pid (name) state ...": the name may hold spaces and brackets, the last bracket ends it.
        readFileSync(`/proc/${pid}/stat`, "latin1").split(") ").at(-1)
      : execFileSync("ps", ["-o", "state=", "-p", `${pid}`], { encoding: "latin1" }).trim();
  return state?.startsWith("T") ?? false;
}
