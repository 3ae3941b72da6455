import { connect, createServer, type Server, type Socket } from "node:net";
import type { Master } from "@quorlock/testbed";

type Place = Pick<Master, "host" | "port">;

/** An address that leads to one server or another: what a virtual IP, a DNS name or a Sentinel group is to clients. */
export class Endpoint implements Place {
  readonly host = "127.0.0.1";
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #target: Place;

  private constructor(target: Place) {
    this.#target = target;
    this.#server = createServer((client) => this.#forward(client));
  }

  static async to(target: Place): Promise<Endpoint> {
    const endpoint = new Endpoint(target);
    await new Promise<void>((resolve) => endpoint.#server.listen(0, endpoint.host, resolve));
    return endpoint;
  }

  get port(): number {
    return (this.#server.address() as { readonly port: number }).port;
  }

  /** From now on it leads there, and all connections are lost. */
  lead(target: Place): void {
    this.#target = target;
    for (const socket of this.#sockets) socket.destroy();
  }

  stop(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #forward(client: Socket): void {
    const server = connect(this.#target.port, this.#target.host);
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.pipe(other);
      socket.on("error", () => {});
      socket.on("close", () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
  }
}
