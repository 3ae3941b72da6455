import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { Redlock } from "@quorlock/redlock";
import {
  findExecutable,
  installPackage,
  type Masters,
  PortTakenError,
  startMasters,
  usablePackageManager,
  withFreePort,
} from "@quorlock/testbed";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { register } from "./register.ts";
import { type Scraped, startScraped } from "./scraped.ts";

// The alerts and the dashboard, by Debian's Prometheus.

const repository = resolve(import.meta.dirname, "../../..");
const monitoring = join(repository, "monitoring");
const run = promisify(execFile);
const answerTimeout = 60_000;

let prometheus: string;
let promtool: string;

function installed(name: string): string {
  const found = findExecutable([name]);
  if (found === undefined) throw new Error(`prometheus is installed, but has no ${name}`);
  return found;
}

beforeAll(async () => {
  if (!findExecutable(["prometheus"])) {
    const { REDLOCK_NO_INSTALL = "" } = process.env;
    const manager = usablePackageManager();
    const unusable = typeof manager === "string" ? undefined : manager.unusable;
    const why =
      REDLOCK_NO_INSTALL !== "" && REDLOCK_NO_INSTALL !== "0" ? "REDLOCK_NO_INSTALL forbids it" : unusable;
    if (why !== undefined || typeof manager !== "string") {
      throw new Error(`prometheus is not on the PATH and cannot be installed: ${why}`);
    }
    await installPackage(manager, "prometheus", ["prometheus"]);
  }
  prometheus = installed("prometheus");
  promtool = installed("promtool");
});

interface Dashboard {
  readonly panels: ReadonlyArray<{
    readonly title: string;
    readonly targets: readonly { readonly expr: string }[];
  }>;
  readonly templating: {
    readonly list: ReadonlyArray<{ readonly query: string | { readonly query: string } }>;
  };
}

async function dashboard(): Promise<Dashboard> {
  return JSON.parse(await readFile(join(monitoring, "dashboard.json"), "utf8")) as Dashboard;
}

/** As Grafana asks it. */
function asked(expr: string): string {
  return expr
    .replaceAll("$__rate_interval", "30s")
    .replaceAll("$job", "quorlock")
    .replaceAll("$instance", ".*");
}

function withUnits(text: string): string {
  return text.replaceAll(/_(duration|margin)_/g, "_$1_seconds_");
}

