import { type AddressInfo, createServer } from "node:net";
import { Stalls } from "@quorlock/testbed";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { mastersFrom } from "../masters.ts";
import { jsonOf, paintFor } from "../output.ts";
import { diagnose, exitCodeOf, type Report, textReport } from "./doctor.ts";
import { type GoodMasters, rightsOfLocks, startGoodMasters } from "./good-masters.ts";

let good: GoodMasters;
beforeAll(async () => {
  good = await startGoodMasters();
});
afterAll(() => good[Symbol.asyncDispose]());

const neverInterrupted = new AbortController().signal;
const plain = paintFor({}, {});

/** The findings that these masters are slow are due to other work of this machine. */
const measured: ReadonlySet<string> = new Set(["usable.round-trip", "usable.cold-connection"]);

function isSlow({ id, status }: Report["checks"][number]): boolean {
  return status === "warn" && measured.has(id);
}

async function examine(addresses: readonly string[], timeout = 5000): Promise<Report> {
  const options = { timeout, guard: false, version: "1.2.3", signal: neverInterrupted };
  const { checks, summary, ...report } = await diagnose(mastersFrom(addresses, {}, {}), options);
  const slow = checks.filter(isSlow).length;
  const [pass, warn] = [summary.pass + slow, summary.warn - slow];
  return {
    ...report,
    ok: pass === checks.length,
    summary: { ...summary, pass, warn },
    checks: checks.map((one) => (isSlow(one) ? { ...one, status: "pass" } : one)),
  };
}

/** The checks of the second master that did not pass. */
async function examineAs(rule: readonly string[]): Promise<Readonly<Record<string, string>>> {
  await good.admins[1]!.call("ACL", "SETUSER", "limited", "on", ">a-password", ...rule);
  const addresses = good.addresses.with(1, good.addresses[1]!.replace("//", "//limited:a-password@"));
  const report = await examine(addresses);
  await good.admins[1]!.call("ACL", "DELUSER", "limited");
  expect(jsonOf(report) + textReport(report, plain)).not.toContain("a-password");
  const own = report.checks.filter(({ status }) => status !== "pass");
  expect(own.map(({ master }) => master)).toEqual(own.map(() => addresses[1]!.split("@")[1]));
  return Object.fromEntries(own.map(({ id, status }) => [id, status]));
}

describe("five good masters", () => {
  test("pass every check within a second", async () => {
    using stalls = new Stalls();
    const begun = performance.now();
    const report = await examine(good.addresses);
    const net = performance.now() - begun - stalls.total;
    expect(report.checks.filter(({ status }) => status !== "pass")).toEqual([]);
    expect(report.ok).toBe(true);
    expect(exitCodeOf(report)).toBe(0);
    expect(net).toBeLessThan(1000);
  });

  test("have 21 checks each, and three of all", async () => {
    const { checks, summary, schemaVersion } = await examine(good.addresses);
    expect({ schemaVersion, summary }).toEqual({
      schemaVersion: 1,
      summary: { pass: 5 * 21 + 3, warn: 0, fail: 0, unknown: 0 },
    });
    expect(Object.keys(checks[0]!)).toEqual([
      "id",
      "master",
      "status",
      "message",
      "remedy",
      "url",
      "observed",
    ]);
    expect(checks.filter(({ master }) => master === null).map(({ id }) => id)).toEqual([
      "independent.even",
      "independent.membership",
      "usable.settings",
    ]);
  });

  test("keep nothing of the probes", async () => {
    await examine(good.addresses);
    for (const admin of good.admins) {
      expect(await admin.keys("*")).toEqual([]);
      expect(await admin.client("LIST")).not.toMatch(/sub=1/);
    }
  });

  test("are never asked for ACL, or to list their keys, and for one line of CONFIG", async () => {
    // MONITOR does not show commands of administrators.
    const calls = async (): Promise<readonly string[]> => {
      const statistics = await good.admins[0]!.info("commandstats");
      const lines = statistics.split("\r\n").map((line) => line.split(",")[0]!);
      return lines.filter((line) => /^cmdstat_(config\|get|acl|keys|scan)\b/.test(line));
    };
    await good.admins[0]!.config("GET", "save");
    const before = await calls();
    await examine(good.addresses);
    const [, count] = /config\|get:calls=(\d+)/.exec(before.join())!;
    const news = (await calls()).filter((line) => !before.includes(line));
    expect(news).toEqual([`cmdstat_config|get:calls=${Number(count) + 1}`]);
  });
});

