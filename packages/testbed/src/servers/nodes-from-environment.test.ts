import { afterEach, describe, expect, test, vi } from "vitest";
import { parseNodes } from "./nodes-from-environment.ts";
import { withFreePort } from "./ports.ts";
import { startMasters } from "./start-masters.ts";

const quiet = { say: () => {} };

afterEach(() => {
  vi.unstubAllEnvs();
});

describe("the value of REDLOCK_NODES", () => {
  test("is split at commas, spaces around them allowed", () => {
    const urls = parseNodes(" redis://a:7001, rediss://user:pw@b ,redis://[::1]:7003/2").map(
      (url) => url.href,
    );
    expect(urls).toEqual(["redis://a:7001", "rediss://user:pw@b", "redis://[::1]:7003/2"]);
  });

  for (const bad of ["localhost:6379", "http://a:1", "redis://", "redis://a,", "redis://a:port", ","]) {
    test(`is refused when malformed: "${bad}"`, () => {
      expect(() => parseNodes(bad)).toThrow(/entry \d is not a redis:\/\/ URL/);
    });
  }

  test("is refused when it names a master twice, the default port included", () => {
    expect(() => parseNodes("redis://a,redis://b:1,redis://:pw@a:6379/1")).toThrow("names a:6379 twice");
  });

  test("does not show its passwords in errors", () => {
    expect(() => parseNodes("redis://ok,rediz://user:secret@host:1")).toThrow(
      'entry 2 is not a redis:// URL: "rediz://user:***@host:1"',
    );
  });
});

describe("masters of REDLOCK_NODES", () => {
  test("are used before any other way, as many as asked for, and left running", async () => {
    await using started = await startMasters(3, { source: "local-binary", ...quiet });
    vi.stubEnv("REDLOCK_NODES", started.urls.join(","));
    const found = await startMasters(2, quiet);
    expect(found.source).toBe("REDLOCK_NODES");
    expect(found.urls).toEqual(started.urls.slice(0, 2));
    expect(found.list.map(({ host, port }) => ({ host, port }))).toEqual(
      started.list.slice(0, 2).map(({ host, port }) => ({ host, port })),
    );
    await found.stop();
    expect((await startMasters(3, quiet)).urls).toEqual(started.urls);
  });

  test("cannot be controlled, and say so", async () => {
    await using started = await startMasters(1, { source: "local-binary", ...quiet });
    vi.stubEnv("REDLOCK_NODES", started.urls[0]);
    const [master] = (await startMasters(1, quiet)).list;
    expect(master?.controllable).toBe(false);
    for (const control of ["kill", "restart", "hang", "resume"] as const) {
      await expect(master?.[control]()).rejects.toThrow(`cannot ${control}`);
    }
  });

  test("that are too few are an error that says how many there are", async () => {
    vi.stubEnv("REDLOCK_NODES", "redis://127.0.0.1:1,redis://127.0.0.1:2");
    await expect(startMasters(3, quiet)).rejects.toThrow(
      "names 2 nodes, 3 are needed: 127.0.0.1:1, 127.0.0.1:2",
    );
  });

  test("that do not answer are an error that names them, never a reason to use others", async () => {
    await using started = await startMasters(1, { source: "local-binary", ...quiet });
    await withFreePort(async (port) => {
      vi.stubEnv("REDLOCK_NODES", `${started.urls[0]},redis://127.0.0.1:${port}`);
      const failure = startMasters(2, quiet);
      await expect(failure).rejects.toThrow(`REDLOCK_NODES: 127.0.0.1:${port} does not answer PING`);
      await expect(failure).rejects.toThrow("ECONNREFUSED");
      await expect(failure).rejects.not.toThrow(`${started.list[0]?.port} does not`);
    });
  });

  test("keep their own configuration, with a message", async () => {
    await using started = await startMasters(1, { source: "local-binary", ...quiet });
    vi.stubEnv("REDLOCK_NODES", started.urls[0]);
    const said: string[] = [];
    await startMasters(1, { persistence: "aof-always", say: (line) => said.push(line) });
    expect(said.join("\n")).toContain("keep their own configuration");
  });
});
