import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findExecutable, type Master, watchProcesses } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { until } from "../../contract/until.ts";

/** The name of the group of servers in Sentinel. */
export const group = "locks";

/** A Sentinel of one master and its replicas. It decides alone, when it is told to. */
export class Sentinel {
  readonly port: number;
  readonly client: Redis;
  readonly #folder = mkdtempSync(join(tmpdir(), "quorlock-sentinel-"));
  readonly #watchdog = watchProcesses(this.#folder);
  readonly #child: ChildProcess;

  constructor({ host, port }: Master) {
    // Masters have ports below 22,000, and their cluster buses those that are 10,000 higher.
    this.port = port + 20_000;
    const file = join(this.#folder, "sentinel.conf");
    const lines = [
      `port ${this.port}`,
      "bind 127.0.0.1",
      `dir ${this.#folder}`,
      `sentinel monitor ${group} ${host} ${port} 1`,
      `sentinel down-after-milliseconds ${group} 60000`,
    ];
    writeFileSync(file, `${lines.join("\n")}\n`);
    const binary = findExecutable(["redis-server", "valkey-server"])!;
    this.#child = spawn(binary, [file, "--sentinel"], { stdio: "ignore" });
    this.#watchdog.add(this.#child.pid!);
    this.client = new Redis(this.port, { retryStrategy: () => 20, enableReadyCheck: false });
    this.client.on("error", () => {});
  }

  /** Where a client finds the master. */
  get address(): { readonly host: string; readonly port: number } {
    return { host: "127.0.0.1", port: this.port };
  }

  /** Resolves when it knows a replica. */
  async knowsReplica(): Promise<void> {
    await until(
      "the Sentinel knows the replica",
      async () => {
        const replicas = await this.client.call("SENTINEL", "REPLICAS", group).catch(() => []);
        return (replicas as readonly unknown[]).length > 0;
      },
      // It asks the master every 10 s.
      60_000,
    );
  }

  /** Once the master has told it of its replica. */
  async failover(): Promise<void> {
    const begin = () => this.client.call("SENTINEL", "FAILOVER", group).catch(() => undefined);
    await until("the failover begins", async () => (await begin()) === "OK", 20_000);
  }

  async stop(): Promise<void> {
    this.client.disconnect();
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGKILL");
    await ended;
    this.#watchdog.dismiss();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
