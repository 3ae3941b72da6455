import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { hasSignOfEngine } from "../docker/engine-signs.ts";
import { NoMastersError } from "../masters.ts";
import { findExecutable } from "./executables.ts";
import { installPackage } from "./packages.ts";
import { startMasters } from "./start-masters.ts";

// Whether this machine has a Docker engine must not decide these tests; docker.test.ts is about the real one.
vi.mock("testcontainers", () => ({
  getContainerRuntimeClient: () => Promise.reject(new Error("no engine in this test")),
}));

const realServer = findExecutable(["redis-server", "valkey-server"]);
let folder: string;
let said: string[];
const say = (line: string): void => {
  said.push(line);
};

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "quorlock-test-"));
  mkdirSync(join(folder, "tmp"));
  mkdirSync(join(folder, "bin"));
  said = [];
  vi.stubEnv("TMPDIR", join(folder, "tmp"));
  vi.stubEnv("REDLOCK_NODES", "");
  vi.stubEnv("REDLOCK_NO_INSTALL", "");
});

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

/** Makes `PATH` a folder that has only these programs. */
function pathWithOnly(...programs: string[]): void {
  for (const program of programs) {
    const path = findExecutable([program]);
    if (path) symlinkSync(path, join(folder, "bin", program));
  }
  vi.stubEnv("PATH", join(folder, "bin"));
}

/** An apt-get that notes how it is called, and "installs" a link to the real server. */
function fakeAptGet(script = `ln -s ${realServer} ${folder}/bin/redis-server`): () => string[] {
  const path = join(folder, "bin", "apt-get");
  const log = join(folder, "apt-get.log");
  writeFileSync(
    path,
    `#!/bin/sh\necho "$DEBIAN_FRONTEND $*" >> ${log}\ncase "$*" in *install*) ${script} ;; esac\n`,
  );
  chmodSync(path, 0o755);
  return () => readFileSync(log, "utf8").trim().split("\n");
}

const shellPrograms = ["sh", "flock", "ln", "rm", "chmod", "kill", "sleep"];

/** Prints the libraries that a process has loaded. */
const loadedLibraries = `process.on("exit", () => {
  const files = Object.keys(require("node:module")._cache);
  console.log(["ioredis", "testcontainers"].filter((name) => files.some((file) => file.includes("/" + name + "/"))).join());
});`;

test("the check before the tests says in one line what they need, and loads no library", ({ skip }) => {
  pathWithOnly("sh");
  vi.stubEnv("HOME", folder);
  vi.stubEnv("REDLOCK_NO_INSTALL", "1");
  skip(hasSignOfEngine(), "this machine has the socket of a Docker engine, which may start servers");
  const preload = join(folder, "loaded.cjs");
  writeFileSync(preload, loadedLibraries);
  const check = fileURLToPath(new URL("check.ts", import.meta.url));
  const { status, stderr, stdout } = spawnSync(
    process.execPath,
    ["--require", preload, "--import", "tsx", "--conditions=quorlock-source", check],
    { encoding: "utf8", env: { ...process.env, NODE_OPTIONS: "" } },
  );
  expect(stderr).toMatch(/^The tests need a real Redis .*install redis-server .*\(REDLOCK_NODES: .*\)\.\n$/);
  expect([status, stdout]).toEqual([69, "\n"]);
});

describe("the order of the ways", () => {
  test("a server on the PATH comes before Docker and before an installation", async () => {
    pathWithOnly("redis-server", "valkey-server", "sh", "rm");
    await using masters = await startMasters(1, { say });
    expect(masters.source).toBe("local-binary");
    expect(masters.list[0]?.controllable).toBe(true);
  });

  test("valkey-server serves where there is no redis-server", async () => {
    symlinkSync(realServer as string, join(folder, "bin", "valkey-server"));
    pathWithOnly("sh", "rm");
    await using masters = await startMasters(1, { say });
    expect(masters.source).toBe("local-binary");
    expect(said.join()).toContain("valkey-server");
  });

  test("where no way works, the error names all of them and why", async () => {
    pathWithOnly("sh");
    vi.stubEnv("REDLOCK_NO_INSTALL", "1");
    const failure = startMasters(5, { say });
    await expect(failure).rejects.toThrow(NoMastersError);
    const message = await failure.catch((error: Error) => error.message);
    expect(message).toBe(
      [
        "no masters to be had:",
        "- REDLOCK_NODES: REDLOCK_NODES is not set",
        "- local-binary: neither redis-server nor valkey-server is on the PATH",
        "- docker: no Docker engine answers",
        "- installed: REDLOCK_NO_INSTALL=1 forbids it",
      ].join("\n"),
    );
    expect(said).toEqual(["testbed: skipping docker: no Docker engine answers"]);
  });

  test("a way that is asked for is the only one that is tried", async () => {
    pathWithOnly("sh");
    const failure = startMasters(1, { source: "local-binary", say });
    await expect(failure).rejects.toThrow(NoMastersError);
    await expect(failure).rejects.not.toThrow("docker");
  });

  test("REDLOCK_SOURCE must name a way", async () => {
    vi.stubEnv("REDLOCK_SOURCE", "nonsense");
    await expect(startMasters(1, { say })).rejects.toThrow(/must be one of REDLOCK_NODES, .*embedded, but/);
  });

  for (const count of [0, -1, 1.5, Number.NaN]) {
    test(`${count} masters are refused`, async () => {
      await expect(startMasters(count, { say })).rejects.toThrow(RangeError);
    });
  }
});

