import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Master, Masters } from "../masters.ts";
import { untilRefused, withFreePort } from "../servers/ports.ts";
import { startMasters } from "../servers/start-masters.ts";
import { type Proxy as FaultProxy, startProxy } from "./proxy.ts";

let masters: Masters;
let master: Master;
/** Past the proxy: what the server really has. */
let direct: Redis;
let proxy: FaultProxy;
const sockets: Socket[] = [];

beforeAll(async () => {
  masters = await startMasters(1, { source: "local-binary", say: () => {} });
  master = masters.list[0] as Master;
  direct = new Redis(master.url);
  // Some tests kill the master: it reconnects.
  direct.on("error", () => {});
});

afterAll(async () => {
  direct.disconnect();
  await masters.stop();
});

beforeEach(async () => {
  await direct.flushall();
  proxy = await startProxy(master);
});

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await proxy.stop();
});

/** A bare connection through the proxy: nothing reconnects, retries or pipelines on its own. */
class Connection {
  readonly socket: Socket;
  /** The error code with which it ended, or "end". */
  readonly ended: Promise<string>;
  received = "";
  #changed: () => void = () => {};

  constructor(port: number, options: { allowHalfOpen?: boolean } = {}) {
    this.socket = connect({ ...options, port, host: "127.0.0.1" });
    sockets.push(this.socket);
    this.socket.setEncoding("latin1");
    this.socket.on("data", (text: string) => {
      this.received += text;
      this.#changed();
    });
    this.ended = new Promise((resolve) => {
      this.socket.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? "error"));
      this.socket.once("close", () => resolve("end"));
    });
  }

  send(...commands: string[]): void {
    this.socket.write(commands.map((command) => `${command}\r\n`).join(""));
  }

  /** Resolves when exactly this has been received since the last call. */
  async receives(text: string): Promise<void> {
    while (this.received !== text) {
      expect(text.startsWith(this.received), `received ${JSON.stringify(this.received)}`).toBe(true);
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
    this.received = "";
  }
}

/** An open connection that the proxy knows of. */
async function connected(): Promise<Connection> {
  const connection = new Connection(proxy.port);
  connection.send("PING");
  await connection.receives("+PONG\r\n");
  return connection;
}

const isSet = (bytes: Buffer): boolean => bytes.includes("SET");

describe("a transparent proxy", () => {
  test("forwards and counts both directions", async () => {
    expect(proxy.url).toBe(`redis://127.0.0.1:${proxy.port}`);
    const connection = await connected();
    connection.send("SET k v");
    await connection.receives("+OK\r\n");
    expect(await direct.get("k")).toBe("v");
    expect(proxy.counters).toEqual({
      requests: { chunks: 2, bytes: "PING\r\nSET k v\r\n".length, dropped: 0, held: 0 },
      replies: { chunks: 2, bytes: "+PONG\r\n+OK\r\n".length, dropped: 0, held: 0 },
      connections: 1,
      accepted: 1,
    });
  });

  test("passes on the end of either side", async () => {
    const leaving = await connected();
    leaving.socket.end();
    expect(await leaving.ended).toBe("end");
    const thrownOut = await connected();
    await direct.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    expect(await thrownOut.ended).toBe("end");
    await proxy.when(({ connections }) => connections === 0);
  });

  test("passes on what a client sent before it closed its side", async () => {
    const connection = new Connection(proxy.port);
    connection.socket.end("SET k v\r\n");
    await connection.receives("+OK\r\n");
    expect(await connection.ended).toBe("end");
  });

  test("resets the client when nothing listens behind it, and serves again when something does", async () => {
    await master.kill();
    const connection = new Connection(proxy.port);
    connection.send("PING");
    expect(await connection.ended).toBe("ECONNRESET");
    await master.restart();
    await connected();
  });
});

describe("dropping", () => {
  test("heal resets the connections that lost bytes, spares the others, and delivers nothing late", async () => {
    const spared = await connected();
    const torn = await connected();
    proxy.dropRequests();
    torn.send("SET k v");
    await proxy.when(({ requests }) => requests.dropped === 1);
    await proxy.heal();
    expect(await torn.ended).toBe("ECONNRESET");
    spared.send("GET k");
    await spared.receives("$-1\r\n");
    await connected();
  });
});

test("what is frozen stays silent, healed or not, and new connections are well", async () => {
  const frozen = await connected();
  proxy.freeze();
  frozen.send("SET k lost");
  await proxy.when(({ requests }) => requests.dropped > 0);
  await proxy.heal();
  frozen.send("SET k lost");
  await proxy.when(({ requests }) => requests.dropped > 1);
  const other = await connected();
  other.send("SET k new");
  await other.receives("+OK\r\n");
  expect(await direct.get("k")).toBe("new");
  expect(frozen.received).toBe("");
});

