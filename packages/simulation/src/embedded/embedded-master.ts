import { createServer, type Server, type Socket } from "node:net";
import { ReplyError } from "../master/reply.ts";
import { type WriteRefusal, writeRefusals } from "../master/write-refusal.ts";
import { CommandReader } from "./command-reader.ts";
import { EmbeddedRedis } from "./embedded-redis.ts";
import { encoded } from "./encoding.ts";
import { host, listen } from "./loopback-port.ts";
import { Session } from "./session.ts";

export interface EmbeddedMasterOptions {
  /**
   * The data that survives `kill` and `restart`. Default "none": nothing does. "aof-always": every write that was
   * acknowledged.
   */
  readonly persistence?: "none" | "aof-always";
  /** The password that `AUTH` and `HELLO` must give, as `requirepass` does. Default: none. */
  readonly password?: string;
}

/** A master in this process: the model of Redis behind a port of the loopback interface. */
export class EmbeddedMaster {
  readonly host: string = host;
  readonly controllable = true;
  readonly #forgets: boolean;
  readonly #redis: EmbeddedRedis;
  readonly #sockets = new Set<Socket>();
  #port: number | undefined;
  /** There is one while it runs. */
  #server: Server | undefined;
  #connections = 0;
  #isHung = false;
  #isOver = false;
  /** Settles when what was asked for so far is done: starts and ends come one after the other. */
  #last: Promise<unknown> = Promise.resolve();

  private constructor({ persistence = "none", password }: EmbeddedMasterOptions) {
    this.#forgets = persistence === "none";
    this.#redis = new EmbeddedRedis(password);
  }

  static async start(options: EmbeddedMasterOptions = {}): Promise<EmbeddedMaster> {
    const master = new EmbeddedMaster(options);
    await master.#listen();
    return master;
  }

  /** The same after each restart. */
  get port(): number {
    return this.#port!;
  }

  /** `redis://127.0.0.1:PORT`, with the password if there is one. */
  get url(): string {
    const { password } = this.#redis;
    const credentials = password === undefined ? "" : `:${encodeURIComponent(password)}@`;
    return `redis://${credentials}${host}:${this.port}`;
  }

  /** Resets its connections; resolves when its port refuses new ones, at once when it is dead. */
  kill(): Promise<void> {
    return this.#inTurn(() => this.#close());
  }

  /** Starts it again on the same port, with what its persistence keeps. One that still runs is killed first. */
  restart(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#close();
      if (this.#isOver) throw new Error(`the master on port ${this.port} was stopped for good`);
      this.#redis.restart(this.#forgets);
      await this.#listen();
    });
  }

  /** Nothing is read any more, so nothing is answered. Connections are still accepted. */
  hang(): Promise<void> {
    return this.#inTurn(async () => {
      this.#mustRun("hang");
      this.#isHung = true;
      for (const socket of this.#sockets) socket.pause();
    });
  }

  /** After `hang`: what has reached it meanwhile is executed. */
  resume(): Promise<void> {
    return this.#inTurn(async () => {
      this.#mustRun("resume");
      this.#isHung = false;
      for (const socket of this.#sockets) socket.resume();
    });
  }

  /**
   * From now on it answers and refuses to write, with the error that Redis has for it: "OOM" (its memory is full: what
   * may take more is refused, DEL and PEXPIRE are not), "MISCONF" (its disk is), "NOREPLICAS" or "READONLY". Of a script
   * it refuses the first write or none, as Redis does. `undefined`: it writes again. Default: it writes.
   */
  refuseWrites(why: WriteRefusal | undefined): void {
    if (why !== undefined && !writeRefusals.includes(why))
      throw new RangeError(`a master refuses writes by ${writeRefusals.join(", ")}, not by ${why}`);
    this.#redis.writes.refusal = why;
  }

  /** Kills it for good: a restart that comes later fails. Idempotent. */
  stop(): Promise<void> {
    this.#isOver = true;
    return this.kill();
  }

  #inTurn(act: () => Promise<void>): Promise<void> {
    const acted = this.#last.then(act);
    this.#last = acted.catch(() => {});
    return acted;
  }

  #mustRun(what: string): void {
    if (!this.#server) throw new Error(`cannot ${what} the master on port ${this.port}: it is not running`);
  }

  async #listen(): Promise<void> {
    const server = createServer({ noDelay: true }, (socket) => this.#accept(socket));
    // A program that forgets to stop its masters still ends.
    server.unref();
    this.#port = await listen(server, this.#port);
    this.#server = server;
  }

  async #close(): Promise<void> {
    const server = this.#server;
    if (!server) return;
    this.#server = undefined;
    this.#isHung = false;
    const closed = new Promise((resolve) => {
      server.close(resolve);
    });
    for (const socket of this.#sockets) socket.resetAndDestroy();
    await closed;
  }

  #accept(socket: Socket): void {
    this.#connections += 1;
    const session = new Session(this.#redis, this.#connections, this.port, (text) => {
      if (socket.writable) socket.write(text, "latin1");
    });
    let replies = "";
    const reader = new CommandReader(
      (words) => {
        if (!session.isOver) replies += session.answer(words);
      },
      (why) => {
        replies += encoded(new ReplyError(`ERR ${why}`), 2);
        socket.end(replies, "latin1");
      },
    );
    this.#sockets.add(socket);
    socket.unref();
    socket.on("close", () => {
      this.#sockets.delete(socket);
      session.end();
    });
    // A client that resets its connection has read everything that it wanted; "close" follows.
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      reader.push(bytes);
      // All that came in one piece is answered in one piece, as Redis does.
      if (socket.writable) socket.write(replies, "latin1");
      if (session.isOver) socket.end();
      replies = "";
    });
    if (this.#isHung) socket.pause();
  }
}
