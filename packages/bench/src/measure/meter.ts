import { randomUUID } from "node:crypto";
import { startMonitoring } from "@quorlock/testbed";
import type { Redis } from "ioredis";
import { closeClients, openClients } from "../contenders/clients.ts";

/** What something cost. CPU in microseconds. */
export interface Cost<T> {
  readonly result: T;
  /** Of this process. */
  readonly clientCpu: number;
  /** Of all masters together. */
  readonly serverCpu: number;
}

/** Reads from the masters, on connections of its own, what was asked of them and what it cost them. */
export class Meter implements AsyncDisposable {
  readonly #clients: readonly Redis[];

  static async open(urls: readonly string[]): Promise<Meter> {
    return new Meter(await openClients(urls));
  }

  private constructor(clients: readonly Redis[]) {
    this.#clients = clients;
  }

  async measure<T>(run: () => Promise<T>): Promise<Cost<T>> {
    const serverBefore = await this.serverCpu();
    const clientBefore = process.cpuUsage();
    const result = await run();
    // In this order: each master answers behind what it still had to answer the contender, and reading that belongs
    // to the contender's cost.
    const serverCpu = (await this.serverCpu()) - serverBefore;
    const { user, system } = process.cpuUsage(clientBefore);
    return { result, clientCpu: user + system, serverCpu };
  }

  /** What all masters have spent up to now, microseconds. */
  async serverCpu(): Promise<number> {
    const infos = await Promise.all(this.#clients.map((client) => client.info("cpu")));
    return infos.reduce((sum, info) => sum + cpuIn(info), 0);
  }

  /** The same while `run` runs. */
  async serverCpuOf(run: () => Promise<unknown>): Promise<number> {
    const before = await this.serverCpu();
    await run();
    return (await this.serverCpu()) - before;
  }

  /** How often each command has run on the first master up to now, those that scripts call included. */
  async commandCounts(): Promise<ReadonlyMap<string, number>> {
    return commandCountsIn(await this.#clients[0]!.info("commandstats"));
  }

  /**
   * How many requests clients send to all masters while `run` runs: what a MONITOR on one of them tells, times their
   * number. Commands that scripts call are not sent by anybody. MONITOR slows the master, so measure nothing else.
   */
  async requestsOf(run: () => Promise<unknown>): Promise<number> {
    const monitor = await Monitor.start(this.#clients[0]!);
    try {
      const before = await monitor.count();
      await run();
      return ((await monitor.count()) - before) * this.#clients.length;
    } finally {
      monitor.stop();
    }
  }

  /** How many keys of the first master have a name that ends in `prefix` and a number. */
  async namesHeld(prefix: string): Promise<number> {
    const keys = await this.#clients[0]!.keys(`*${prefix}:[0-9]*`);
    // A library may have more than one key for each name.
    return new Set(keys.map((key) => /\d+$/.exec(key)?.[0])).size;
  }

  /** How many keys with this prefix all masters have together; and there are none any more. */
  async takeAway(prefix: string): Promise<number> {
    const taken = this.#clients.map(async (client) => {
      const keys = await client.keys(`${prefix}*`);
      for (let first = 0; first < keys.length; first += 1000)
        await client.del(keys.slice(first, first + 1000));
      return keys.length;
    });
    return (await Promise.all(taken)).reduce((sum, keys) => sum + keys, 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    closeClients(this.#clients);
  }
}

/** Microseconds of CPU in what INFO says. */
export function cpuIn(info: string): number {
  const secondsOf = (field: string): number => Number(new RegExp(`^${field}:(\\S+)`, "m").exec(info)?.[1]);
  return (secondsOf("used_cpu_sys") + secondsOf("used_cpu_user")) * 1_000_000;
}

/** Calls of each command in what INFO says. */
export function commandCountsIn(info: string): ReadonlyMap<string, number> {
  const lines = info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm);
  return new Map([...lines].map(([, command, calls]) => [command!, Number(calls)]));
}

/** Counts what clients send to one master. */
class Monitor {
  readonly #redis: Redis;
  readonly #stream: Redis;
  #sent = 0;
  #awaited: { marker: string; reached: () => void } | undefined;

  static async start(redis: Redis): Promise<Monitor> {
    return new Monitor(redis, await startMonitoring(redis));
  }

  private constructor(redis: Redis, stream: Redis) {
    this.#redis = redis;
    this.#stream = stream;
    stream.on("monitor", (_time: string, args: readonly string[], source: string) => {
      if (source === "lua") return;
      const command = args[0]?.toLowerCase();
      if (command === "echo" && args[1] === this.#awaited?.marker) this.#awaited?.reached();
      // The bench's own questions.
      else if (command !== "info") this.#sent += 1;
    });
  }

  /** What was sent up to now: waits until the master has told all of it. */
  async count(): Promise<number> {
    const marker = randomUUID();
    const told = new Promise<void>((reached) => {
      this.#awaited = { marker, reached };
    });
    await this.#redis.echo(marker);
    await told;
    return this.#sent;
  }

  stop(): void {
    this.#stream.disconnect();
  }
}
