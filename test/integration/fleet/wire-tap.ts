import { randomUUID } from "node:crypto";
import { connect, type Socket } from "node:net";
import { createInterface } from "node:readline";
import type { Redis } from "ioredis";

export interface TappedCommand {
  /** Seconds since the epoch, as the master counts them. */
  readonly at: number;
  /** The command in capitals, then its arguments. */
  readonly words: readonly string[];
  /** `host:port` of the connection, `lua` for what a script did. */
  readonly source: string;
  readonly database: string;
}

/** The commands that set up and check a connection; behind them the master's clock is read. */
const ofConnections = new Set([
  "HELLO",
  "INFO",
  "CLIENT",
  "SELECT",
  "AUTH",
  "CLUSTER",
  "COMMAND",
  "PING",
  "TIME",
]);

/**
 * Everything a master executes, by MONITOR, on a bare socket: ioredis's own monitor takes a line that comes
 * while it is being set up for an answer, and fails.
 */
export class WireTap implements AsyncDisposable {
  readonly #admin: Redis;
  readonly #socket: Socket;
  readonly #commands: TappedCommand[] = [];
  readonly #listeners = new Set<(command: TappedCommand) => void>();

  private constructor(admin: Redis, socket: Socket) {
    this.#admin = admin;
    this.#socket = socket;
  }

  static async on(admin: Redis): Promise<WireTap> {
    const socket = connect(admin.options.port!, admin.options.host);
    const tap = new WireTap(admin, socket);
    await new Promise<void>((resolve, reject) => {
      socket.on("error", reject);
      socket.write("MONITOR\r\n");
      createInterface({ input: socket }).on("line", (line) => {
        if (line === "+OK") resolve();
        else tap.#read(line);
      });
    });
    return tap;
  }

  /** The commands executed before this call, without the set-up of connections and the commands inside scripts. */
  async commands(): Promise<readonly TappedCommand[]> {
    // Others may tap the same master.
    const mark = randomUUID();
    const seen = this.next(({ words }) => words[1] === mark);
    await this.#admin.echo(mark);
    const end = await seen;
    return this.#commands
      .slice(0, end)
      .filter(
        ({ words, source }) => words[0] !== "ECHO" && source !== "lua" && !ofConnections.has(words[0]!),
      );
  }

  /** Resolves when a client's command matches, with the number of all commands until then. */
  next(match: (command: TappedCommand) => boolean): Promise<number> {
    return new Promise((resolve) => {
      const listener = (command: TappedCommand) => {
        if (command.source === "lua" || !match(command)) return;
        this.#listeners.delete(listener);
        resolve(this.#commands.length);
      };
      this.#listeners.add(listener);
    });
  }

  /** `+1700000000.123456 [0 127.0.0.1:1234] "set" "key" "value"`, with quotes and odd bytes escaped. */
  #read(line: string): void {
    const head = /^\+(\d+\.\d+) \[(\d+) ([^\]]*)\] /.exec(line);
    if (!head) return;
    const words = [...line.slice(head[0].length).matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, word]) => word!);
    const [name = "", ...rest] = words;
    const command = {
      at: Number(head[1]),
      database: head[2]!,
      source: head[3]!,
      words: [name.toUpperCase(), ...rest],
    };
    this.#commands.push(command);
    for (const listener of this.#listeners) listener(command);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.destroy();
  }
}
