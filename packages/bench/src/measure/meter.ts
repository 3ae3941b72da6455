import { Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Redis } from "ioredis";
import { closeClients, openClients } from "../contenders/contender.ts";

/** Reads the masters' CPU time and deletes keys, on its own connections. */
export class Meter implements AsyncDisposable {
  readonly #clients: readonly Redis[];

  static async open(urls: readonly string[]): Promise<Meter> {
    return new Meter(await openClients(urls));
  }

  private constructor(clients: readonly Redis[]) {
    this.#clients = clients;
  }

  /** The CPU time of all masters so far, microseconds. */
  async serverCpu(): Promise<number> {
    const infos = await Promise.all(this.#clients.map((client) => client.info("cpu")));
    return infos.reduce((sum, info) => sum + cpuIn(info), 0);
  }

  /** The CPU time of all masters during `run`, microseconds. */
  async serverCpuOf(run: () => Promise<unknown>): Promise<number> {
    const before = await this.serverCpu();
    await run();
    return (await this.serverCpu()) - before;
  }

  /** Deletes the keys with this prefix from all masters and returns how many there were. */
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

/** The CPU time in the reply of INFO, microseconds. */
export function cpuIn(info: string): number {
  const secondsOf = (field: string): number => Number(new RegExp(`^${field}:(\\S+)`, "m").exec(info)?.[1]);
  return (secondsOf("used_cpu_sys") + secondsOf("used_cpu_user")) * 1_000_000;
}

let collect: (() => void) | undefined;

/** Set only where the heap is measured: timings are taken without V8 flags, as users run the client. */
function garbageCollector(): () => void {
  if (!collect) {
    setFlagsFromString("--expose-gc");
    collect = runInNewContext("gc") as () => void;
  }
  return collect;
}

/** Bytes of heap in use after garbage collection. */
export async function heapInUse(): Promise<number> {
  // Objects released by finalisers are collected by the next round.
  for (let round = 0; round < 5; round += 1) {
    garbageCollector()();
    await pause(20);
  }
  return process.memoryUsage().heapUsed;
}

/** Commands and bytes that this process has sent to masters. */
export interface Sent {
  readonly commands: number;
  readonly bytes: number;
}

/** Counts writes to sockets until `stop`: this does not slow a master, and leaves out the commands that scripts call. */
export function countSent(): { stop(): Sent } {
  let commands = 0;
  let bytes = 0;
  type Write = (this: Socket, chunk: string | Uint8Array, ...rest: unknown[]) => boolean;
  const write = Reflect.get(Socket.prototype, "write") as Write;
  const counting: Write = function (chunk, ...rest) {
    const data =
      typeof chunk === "string"
        ? Buffer.from(chunk)
        : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
    const found = commandsIn(data);
    commands += found;
    // A server in this process writes its replies to sockets as well.
    if (found > 0) bytes += data.length;
    return Reflect.apply(write, this, [chunk, ...rest]);
  };
  Reflect.set(Socket.prototype, "write", counting);
  return {
    stop() {
      Reflect.set(Socket.prototype, "write", write);
      return { commands, bytes };
    },
  };
}

/** Counts the complete RESP commands: each is an array of strings with their lengths. */
function commandsIn(data: Buffer): number {
  let count = 0;
  let at = 0;
  const nextNumber = (): number => {
    const end = data.indexOf("\r\n", at);
    const number = Number(data.toString("latin1", at + 1, end));
    at = end + 2;
    return number;
  };
  while (data[at] === "*".charCodeAt(0)) {
    for (let words = nextNumber(); words > 0; words -= 1) {
      const length = nextNumber();
      at += length + 2;
    }
    count += 1;
  }
  return count;
}
