import { once } from "node:events";
import { connect, type Socket } from "node:net";
import Parser from "redis-parser";

interface Waiting {
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** A plain connection to a Redis for checks: commands as words, replies of RESP 2. */
export class AdminConnection {
  readonly #socket: Socket;
  readonly #waiting: Waiting[] = [];

  private constructor(socket: Socket) {
    this.#socket = socket;
    const parser = new Parser({
      returnReply: (reply: unknown) => this.#waiting.shift()?.resolve(reply),
      returnError: (error) => this.#waiting.shift()?.reject(error),
      returnFatalError: (error) => void socket.destroy(error),
    });
    socket.on("data", (bytes) => parser.execute(bytes));
    socket.on("error", () => {});
    socket.on("close", () => {
      for (const { reject } of this.#waiting.splice(0))
        reject(new Error("the connection to the master was lost"));
    });
  }

  /** With the user, the password and the database of the url. */
  static async to(url: URL): Promise<AdminConnection> {
    const socket = connect({ host: url.hostname, port: Number(url.port || 6379), noDelay: true });
    await once(socket, "connect");
    const admin = new AdminConnection(socket);
    const [user, password] = [url.username, url.password].map(decodeURIComponent);
    if (password) await admin.send("AUTH", ...(user ? [user] : []), password);
    const database = url.pathname.slice(1);
    if (database !== "") await admin.send("SELECT", database);
    return admin;
  }

  send(...words: readonly string[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      const bulks = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
      this.#socket.write(`*${words.length}\r\n${bulks.join("")}`);
    });
  }

  close(): void {
    this.#socket.destroy();
  }
}
