import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import type { Readable } from "node:stream";
import type { ContainerRuntimeClient } from "testcontainers";
import { type Master, type Masters, mastersOf, type Unavailable, type WayOptions } from "../masters.ts";
import { untilAnswers } from "../servers/ping.ts";
import { PortTakenError, untilRefused, withFreePort } from "../servers/ports.ts";
import { redisArguments } from "../servers/redis-arguments.ts";
import { startWatchdog, type Watchdog } from "../watchdog.ts";
import { hasSignOfEngine } from "./engine-signs.ts";

type Testcontainers = typeof import("testcontainers");
type Container = ReturnType<ContainerRuntimeClient["container"]["getById"]>;

const noEngine = "no Docker engine answers";
const defaultImage = "redis:8-alpine";
const redisPort = 6379;
const engineTimeoutMilliseconds = 10_000;
const pullTimeoutMilliseconds = 60_000;
const startTimeoutMilliseconds = 30_000;

/** Shared by one set of containers. */
interface Engine {
  readonly testcontainers: Testcontainers;
  readonly client: ContainerRuntimeClient;
  readonly image: string;
  readonly options: WayOptions;
  readonly watchdog: Watchdog;
}

/**
 * Masters in containers of the image `REDLOCK_IMAGE`, default redis:8-alpine; one that is here is used as it
 * is, another one is pulled. A host port is fixed for each, since Docker gives out a new one at every restart.
 */
export async function mastersFromDocker(count: number, options: WayOptions): Promise<Masters | Unavailable> {
  if (!hasSignOfEngine()) return announced(options, noEngine);
  const began = performance.now();
  // It takes half a second to load, or several on a busy machine.
  const testcontainers = await import("testcontainers");
  const client = await engineClient(testcontainers);
  if (!client) return announced(options, noEngine);
  const { REDLOCK_IMAGE } = process.env;
  const image = REDLOCK_IMAGE || defaultImage;
  const problem = await imageProblem(client, image, options);
  if (problem) return announced(options, problem);

  const engine = { testcontainers, client, image, options, watchdog: watchContainers() };
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

async function engineClient(testcontainers: Testcontainers): Promise<ContainerRuntimeClient | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), engineTimeoutMilliseconds);
  });
  try {
    return await Promise.race([testcontainers.getContainerRuntimeClient(), timeout]);
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}

/** Pulls the image unless it is here; returns why it cannot be had. */
async function imageProblem(
  client: ContainerRuntimeClient,
  image: string,
  options: WayOptions,
): Promise<string | undefined> {
  const { dockerode } = client.container;
  const isHere = (): Promise<boolean> =>
    dockerode
      .getImage(image)
      .inspect()
      .then(
        () => true,
        () => false,
      );
  if (await isHere()) return undefined;
  const seconds = pullTimeoutMilliseconds / 1000;
  options.say(`testbed: docker image ${image} is not here, pulling it (${seconds} s at most)`);
  // Not testcontainers' own pull: that one cannot be called off, and would keep the process alive.
  const abortSignal = AbortSignal.timeout(pullTimeoutMilliseconds);
  try {
    const progress = await dockerode.pull(image, { abortSignal });
    await new Promise<void>((resolve, reject) => {
      dockerode.modem.followProgress(progress, (error) => (error ? reject(error) : resolve()));
    });
  } catch (error) {
    const reason = abortSignal.aborted ? `not pulled within ${seconds} s` : String(error);
    return `image ${image} cannot be had: ${reason}`;
  }
  return (await isHere()) ? undefined : `image ${image} was pulled but is not here`;
}

// The same protocol as the watchdog for processes; it loads what it needs only when we are gone.
const containerWatch = `
import { createInterface } from "node:readline";
const names = new Set();
for await (const line of createInterface({ input: process.stdin })) {
  const [sign, name] = line.split(" ");
  if (sign === "+") names.add(name);
  else names.delete(name);
}
if (names.size > 0) {
  const { default: testcontainers } = await import(process.argv[1]);
  const { container } = await testcontainers.getContainerRuntimeClient();
  await Promise.allSettled([...names].map((name) => container.getById(name).remove({ force: true, v: true })));
}
`;