test("an address that leads elsewhere resets the connections there are", async () => {
  await using others = await startMasters(1, { source: "local-binary", say: () => {} });
  const before = await connected();
  proxy.leadTo(others.list[0]!);
  expect(await before.ended).toBe("ECONNRESET");
  const after = await connected();
  after.send("SET k there");
  await after.receives("+OK\r\n");
  expect(await direct.get("k")).toBeNull();
});

test("its url has the credentials of its target", async () => {
  const target = { host: "127.0.0.1", port: 1, url: "redis://me:secret@far.away:1/2" };
  await using guarded = await startProxy(target);
  expect(guarded.url).toBe(`redis://me:secret@127.0.0.1:${guarded.port}/2`);
});

describe("resetAfterRequest: applied, reply lost", () => {
  test("is still armed when the connection ended before the server answered", async () => {
    const connection = await connected();
    const happened = proxy.resetAfterRequest(isSet);
    await master.hang();
    const seen = proxy.nextRequest();
    connection.send("SET k first");
    await seen;
    proxy.reset();
    await master.resume();
    await proxy.when(({ connections }) => connections === 0);
    const next = await connected();
    next.send("SET k second");
    await happened;
    expect(await direct.get("k")).toBe("second");
  });
});

describe("resetAfterRequest, before a server that answers one by one", () => {
  let server: Server;
  let serverSide: Socket;
  let slow: FaultProxy;

  beforeEach(async () => {
    await withFreePort(async (port) => {
      server = createServer({ allowHalfOpen: true }, (socket) => {
        serverSide = socket;
        socket.on("error", () => {});
      });
      await once(server.listen(port, "127.0.0.1"), "listening");
      slow = await startProxy({ host: "127.0.0.1", port });
    });
  });

  afterEach(async () => {
    await slow.stop();
    server.close();
  });

  test("a server that has closed its side still hears its client", async () => {
    const connection = new Connection(slow.port, { allowHalfOpen: true });
    connection.send("first");
    await slow.when(({ requests }) => requests.chunks === 1);
    serverSide.end("bye\r\n");
    await connection.receives("bye\r\n");
    let heard = "";
    serverSide.on("data", (bytes: Buffer) => {
      heard += bytes.toString();
    });
    connection.socket.end("last\r\n");
    await once(serverSide, "end");
    expect(heard).toBe("first\r\nlast\r\n");
  });

  test("earlier requests' replies pass, and only the answer to the match is dropped", async () => {
    const connection = new Connection(slow.port);
    let settled = false;
    const happened = slow.resetAfterRequest(isSet).then(() => {
      settled = true;
    });
    connection.send("GET a");
    await slow.when(({ requests }) => requests.chunks === 1);
    connection.send("SET k v");
    await slow.when(({ requests }) => requests.chunks === 2);
    serverSide.write("$1\r\na");
    serverSide.write("\r\n");
    await connection.receives("$1\r\na\r\n");
    expect(settled).toBe(false);
    serverSide.write("+OK\r\n");
    await happened;
    expect(await connection.ended).toBe("ECONNRESET");
    expect(connection.received).toBe("");
  });
});

describe("stop", () => {
  test("settles while the master hangs, requests are held, and the port is closed or opening", async () => {
    await master.hang();
    const connection = new Connection(proxy.port);
    proxy.hold("requests");
    connection.send("SET k v");
    await proxy.when(({ requests }) => requests.held === 1);
    await proxy.refuse();
    const opening = proxy.accept();
    await proxy.stop();
    await opening;
    expect(await connection.ended).toBe("ECONNRESET");
    await untilRefused("127.0.0.1", proxy.port);
    await master.resume();
    expect(await direct.get("k")).toBe(null);
  });
});

test("any order of faults under many connections leaves a working proxy", async () => {
  const faults: readonly (() => unknown)[] = [
    () => proxy.dropRequests(),
    () => proxy.dropReplies(),
    () => proxy.hold("requests"),
    () => proxy.hold("replies"),
    () => proxy.release(),
    () => proxy.delay(2),
    () => proxy.delay(0),
    () => proxy.reset(),
    () => void proxy.resetAfterRequest(),
    () => proxy.heal(),
    () => proxy.refuse(),
    () => proxy.accept(),
  ];
  for (let round = 0; round < 120; round += 1) {
    const connection = new Connection(proxy.port);
    connection.send("PING", "SET k v");
    await faults[(round * 7 + (round >> 2)) % faults.length]?.();
    if (round % 3 === 0) connection.socket.destroy();
    if (round % 5 === 0) connection.socket.end();
  }
  await proxy.heal();
  proxy.reset();
  await proxy.when(({ connections }) => connections === 0);
  await connected();
  expect(proxy.counters.requests.held + proxy.counters.replies.held).toBe(0);
});