describe("embedded masters", () => {
  test("come last, and only where they are asked for", async () => {
    pathWithOnly("redis-server", "valkey-server", "sh", "rm");
    await using real = await startMasters(1, { lastResort: "embedded", say });
    expect(real.source).toBe("local-binary");
    vi.stubEnv("PATH", folder);
    vi.stubEnv("REDLOCK_NO_INSTALL", "1");
    await expect(startMasters(1, { say })).rejects.toThrow(NoMastersError);
    await using embedded = await startMasters(3, { lastResort: "embedded", say });
    expect(embedded.source).toBe("embedded");
    expect(embedded.list.map(({ controllable }) => controllable)).toEqual([true, true, true]);
    expect(said.at(-2)).toMatch(
      /^testbed: no real masters to be had: REDLOCK_NODES: .*; local-binary: .*forbids/,
    );
    expect(said.at(-1)).toMatch(/^testbed: 3 embedded masters, a model of Redis in this process, on ports /);
  });

  test("say what they cannot do", async () => {
    const source = "embedded";
    const configured = startMasters(1, { source, config: ["--cluster-enabled", "yes"], say });
    await expect(configured).rejects.toThrow("cannot be configured with --cluster-enabled yes");
    await expect(startMasters(1, { source, persistence: "rdb", say })).rejects.toThrow("takes no snapshots");
  });
});

describe("the installation", () => {
  test("is refused without a package manager, and where the process is not root", async () => {
    pathWithOnly("sh");
    await expect(startMasters(1, { source: "installed", say })).rejects.toThrow("neither apt-get nor apk");
    fakeAptGet();
    vi.spyOn(process, "getuid").mockReturnValueOnce(1000);
    await expect(startMasters(1, { source: "installed", say })).rejects.toThrow("this process is not root");
  });

  test("updates, installs, is announced with the time it took, and its server is used", async (context) => {
    rootOnly(context);
    const calls = fakeAptGet();
    pathWithOnly(...shellPrograms);
    await using masters = await startMasters(2, { say });
    expect(masters.source).toBe("installed");
    expect(calls()).toEqual([
      "noninteractive -o DPkg::Lock::Timeout=120 update",
      "noninteractive -o DPkg::Lock::Timeout=120 install --yes --no-install-recommends redis-server",
    ]);
    expect(said.join("\n")).toMatch(/installing redis-server with apt-get[\s\S]*installed in \d+\.\d s/);
  });

  test("that fails is a reason, with the last words of apt-get", async (context) => {
    rootOnly(context);
    fakeAptGet("echo 'E: Unable to locate package'; exit 100");
    pathWithOnly(...shellPrograms);
    await expect(startMasters(1, { say })).rejects.toThrow(
      /installed: apt-get could not install redis-server \(100\): [\s\S]*Unable to locate/,
    );
  });

  test("that two want at once happens once", async (context) => {
    rootOnly(context);
    const calls = fakeAptGet();
    pathWithOnly(...shellPrograms);
    const wanted = [1, 2, 3].map(() => installPackage("apt-get", "redis-server", ["redis-server"]));
    await Promise.all(wanted);
    expect(calls().filter((call) => call.includes("install"))).toHaveLength(1);
  });
});

/** Installing writes to system folders, so it is only ever done as root; so it is with these tests. */
function rootOnly(context: { skip(note: string): never }): void {
  if (process.getuid?.() === 0) return;
  const reason = "not root: the installation way cannot be tried";
  console.log(`SKIPPED: ${reason}`);
  context.skip(reason);
}