function watchContainers(): Watchdog {
  const module = createRequire(import.meta.url).resolve("testcontainers");
  return startWatchdog(process.execPath, ["--input-type=module", "-e", containerWatch, module]);
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
    const { host } = this.#engine.client.info.containerRuntime;
    // Only the IPv4 loopback is bound, and "localhost" may mean the other one first.
    return host === "localhost" ? "127.0.0.1" : host;
  }

  get url(): string {
    return `redis://${this.host}:${this.port}`;
  }

  get #container(): Container {
    return this.#engine.client.container.getById(this.#name);
  }

  async start(): Promise<void> {
    const { options, watchdog } = this.#engine;
    watchdog.add(this.#name);
    // Without a password redis refuses everyone but its own loopback, and the forwarded port is not that.
    const command = ["redis-server", "--protected-mode", "no", "--dir", "/data", ...redisArguments(options)];
    let output = "";
    let log: Readable | undefined;
    try {
      await this.#description()
        .withName(this.#name)
        .withCommand(command)
        .withExposedPorts({ container: redisPort, host: this.port })
        // PING is asked from here: the default looks for a shell inside, which a bare image does not have.
        .withWaitStrategy(this.#engine.testcontainers.Wait.forLogMessage(/Ready to accept connections/))
        // Its clean-up container needs an image that many machines cannot pull; our watchdog cleans up.
        .withAutoCleanup(false)
        .withStartupTimeout(startTimeoutMilliseconds)
        // Read along: testcontainers removes a container that does not start, and its log with it.
        .withLogConsumer((stream) => {
          log = stream;
          stream.on("data", (bytes: Buffer) => {
            output = `${output}${bytes.toString()}`.slice(-4000);
          });
          stream.on("error", () => {});
        })
        .start();
      await this.#untilAnswers();
    } catch (error) {
      // One that ended before it was read along is still there.
      output ||= await this.#pastOutput();
      await this.remove();
      if (/port is already allocated|address already in use/i.test(String(error))) {
        throw new PortTakenError(String(error), { cause: error });
      }
      throw new Error(`${this.#engine.image} did not start: ${String(error)}; its output:\n${output}`, {
        cause: error,
      });
    } finally {
      log?.destroy();
    }
  }

  #description(): InstanceType<Testcontainers["GenericContainer"]> {
    const { testcontainers, image } = this.#engine;
    const { host, port } = this;
    class LoopbackContainer extends testcontainers.GenericContainer {
      protected override async beforeContainerCreated(): Promise<void> {
        // Masters without a password must not be reachable from outside if the engine is on this machine.
        if (host !== "127.0.0.1") return;
        this.hostConfig.PortBindings = {
          [`${redisPort}/tcp`]: [{ HostIp: "127.0.0.1", HostPort: `${port}` }],
        };
      }
    }
    return new LoopbackContainer(image);
  }

  async #pastOutput(): Promise<string> {
    try {
      return (await this.#container.logs({ stdout: true, stderr: true, tail: 20 })).toString("utf8");
    } catch (error) {
      return `not to be had: ${String(error)}`;
    }
  }

  async #untilAnswers(): Promise<void> {
    await untilAnswers(this.host, this.port, startTimeoutMilliseconds);
  }

  async kill(): Promise<void> {
    try {
      await this.#container.kill();
    } catch (error) {
      // 409: it is not running.
      if (statusOf(error) !== 409) throw error;
    }
    await this.#container.wait();
    await untilRefused(this.host, this.port);
  }

  async restart(): Promise<void> {
    await this.kill();
    await this.#container.start();
    await this.#untilAnswers();
  }

  async hang(): Promise<void> {
    await this.#container.pause();
  }

  async resume(): Promise<void> {
    await this.#container.unpause();
    await this.#untilAnswers();
  }

  async remove(): Promise<void> {
    try {
      await this.#container.remove({ force: true, v: true });
    } catch (error) {
      // 404: it was never created.
      if (statusOf(error) !== 404) throw error;
    }
    this.#engine.watchdog.remove(this.#name);
  }
}

function statusOf(error: unknown): unknown {
  return error instanceof Error && "statusCode" in error ? error.statusCode : undefined;
}
