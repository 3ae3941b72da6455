import { type AddressInfo, createServer, type Socket } from "node:net";

/** The server's answer to a command of a lock: bytes, or an action on the connection. */
export type Answer = string | Buffer | ((socket: Socket, command: string, words: readonly string[]) => void);

export interface HostileServerOptions {
  /** Whether it sets up connections as a Redis does, so that a client takes them for ready. Default true. */
  readonly greets?: boolean;
}

export interface HostileServer extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  /** Lock commands that have come so far. */
  readonly asked: number;
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

/** A server that takes the place of a master, and answers the commands of a lock with whatever it likes. */
export async function startHostileServer(
  answer: Answer,
  { greets = true }: HostileServerOptions = {},
): Promise<HostileServer> {
  const sockets = new Set<Socket>();
  let asked = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    let pending = "";
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    socket.on("data", (bytes: Buffer) => {
      pending += bytes.toString("latin1");
      for (let next = firstCommand(pending); next; next = firstCommand(pending)) {
        pending = pending.slice(next.length);
        const greeting = greets ? handshake[next.name] : undefined;
        if (greeting === undefined) asked += 1;
        const said = greeting ?? answer;
        if (typeof said === "function") said(socket, next.name, next.words);
        else if (socket.writable) socket.write(said);
      }
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return {
    host: "127.0.0.1",
    port: (server.address() as AddressInfo).port,
    get asked() {
      return asked;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}

interface Command {
  readonly name: string;
  readonly words: readonly string[];
  /** In bytes. */
  readonly length: number;
}

/** The first complete command of what has arrived. */
function firstCommand(bytes: string): Command | undefined {
  const head = /^\*(\d+)\r\n/.exec(bytes);
  if (!head) return undefined;
  let at = head[0].length;
  const words: string[] = [];
  for (let left = Number(head[1]); left > 0; left -= 1) {
    const length = /^\$(\d+)\r\n/.exec(bytes.slice(at));
    if (!length) return undefined;
    const start = at + length[0].length;
    const end = start + Number(length[1]);
    if (bytes.length < end + 2) return undefined;
    words.push(bytes.slice(start, end));
    at = end + 2;
  }
  return { name: words[0]?.toUpperCase() ?? "", words, length: at };
}
