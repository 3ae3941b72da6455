import { execFileSync } from "node:child_process";
import { Redis } from "ioredis";
import { afterEach, expect, test, vi } from "vitest";
import { type Master, type Masters, type MastersOptions, NoMastersError } from "../masters.ts";
import { askServer } from "../servers/ping.ts";
import { startMasters } from "../servers/start-masters.ts";

const timeoutMilliseconds = 120_000;

/** Starts containers; where that cannot be, says why and skips the test. */
async function startContainers(
  context: { skip(note: string): never },
  count: number,
  options: MastersOptions = {},
): Promise<Masters> {
  try {
    return await startMasters(count, { source: "docker", ...options });
  } catch (error) {
    if (!(error instanceof NoMastersError)) throw error;
    console.log(`SKIPPED: ${error.message}`);
    return context.skip(error.message);
  }
}

async function call(master: Master, command: string, ...commandArguments: string[]): Promise<unknown> {
  const client = new Redis(master.url, {
    lazyConnect: true,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
  });
  client.on("error", () => {});
  try {
    return await client.call(command, ...commandArguments);
  } finally {
    client.disconnect();
  }
}

afterEach(() => {
  vi.unstubAllEnvs();
});

test(
  "containers are killed, restarted with their data, hung and resumed",
  async (context) => {
    await using masters = await startContainers(context, 2, { persistence: "aof-always" });
    expect(masters.source).toBe("docker");
    const [master, other] = masters.list as [Master, Master];
    await call(master, "SET", "k", "v");
    await master.kill();
    await expect(call(master, "PING")).rejects.toThrow();
    await master.kill();
    await master.restart();
    expect(await call(master, "GET", "k")).toBe("v");
    expect(await call(other, "GET", "k")).toBe(null);
    await master.hang();
    expect(await askServer(master.host, master.port, 200)).toBeUndefined();
    await master.resume();
    expect(await call(master, "PING")).toBe("PONG");
    await master.hang();
    await master.restart();
    expect(await call(master, "GET", "k")).toBe("v");
  },
  timeoutMilliseconds,
);

test(
  "stop removes running, killed and hung containers; a refused configuration is an error with its words",
  async (context) => {
    const before = quorlockContainers();
    const masters = await startContainers(context, 3);
    await masters.list[0]?.kill();
    await masters.list[1]?.hang();
    await masters.stop();
    await masters.stop();
    const failure = startMasters(1, { source: "docker", config: ["--no-such-option", "1"], say: () => {} });
    await expect(failure).rejects.toThrow(/did not start[\s\S]*no-such-option/);
    expect(quorlockContainers()).toEqual(before);
  },
  timeoutMilliseconds,
);

test(
  "an image that cannot be pulled is a reason, said aloud",
  async (context) => {
    await (await startContainers(context, 1)).stop();
    const said: string[] = [];
    // Nothing listens on port 1, so this registry refuses at once.
    vi.stubEnv("REDLOCK_IMAGE", "127.0.0.1:1/no/such:image");
    const failure = startMasters(1, { source: "docker", say: (line) => said.push(line) });
    await expect(failure).rejects.toThrow(/image 127\.0\.0\.1:1\/no\/such:image cannot be had/);
    expect(said.join("\n")).toMatch(/pulling it \(60 s at most\)\n.*skipping docker/);
  },
  timeoutMilliseconds,
);

function quorlockContainers(): string[] {
  try {
    const names = execFileSync("docker", ["ps", "--all", "--format", "{{.Names}}"], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    return names.split("\n").filter((name) => name.startsWith("quorlock-"));
  } catch {
    // No engine: the test will find that out and say so.
    return [];
  }
}
