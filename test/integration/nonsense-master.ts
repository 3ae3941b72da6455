import { type AddressInfo, createServer, type Socket } from "node:net";

/** What the master sends when a command of a lock comes: bytes, or whatever is done to the connection. */
export type Nonsense = string | Buffer | ((socket: Socket) => void);

export interface NonsenseMaster extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  /** Connections accepted so far. */
  readonly accepted: number;
}

const crlf = "\r\n";
const ok = `+OK${crlf}`;
const info = "redis_version:7.0.0\r\nloading:0\r\nrole:master\r\n";

/** The answers that a client needs until it takes the connection for ready. */
const handshake: Record<string, string> = {
  HELLO: `%1${crlf}$5${crlf}proto${crlf}:3${crlf}`,
  CLIENT: ok,
  AUTH: ok,
  SELECT: ok,
  INFO: `$${info.length}${crlf}${info}${crlf}`,
  QUIT: ok,
};

/** A server that sets up connections as a Redis does, and answers everything else with nonsense. */
export async function startNonsenseMaster(nonsense: Nonsense): Promise<NonsenseMaster> {
  const sockets = new Set<Socket>();
  let accepted = 0;
  const server = createServer((socket) => {
    accepted += 1;
    sockets.add(socket);
    let pending = "";
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    socket.on("data", (bytes: Buffer) => {
      pending += bytes.toString("latin1");
      for (let command = takeCommand(); command; command = takeCommand()) {
        const answer = handshake[command] ?? nonsense;
        if (typeof answer === "function") answer(socket);
        else if (socket.writable) socket.write(answer);
      }
    });
    /** The name of the next complete command, which is taken off. */
    function takeCommand(): string | undefined {
      const head = /^\*(\d+)\r\n/.exec(pending);
      if (!head) return undefined;
      let at = head[0].length;
      let name: string | undefined;
      for (let left = Number(head[1]); left > 0; left -= 1) {
        const length = /^\$(\d+)\r\n/.exec(pending.slice(at));
        if (!length) return undefined;
        const start = at + length[0].length;
        const end = start + Number(length[1]);
        if (pending.length < end + 2) return undefined;
        name ??= pending.slice(start, end).toUpperCase();
        at = end + 2;
      }
      pending = pending.slice(at);
      return name;
    }
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return {
    host: "127.0.0.1",
    port: (server.address() as AddressInfo).port,
    get accepted() {
      return accepted;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}
