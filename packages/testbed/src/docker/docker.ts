import { randomUUID } from "node:crypto";
import { type Master, type Masters, mastersOf, type Unavailable, type WayOptions } from "../masters.ts";
import { findExecutable } from "../servers/executables.ts";
import { untilAnswers } from "../servers/ping.ts";
import { PortTakenError, untilRefused, withFreePort } from "../servers/ports.ts";
import { redisArguments } from "../servers/redis-arguments.ts";
import { type Watchdog, watchContainers } from "../watchdog.ts";
import { docker } from "./docker-command.ts";

const noEngine = "no Docker engine answers";
const defaultImage = "redis:8-alpine";
const redisPort = 6379;
const engineTimeoutMilliseconds = 10_000;
const pullTimeoutMilliseconds = 60_000;
const startTimeoutMilliseconds = 30_000;

/** Shared by one set of containers. */
interface Engine {
  /** Where published ports are reached. */
  readonly host: string;
  readonly image: string;
  readonly options: WayOptions;
  readonly watchdog: Watchdog;
}

/**
 * Masters in containers of the image `REDLOCK_IMAGE`, default redis:8-alpine; one that is here is used as it
 * is, another one is pulled. A host port is fixed for each, since Docker gives out a new one at every restart.
 */
export async function mastersFromDocker(count: number, options: WayOptions): Promise<Masters | Unavailable> {
  const host = findExecutable(["docker"]) && (await engineHost());
  if (!host) return announced(options, noEngine);
  const began = performance.now();
  const { REDLOCK_IMAGE } = process.env;
  const image = REDLOCK_IMAGE || defaultImage;
  const problem = await imageProblem(image, options);
  if (problem) return announced(options, problem);

  const engine = { host, image, options, watchdog: watchContainers() };
  const containers: ContainerMaster[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(containers.map((container) => container.remove()));
    engine.watchdog.dismiss();
  };
  const startOne = (): Promise<Master> =>
    withFreePort(async (port) => {
      const master = new ContainerMaster(engine, port);
      containers.push(master);
      await master.start();
      return master;
    });
  const started = await Promise.allSettled(Array.from({ length: count }, startOne));
  const failure = started.find((result) => result.status === "rejected");
  if (failure) {
    await stop();
    throw failure.reason;
  }
  const list = started.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  options.say(
    `testbed: ${count} masters (docker, ${image}) on ports ${list.map((master) => master.port).join(", ")}, ` +
      `${Math.round(performance.now() - began)} ms`,
  );
  return mastersOf("docker", list, stop);
}

function announced(options: WayOptions, reason: string): Unavailable {
  options.say(`testbed: skipping docker: ${reason}`);
  return { unavailable: reason };
}

/** The host of the engine that answers; `undefined` without one. */
async function engineHost(): Promise<string | undefined> {
  const timeout = engineTimeoutMilliseconds;
  try {
    await docker(["version", "--format", "{{.Server.Version}}"], { timeout });
    const address = await docker(["context", "inspect", "--format", "{{.Endpoints.docker.Host}}"], {
      timeout,
    });
    const { protocol, hostname } = new URL(address.trim());
    return ["tcp:", "ssh:"].includes(protocol) && hostname !== "localhost" ? hostname : "127.0.0.1";
  } catch {
    return undefined;
  }
}

/** Pulls the image unless it is here; returns why it cannot be had. */
async function imageProblem(image: string, options: WayOptions): Promise<string | undefined> {
  const isHere = (): Promise<boolean> =>
    docker(["image", "inspect", image]).then(
      () => true,
      () => false,
    );
  if (await isHere()) return undefined;
  const seconds = pullTimeoutMilliseconds / 1000;
  options.say(`testbed: docker image ${image} is not here, pulling it (${seconds} s at most)`);
  const signal = AbortSignal.timeout(pullTimeoutMilliseconds);
  try {
    await docker(["pull", "--quiet", image], { signal });
  } catch (error) {
    const reason = signal.aborted ? `not pulled within ${seconds} s` : String(error);
    return `image ${image} cannot be had: ${reason}`;
  }
  return (await isHere()) ? undefined : `image ${image} was pulled but is not here`;
}

/** One container and its data volume. */
class ContainerMaster implements Master {
  readonly port: number;
  readonly controllable = true;
  readonly #name: string = `quorlock-${randomUUID()}`;
  readonly #engine: Engine;

  constructor(engine: Engine, port: number) {
    this.#engine = engine;
    this.port = port;
  }

  get host(): string {
    return this.#engine.host;
  }

  get url(): string {
    return `redis://${this.host}:${this.port}`;
  }

  async start(): Promise<void> {
    const { options, watchdog, host, image } = this.#engine;
    watchdog.add(this.#name);
    // Masters without a password must not be reachable from outside if the engine is on this machine.
    const address = host === "127.0.0.1" ? `${host}:` : "";
    try {
      await docker([
        ...[
          "run",
          "--detach",
          "--name",
          this.#name,
          "--publish",
          `${address}${this.port}:${redisPort}`,
          image,
        ],
        // Without a password redis refuses everyone but its own loopback, and the forwarded port is not that.
        ...["redis-server", "--protected-mode", "no", "--dir", "/data", ...redisArguments(options)],
      ]);
      await this.#untilAnswers();
    } catch (error) {
      const output = await docker(["logs", "--tail", "20", this.#name]).catch(String);
      await this.remove();
      if (/port is already allocated|address already in use/i.test(String(error))) {
        throw new PortTakenError(String(error), { cause: error });
      }
      throw new Error(`${image} did not start: ${String(error)}; its output:\n${output}`, { cause: error });
    }
  }

  /** Not longer than the container runs. */
  async #untilAnswers(): Promise<void> {
    const watching = new AbortController();
    let hasEnded = false;
    const onEnd = (): void => {
      hasEnded = true;
    };
    void docker(["wait", this.#name], { signal: watching.signal }).then(onEnd, () => {});
    try {
      await untilAnswers(this.host, this.port, startTimeoutMilliseconds, () => {
        if (hasEnded) throw new Error("its process has ended");
      });
    } finally {
      watching.abort();
    }
  }

  async kill(): Promise<void> {
    await docker(["kill", this.#name]).catch(unless("is not running"));
    await docker(["wait", this.#name]);
    await untilRefused(this.host, this.port);
  }

  async restart(): Promise<void> {
    await this.kill();
    await docker(["start", this.#name]);
    await this.#untilAnswers();
  }

  async hang(): Promise<void> {
    await docker(["pause", this.#name]);
  }

  async resume(): Promise<void> {
    await docker(["unpause", this.#name]);
    await this.#untilAnswers();
  }

  async remove(): Promise<void> {
    await docker(["rm", "--force", "--volumes", this.#name]).catch(unless("No such container"));
    this.#engine.watchdog.remove(this.#name);
  }
}

/** A handler of errors that throws all but those with these words. */
function unless(words: string): (error: unknown) => void {
  return (error) => {
    if (!String(error).includes(words)) throw error;
  };
}
