import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Child } from "@quorlock/simulation/processes";
import { Redis } from "ioredis";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { Master, Masters, MastersOptions } from "../masters.ts";
import { askServer } from "./ping.ts";
import { untilRefused } from "./ports.ts";
import { startMasters } from "./start-masters.ts";

const clients: Redis[] = [];
const started: Masters[] = [];

async function start(count: number, options: MastersOptions = {}): Promise<Masters> {
  const masters = await startMasters(count, { source: "local-binary", say: () => {}, ...options });
  started.push(masters);
  return masters;
}

function clientOf(master: Master, password?: string): Redis {
  const client = new Redis({
    host: master.host,
    port: master.port,
    ...(password === undefined ? {} : { password }),
    lazyConnect: true,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
  });
  client.on("error", () => {});
  clients.push(client);
  return client;
}

/** Runs one command on a new connection. */
async function call(master: Master, command: string, ...commandArguments: string[]): Promise<unknown> {
  const client = clientOf(master);
  try {
    return await client.call(command, ...commandArguments);
  } finally {
    client.disconnect();
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function pidOf(master: Master): Promise<number> {
  return (await askServer(master.host, master.port, 1000))?.processId as number;
}

async function directoryOf(master: Master): Promise<string> {
  return ((await call(master, "CONFIG", "GET", "dir")) as string[])[1] as string;
}

function masterFoldersIn(directory: string): string[] {
  return readdirSync(directory).filter((name) => name.startsWith("quorlock-masters-"));
}

afterEach(async () => {
  for (const client of clients.splice(0)) client.disconnect();
  for (const masters of started.splice(0)) await masters.stop();
  vi.unstubAllEnvs();
});

describe("masters from a local binary", () => {
  test("answer, are independent, and listen on the loopback only", async () => {
    const masters = await start(3);
    expect(masters.source).toBe("local-binary");
    expect(new Set(masters.urls).size).toBe(3);
    for (const [index, master] of masters.list.entries()) {
      expect(master.url).toBe(`redis://127.0.0.1:${master.port}`);
      expect(master.controllable).toBe(true);
      await call(master, "SET", "index", `${index}`);
      expect(await call(master, "CONFIG", "GET", "bind")).toEqual(["bind", "127.0.0.1"]);
      expect(await call(master, "CONFIG", "GET", "maxmemory-policy")).toEqual([
        "maxmemory-policy",
        "noeviction",
      ]);
    }
    const indexes = await Promise.all(masters.list.map((master) => call(master, "GET", "index")));
    expect(indexes).toEqual(["0", "1", "2"]);
  });

  test("that choose the same port end up on different ones", async () => {
    const random = vi.spyOn(Math, "random");
    for (let chosen = 0; chosen < 4; chosen += 1) random.mockReturnValueOnce(0.5);
    const masters = await start(4);
    random.mockRestore();
    expect(new Set(masters.urls).size).toBe(4);
    expect(new Set(await Promise.all(masters.list.map(pidOf))).size).toBe(4);
  });

  test("that refuse their configuration are an error with their own words, and leave nothing behind", async () => {
    const directory = mkdtempSync(join(tmpdir(), "quorlock-test-"));
    vi.stubEnv("TMPDIR", directory);
    const failure = start(2, { config: ["--no-such-option", "1"] });
    await expect(failure).rejects.toThrow(/did not start[\s\S]*no-such-option/);
    expect(readdirSync(directory)).toEqual([]);
    rmSync(directory, { recursive: true });
  });
});

describe("kill and restart", () => {
  const survives = { none: null, "aof-always": "v", "aof-everysec": "v", rdb: null } as const;
  for (const [persistence, value] of Object.entries(survives)) {
    test(`persistence ${persistence}: a key written just before is ${value ? "kept" : "forgotten"}`, async () => {
      const [master] = (await start(1, { persistence: persistence as keyof typeof survives })).list as [
        Master,
      ];
      await call(master, "SET", "k", "v");
      await master.kill();
      await master.restart();
      expect(await call(master, "GET", "k")).toBe(value);
    });
  }

  for (const period of ["always", "everysec"] as const) {
    test(`persistence aof-${period} is appendfsync ${period}, which no kill of a process can show`, async () => {
      const [master] = (await start(1, { persistence: `aof-${period}` })).list as [Master];
      expect(await call(master, "CONFIG", "GET", "appendonly")).toEqual(["appendonly", "yes"]);
      expect(await call(master, "CONFIG", "GET", "appendfsync")).toEqual(["appendfsync", period]);
    });
  }

  test("persistence rdb: data that SAVE wrote is there again, later data is not", async () => {
    const [master] = (await start(1, { persistence: "rdb" })).list as [Master];
    await call(master, "SET", "k", "saved");
    await call(master, "SAVE");
    await call(master, "SET", "k", "later");
    await master.kill();
    await master.restart();
    expect(await call(master, "GET", "k")).toBe("saved");
  });
});

describe("stop", () => {
  test("ends running, killed and hung masters and removes their directories; twice is once", async () => {
    const masters = await start(3);
    const pids = await Promise.all(masters.list.map(pidOf));
    const directories = await Promise.all(masters.list.map(directoryOf));
    expect(directories.map(existsSync)).toEqual([true, true, true]);
    await masters.list[0]?.kill();
    await masters.list[1]?.hang();
    await masters.stop();
    await masters.stop();
    expect(pids.map(isRunning)).toEqual([false, false, false]);
    await expect(masters.list[2]?.restart()).rejects.toThrow("stopped for good");
    expect(directories.map(existsSync)).toEqual([false, false, false]);
  });

  test("catches a restart that is under way", async () => {
    const masters = await start(1);
    const [master] = masters.list as [Master];
    const directory = await directoryOf(master);
    const restarting = master.restart();
    restarting.catch(() => {});
    await masters.stop();
    await expect(restarting).rejects.toThrow();
    await untilRefused(master.host, master.port);
    expect(existsSync(directory)).toBe(false);
  });
});

// The masters of a process that ends without stop() end with it, however it ends.
describe("the end of the process", () => {
  const require = createRequire(import.meta.url);
  const program = `
    import { existsSync, readdirSync, writeFileSync } from "node:fs";
    import { startMasters } from ${JSON.stringify(new URL("../index.ts", import.meta.url).href)};
    const { list, stop } = await startMasters(3, { source: "local-binary", say: () => {} });
    await list[0].hang();
    await list[1].kill();
    await list[1].restart();
    console.log(JSON.stringify(list.map(({ host, port }) => ({ host, port }))));
    process.stdin.once("data", async (ending) => {
      const folder = process.env.TMPDIR + "/" + readdirSync(process.env.TMPDIR)[0];
      for (let file = 0; file < 500; file += 1) writeFileSync(folder + "/" + file, "");
      if (String(ending) === "while it stops them") void stop();
      else process.exit(0);
      while (existsSync(folder + "/0")) await new Promise(setImmediate);
      process.exit(0);
    });
  `;
  /** Runs a program in a child process, which does not outlive the test. */
  function run(text: string, env: NodeJS.ProcessEnv = {}): Child {
    const flags = ["--import", `file://${require.resolve("tsx")}`, "--input-type=module", "--eval", text];
    const child = new Child(process.execPath, flags, { env });
    onTestFinished(() => child[Symbol.asyncDispose]());
    return child;
  }

  for (const ending of ["SIGINT", "SIGTERM", "SIGKILL", "exit", "while it stops them"] as const) {
    test(`(${ending}) ends hung and restarted masters and removes their directories`, async () => {
      const directory = mkdtempSync(join(tmpdir(), "quorlock-test-"));
      onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
      const child = run(program, { TMPDIR: directory });
      const places = JSON.parse(await child.line(0)) as { host: string; port: number }[];
      if (ending.startsWith("SIG")) child.process.kill(ending as NodeJS.Signals);
      else child.process.stdin!.write(ending);
      for (const { host, port } of places) await untilRefused(host, port);
      await vi.waitFor(() => expect(masterFoldersIn(directory)).toEqual([]), { timeout: 10_000 });
    }, 30_000);
  }

  test("is not delayed by masters that were not stopped", async () => {
    const child = run(program.split("process.stdin")[0]!);
    child.process.stdin!.end();
    expect(await child.ended).toMatchObject({ code: 0 });
  }, 30_000);
});