describe("a question that is refused", () => {
  test("is unknown: the documented rule leaves out CLIENT INFO and CONFIG alone, since INFO has the time", async () => {
    expect(await examineAs(rightsOfLocks)).toEqual({
      "independent.same-host": "unknown",
      "durable.persistence": "unknown",
    });
  });

  test("is unknown for each check that needs INFO", async () => {
    const rule = rightsOfLocks.filter((right) => right !== "+info");
    const withoutInfo = [
      "independent.same-server",
      ...["replication", "replica", "cluster-node", "proxy", "same-host"].map(
        (name) => `independent.${name}`,
      ),
      ...["eviction", "memory", "persistence", "writes", "fork"].map((name) => `durable.${name}`),
      ...["version", "clients"].map((name) => `usable.${name}`),
    ];
    expect(await examineAs(rule)).toEqual({
      ...Object.fromEntries(withoutInfo.map((id) => [id, "unknown"])),
      "usable.permissions": "fail",
    });
  });

  test("leaves no probe behind, even if no script removes it", async () => {
    await examineAs(rightsOfLocks.filter((right) => right !== "+eval"));
    expect(await good.admins[1]!.keys("*")).toEqual([]);
  });

  test("is unknown if INFO is no command of the server", async () => {
    const { addresses } = good;
    const server = createServer((client) => {
      client
        .on("error", () => {})
        .on("data", (data) => {
          for (const _ of String(data).matchAll(/^\*\d+\r$/gm)) client.write("-ERR unknown command\r\n");
        });
    });
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    const { port } = server.address() as AddressInfo;
    const { checks } = await examine(addresses.with(0, `redis://127.0.0.1:${port}`));
    server.close();
    const own = checks.filter(({ master, status }) => master === `127.0.0.1:${port}` && status === "pass");
    expect(own.map(({ id }) => id)).toEqual(["usable.reachable", "usable.cold-connection"]);
  });

  test("ends in exit code 2 if there is no other finding", async () => {
    const report = await examine(good.addresses);
    const checks = report.checks.with(0, { ...report.checks[0]!, status: "unknown" });
    const summary = { ...report.summary, pass: checks.length - 1, unknown: 1 };
    expect(exitCodeOf({ ...report, ok: false, summary, checks })).toBe(2);
    expect(exitCodeOf({ ...report, ok: false, summary: { ...summary, fail: 1 }, checks })).toBe(1);
  });
});

test("a master that hangs settles within its time-out, and the others are examined", async () => {
  const [timeout, pause] = [2500, 8000];
  await good.admins[3]!.call("CLIENT", "PAUSE", pause, "ALL");
  using stalls = new Stalls();
  const begun = performance.now();
  const report = await examine(good.addresses, timeout);
  const net = performance.now() - begun - stalls.total;
  const hung = good.addresses[3]!.slice("redis://".length);
  const failed = report.checks.filter(({ status }) => status !== "pass");
  expect(failed.filter(({ master }) => master !== hung)).toEqual([]);
  expect(failed).toContainEqual(expect.objectContaining({ id: "usable.reachable", status: "fail" }));
  expect(net).toBeLessThan(timeout + 1000);
  expect(textReport(report, plain)).toContain(`${hung}: does not answer in time (ETIMEDOUT)`);
  // It answers the next test.
  await good.admins[3]!.ping();
});
