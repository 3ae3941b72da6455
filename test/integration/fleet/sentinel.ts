import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findExecutable, type Master, PortTakenError, watchProcesses, withFreePort } from "@quorlock/testbed";
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
  readonly #ended: Promise<unknown>;

  /** A Sentinel of `master` that answers, on a port that no outgoing connection can have. */
  static start(master: Master): Promise<Sentinel> {
    return withFreePort(async (port) => {
      const sentinel = new Sentinel(master, port);
      try {
        await sentinel.#answers();
        return sentinel;
      } catch (error) {
        await sentinel.stop();
        throw error;
      }
    });
  }

  private constructor(master: Master, port: number) {
    this.port = port;
    const file = join(this.#folder, "sentinel.conf");
    const lines = [
      `port ${this.port}`,
      "bind 127.0.0.1",
      `dir ${this.#folder}`,
      `logfile ${this.#log}`,
      `sentinel monitor ${group} ${master.host} ${master.port} 1`,
      `sentinel down-after-milliseconds ${group} 60000`,
    ];
    writeFileSync(file, `${lines.join("\n")}\n`);
    const binary = findExecutable(["redis-server", "valkey-server"])!;
    this.#child = spawn(binary, [file, "--sentinel"], { stdio: "ignore" });
    this.#ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#watchdog.add(this.#child.pid!);
    this.client = new Redis(this.port, { retryStrategy: () => 20, enableReadyCheck: false });
    this.client.on("error", () => {});
  }

  get #log(): string {
    return join(this.#folder, "sentinel.log");
  }

  /** Rejects with what it logged if it ends instead, and if another process answers on its port. */
  async #answers(): Promise<void> {
    const answer = this.client.info("server").catch(String);
    const ended = this.#ended.then(() => undefined);
    const information = await Promise.race([answer, ended]);
    if (information?.includes(`process_id:${this.#child.pid}\r\n`)) return;
    const said = information ?? readFileSync(this.#log, "utf8");
    const isTaken = information !== undefined || said.includes("Address already in use");
    throw isTaken ? new PortTakenError(said) : new Error(`the Sentinel ended:\n${said}`);
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
    this.#child.kill("SIGKILL");
    await this.#ended;
    this.#watchdog.dismiss();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