describe("the alerts", () => {
  test("are valid, and fire when they should", async () => {
    const checked = await run(promtool, ["check", "rules", "alerts.yaml"], { cwd: monitoring });
    expect(checked.stdout).toContain("11 rules found");
    await run(promtool, ["test", "rules", "alerts.test.yaml"], { cwd: monitoring });
  });

  test("are the same with the names that the Collector and OTLP give to the metrics", async () => {
    const rules = "alerts-with-units.yaml";
    const [source, other, tests] = await Promise.all(
      ["alerts.yaml", rules, "alerts.test.yaml"].map((name) => readFile(join(monitoring, name), "utf8")),
    );
    expect(other).toBe(withUnits(source!));
    const folder = await mkdtemp(join(tmpdir(), "quorlock-alerts-"));
    try {
      await writeFile(join(folder, "alerts.yaml"), other!);
      await writeFile(join(folder, "test.yaml"), withUnits(tests!));
      await run(promtool, ["test", "rules", join(folder, "test.yaml")]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test("each have a reason, and a runbook that exists", async () => {
    const alerts = (await readFile(join(monitoring, "alerts.yaml"), "utf8")).split("- alert: ").slice(1);
    expect(alerts).toHaveLength(8);
    for (const alert of alerts) {
      expect(alert).toMatch(/^ +reason: \S+ \S+/m);
      const [, file, section] = /^ +runbook: (\S+\.md)#(\S+)$/m.exec(alert)!;
      const page = await readFile(join(repository, file!), "utf8");
      const sections = [...page.matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
        title!.toLowerCase().replaceAll(" ", "-"),
      );
      expect(sections).toContain(section);
    }
  });
});

test("The dashboard shows the first lost lock of a process, with which its series begins", async () => {
  const { panels } = await dashboard();
  const { expr } = panels.find(({ title }) => title === "Locks lost")!.targets[0]!;
  const series = 'quorlock_client_hold_duration_count{job="quorlock", instance="i", outcome="lost"}';
  const lost = (eval_time: string, value: number): object => ({
    expr: asked(expr),
    eval_time,
    exp_samples: [{ labels: '{instance="i"}', value }],
  });
  const promql_expr_test = [lost("2m10s", 1), lost("3m", 0)];
  const values = "_x11 1x11";
  const part = { interval: "10s", input_series: [{ series, values }], promql_expr_test };
  const folder = await mkdtemp(join(tmpdir(), "quorlock-dashboard-"));
  try {
    await writeFile(join(folder, "test.yaml"), JSON.stringify({ tests: [part] }));
    await run(promtool, ["test", "rules", join(folder, "test.yaml")]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

/** A Prometheus that scrapes `target` each second, until it is disposed of. */
async function startPrometheus(target: string): Promise<AsyncDisposable & { readonly url: string }> {
  const folder = await mkdtemp(join(tmpdir(), "quorlock-prometheus-"));
  const config = {
    global: { scrape_interval: "1s", evaluation_interval: "1s" },
    rule_files: ["alerts.yaml"],
    scrape_configs: [{ job_name: "quorlock", static_configs: [{ targets: [target] }] }],
  };
  // A minute of an alert is a second here.
  const alerts = await readFile(join(monitoring, "alerts.yaml"), "utf8");
  await writeFile(join(folder, "alerts.yaml"), alerts.replaceAll(/\b(\d+)m\b/g, "$1s"));
  // JSON is YAML.
  await writeFile(join(folder, "prometheus.yml"), JSON.stringify(config));
  const { url, child } = await withFreePort((port) => prometheusOn(port, folder));
  return {
    url,
    async [Symbol.asyncDispose]() {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
      await rm(folder, { recursive: true });
    },
  };
}

async function prometheusOn(port: number, folder: string): Promise<{ url: string; child: ChildProcess }> {
  const child = spawn(
    prometheus,
    [
      `--config.file=${join(folder, "prometheus.yml")}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  let log = "";
  child.stderr.on("data", (bytes: Buffer) => {
    log = `${log}${bytes.toString()}`.slice(-4000);
  });
  const url = `http://127.0.0.1:${port}`;
  await vi.waitUntil(
    () => {
      if (child.exitCode !== null) {
        const isTaken = log.includes("address already in use");
        throw isTaken ? new PortTakenError(log) : new Error(`prometheus has ended: ${log}`);
      }
      return fetch(`${url}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      );
    },
    { timeout: answerTimeout, interval: 100 },
  );
  return { url, child };
}

/** Grants of other classes do not hide that nobody gets one. */
function resourceClass([resource]: readonly string[]): string {
  return resource === "stuck" ? "stuck" : "others";
}

describe("the dashboard", () => {
  let masters: Masters;
  let scraped: Scraped;
  let redlock: Redlock;
  let stop: () => void;

  beforeAll(async () => {
    masters = await startMasters(3, { say: () => {} });
    scraped = await startScraped();
    redlock = new Redlock(masters.urls.map((url) => new Redis(url).on("error", () => {})));
    await redlock.ready();
    stop = register({ meterProvider: scraped.meterProvider, tracerProvider: false, resourceClass });
  });
  afterAll(async () => {
    await redlock.quit();
    stop();
    await scraped[Symbol.asyncDispose]();
    await masters.stop();
  });

  /** Every outcome that a panel shows, once. */
  async function oneOfEach(): Promise<void> {
    const lock = await redlock.acquire("r", 2000, { retryCount: -1 });
    const waiting = redlock.acquire("r", 2000, { retryCount: -1 });
    await lock.extend(2000);
    await lock.release();
    await (await waiting).release();
    const stolen = await redlock.acquire("stolen", 2000, { retryCount: -1 });
    // The third master hangs.
    const [first, second] = [...redlock.clients] as Redis[];
    for (const client of [first!, second!]) await client.set("stolen", "another", "PX", 50);
    await expect(stolen.extend(2000)).rejects.toThrow("lost");
    expect(stolen.state).toBe("lost");
    const short = await redlock.acquire("short", 240, { nodeTimeout: 50, retryCount: -1 });
    await short.extend(240).catch(() => {});
    await short.release().catch(() => {});
  }

  /** Callers behind a holder that does not end, and a client whose masters are gone. */
  async function incidents(): Promise<AsyncDisposable> {
    await redlock.acquire("stuck", 600_000);
    const ending = new AbortController();
    const terms = { waitTimeout: 600_000, signal: ending.signal };
    const waiting = Array.from({ length: 10 }, () => redlock.acquire("stuck", 1000, terms).catch(() => {}));
    const alone = new Redlock([new Redis({ port: 1, lazyConnect: true }).on("error", () => {})]);
    await expect(alone.acquire("r", 1000, { retryCount: 0 })).rejects.toThrow();
    return {
      async [Symbol.asyncDispose]() {
        ending.abort();
        await Promise.all([...waiting, alone.quit()]);
      },
    };
  }

  test("has an answer of Prometheus to each query, and each alert fires in its incident and not before", async () => {
    await using server = await startPrometheus(scraped.target);
    const query = async (expr: string): Promise<readonly unknown[]> => {
      const response = await fetch(`${server.url}/api/v1/query?query=${encodeURIComponent(expr)}`);
      const { status, error, data } = (await response.json()) as {
        status: string;
        error?: string;
        data: { result: Array<{ metric: object; value: readonly [number, string] }> };
      };
      if (status !== "success") throw new Error(`${expr}: ${error}`);
      // A quantile of no measurements is no answer.
      return data.result.filter(({ value }) => value[1] !== "NaN");
    };
    const { panels, templating } = await dashboard();
    const exprs = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    const open = new Set(exprs.map(asked));
    expect(open.size).toBeGreaterThan(10);
    for (const { query: variable } of templating.list) {
      if (typeof variable !== "string") open.add(/\((\w+), /.exec(variable.query)![1]!);
    }
    const rules = await readFile(join(monitoring, "alerts.yaml"), "utf8");
    for (const [, alert] of rules.matchAll(/- alert: (\w+)/g))
      open.add(`ALERTS{alertname="${alert}", alertstate="firing"}`);
    await vi.waitUntil(
      async () => {
        await (await redlock.acquire("quiet", 2000, { retryCount: -1 })).release();
        return (await query("count_over_time(up[12s]) >= 11")).length > 0;
      },
      { timeout: answerTimeout, interval: 100 },
    );
    expect(await query("ALERTS")).toEqual([]);
    await using _ = await incidents();
    await masters.list[2]!.hang();
    await vi
      .waitUntil(
        async () => {
          await oneOfEach();
          for (const expr of open) if ((await query(expr)).length > 0) open.delete(expr);
          return open.size === 0;
        },
        { timeout: answerTimeout, interval: 200 },
      )
      .catch((error: unknown) => {
        throw new Error(`no answer to ${[...open].join("\n")}`, { cause: error });
      });
    await masters.list[2]!.resume();
  });
});
