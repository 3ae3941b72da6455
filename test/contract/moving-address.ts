import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

interface Target {
  readonly host: string;
  readonly port: number;
}

/** A connection through the address. */
export interface Link {
  readonly isOpen: boolean;
  /** Whether the client has sent this word, in lower or upper case. */
  hasSent(word: string): boolean;
  /** The number of packets that have arrived from its server. */
  readonly replies: number;
  /** Ends it on both sides. */
  cut(): void;
  /** From now on the replies of its server arrive. If it leads nowhere yet, it leads to the server of this moment. */
  release(): void;
}

/** An address that can be given to another server, like a virtual IP. Each connection can be cut and delayed alone. */
export interface MovingAddress extends AsyncDisposable {
  readonly port: number;
  /** All connections that were ever made, in their order. */
  readonly links: readonly Link[];
  /** New connections lead to another server from now on. */
  moveTo(target: Target): void;
  /** Whether the servers of new connections are slow: no reply arrives until {@link Link.release}. */
  isSlow: boolean;
  /** Whether new connections are accepted and lead nowhere until {@link Link.release}, as if packets were lost. */
  isUndecided: boolean;
}

export async function movingAddress(first: Target): Promise<MovingAddress> {
  let target = first;
  const links: Link[] = [];
  const server = createServer((client) => {
    const { isSlow, isUndecided } = address;
    links.push(linkTo(() => target, client, { isSlow, isUndecided }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address: MovingAddress = {
    port: (server.address() as AddressInfo).port,
    links,
    moveTo(next) {
      target = next;
    },
    isSlow: false,
    isUndecided: false,
    async [Symbol.asyncDispose]() {
      for (const link of links) link.cut();
      server.close();
      await once(server, "close");
    },
  };
  return address;
}

function linkTo(
  targetOf: () => Target,
  client: Socket,
  { isSlow, isUndecided }: Pick<MovingAddress, "isSlow" | "isUndecided">,
): Link {
  let server: Socket | undefined;
  client.setNoDelay(true);
  const cut = (): void => {
    client.destroy();
    server?.destroy();
  };
  const watch = (socket: Socket): void => void socket.on("error", cut).on("close", cut);
  watch(client);
  let requests = "";
  let replies = 0;
  const decide = (): Socket => {
    const made = connect({ ...targetOf(), noDelay: true });
    watch(made);
    client.on("data", (bytes) => {
      requests += bytes.toString("latin1").toLowerCase();
    });
    made.on("data", () => {
      replies += 1;
    });
    made.pause();
    client.pipe(made);
    return made;
  };
  let isReleased = false;
  const release = (): void => {
    if (isReleased) return;
    isReleased = true;
    server ??= decide();
    server.pipe(client);
  };
  if (!isUndecided) server = decide();
  if (!isSlow && !isUndecided) release();
  return {
    get isOpen() {
      return !client.destroyed;
    },
    get replies() {
      return replies;
    },
    hasSent: (word) => requests.includes(`\r\n${word}\r\n`),
    cut,
    release,
  };
}
