import { type AddressInfo, createServer, type Socket } from "node:net";

const crlf = "\r\n";

/** A Sentinel that knows one master, and no other Sentinel. It is silent when it is told to, and announces failovers. */
export class FakeSentinel implements AsyncDisposable {
  /** Whether it says nothing to those who connect from now on. */
  isMute = false;
  /** How often it was asked for the master while it was mute. */
  unanswered = 0;
  readonly #sockets = new Set<Socket>();
  readonly #listening = new Set<Socket>();
  readonly #server = createServer((socket) => this.#serve(socket));
  #answer: string;

  static async of({ host, port }: { readonly host: string; readonly port: number }): Promise<FakeSentinel> {
    const sentinel = new FakeSentinel(host, port);
    await new Promise<void>((resolve) => {
      sentinel.#server.listen(0, "127.0.0.1", resolve);
    });
    return sentinel;
  }

  private constructor(host: string, port: number) {
    this.#answer = listOf(host, String(port));
  }

  /** Tells who listens that another server is the master now. */
  announce({ host, port }: { readonly host: string; readonly port: number }): void {
    this.#answer = listOf(host, String(port));
    for (const socket of this.#listening) socket.write(listOf("message", "+switch-master", "main"));
  }

  /** Where a client finds it. */
  get address(): { readonly host: string; readonly port: number } {
    return { host: "127.0.0.1", port: (this.#server.address() as AddressInfo).port };
  }

  /** Open connections. */
  get connections(): number {
    return this.#sockets.size;
  }

  /** Connections that listen to its messages. */
  get listening(): number {
    return this.#listening.size;
  }

  /** Ends all connections. */
  hangUp(): void {
    for (const socket of this.#sockets) socket.end();
  }

  #serve(socket: Socket): void {
    const { isMute } = this;
    this.#sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#sockets.delete(socket);
      this.#listening.delete(socket);
    });
    let isCounted = false;
    socket.on("data", (bytes: Buffer) => {
      if (isMute) {
        if (!isCounted) this.unanswered += 1;
        isCounted = true;
        return;
      }
      for (const command of bytes.toString("latin1").split(/(?=\*\d+\r\n\$)/)) {
        socket.write(this.#answerTo(command.toLowerCase()));
        if (/^\*2\r\n\$9\r\nsubscribe/i.test(command)) this.#listening.add(socket);
      }
    });
  }

  #answerTo(command: string): string {
    if (command.includes("get-master-addr-by-name")) return this.#answer;
    if (command.includes("sentinels")) return `*0${crlf}`;
    if (command.includes("hello")) return `-ERR unknown command 'HELLO'${crlf}`;
    if (command.includes("subscribe"))
      return `*3${crlf}$9${crlf}subscribe${crlf}$14${crlf}+switch-master${crlf}:1${crlf}`;
    return `+OK${crlf}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function listOf(...words: readonly string[]): string {
  return `*${words.length}${crlf}${words.map((word) => `$${word.length}${crlf}${word}${crlf}`).join("")}`;
}
