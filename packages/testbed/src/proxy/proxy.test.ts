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

  test("carries megabytes unharmed", async () => {
    const client = new Redis(proxy.url);
    const value = "0123456789".repeat(500_000);
    await client.set("k", value);
    expect((await client.get("k")) === value).toBe(true);
    client.disconnect();
    await proxy.when(({ connections }) => connections === 0);
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
  test("requests: the server never hears of them", async () => {
    const before = await connected();
    proxy.dropRequests();
    before.send("SET before v");
    const after = new Connection(proxy.port);
    after.send("SET after v");
    await proxy.when(({ requests }) => requests.dropped === 2);
    expect(await direct.mget("before", "after")).toEqual([null, null]);
    expect(proxy.counters.replies).toMatchObject({ chunks: 1, dropped: 0 });
  });

  test("replies: it is done, and the client does not know", async () => {
    const before = await connected();
    proxy.dropReplies();
    before.send("SET before v");
    const after = new Connection(proxy.port);
    after.send("SET after v");
    await proxy.when(({ replies }) => replies.dropped === 2);
    expect(await direct.mget("before", "after")).toEqual(["v", "v"]);
    expect(before.received + after.received).toBe("");
  });

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

  test("a full cut hides the end of the server as well, until heal", async () => {
    const connection = await connected();
    proxy.dropRequests();
    proxy.dropReplies();
    connection.send("GET k");
    await master.kill();
    await master.restart();
    expect(connection.socket.destroyed).toBe(false);
    await proxy.heal();
    expect(await connection.ended).toBe("ECONNRESET");
  });

  test("what was held vanishes when its direction is cut", async () => {
    const connection = await connected();
    proxy.hold("requests");
    connection.send("SET k v");
    await proxy.when(({ requests }) => requests.held === 1);
    proxy.dropRequests();
    expect(proxy.counters.requests).toMatchObject({ held: 0, dropped: 1 });
    await proxy.heal();
    expect(await connection.ended).toBe("ECONNRESET");
    expect(await direct.get("k")).toBe(null);
  });

  test("heal of one direction leaves the other", async () => {
    proxy.dropReplies();
    proxy.dropRequests();
    await proxy.heal("requests");
    const connection = new Connection(proxy.port);
    connection.send("SET k v");
    await proxy.when(({ replies }) => replies.dropped === 1);
    expect(await direct.get("k")).toBe("v");
  });
});

describe("holding", () => {
  test("requests: present and new connections wait; release delivers in order", async () => {
    const before = await connected();
    proxy.hold("requests");
    const after = new Connection(proxy.port);
    const requests = [
      [before, "RPUSH list a"],
      [before, "RPUSH list b"],
      [after, "RPUSH other c"],
    ] as const;
    for (const [index, [connection, command]] of requests.entries()) {
      connection.send(command);
      await proxy.when((counters) => counters.requests.held === index + 1);
    }
    expect(await direct.exists("list", "other")).toBe(0);
    proxy.release("requests");
    await before.receives(":1\r\n:2\r\n");
    await after.receives(":1\r\n");
    expect(await direct.lrange("list", 0, -1)).toEqual(["a", "b"]);
  });

  test("replies: it is done, the client learns it later", async () => {
    const connection = await connected();
    proxy.hold("replies");
    connection.send("SET k v");
    await proxy.when(({ replies }) => replies.held === 1);
    expect(await direct.get("k")).toBe("v");
    expect(connection.received).toBe("");
    proxy.release();
    await connection.receives("+OK\r\n");
    expect(proxy.counters.replies.held).toBe(0);
  });

  for (const leave of ["destroy", "resetAndDestroy"] as const) {
    test(`a late request arrives although its client gave up (${leave})`, async () => {
      const connection = await connected();
      proxy.hold("requests");
      connection.send("SET k late");
      await proxy.when(({ requests }) => requests.held === 1);
      connection.socket[leave]();
      await connection.ended;
      expect(await direct.get("k")).toBe(null);
      const answered = proxy.nextReply();
      proxy.release();
      await answered;
      expect(await direct.get("k")).toBe("late");
    });
  }

  test("heal delivers what is held", async () => {
    const connection = await connected();
    proxy.hold("requests");
    proxy.hold("replies");
    connection.send("SET k v");
    await proxy.when(({ requests }) => requests.held === 1);
    await proxy.heal();
    await connection.receives("+OK\r\n");
  });
});

describe("delaying", () => {
  test("each direction, on present and new connections", async () => {
    const before = await connected();
    proxy.delay(30);
    for (const connection of [before, new Connection(proxy.port)]) {
      const began = performance.now();
      connection.send("PING");
      await connection.receives("+PONG\r\n");
      expect(performance.now() - began).toBeGreaterThanOrEqual(60);
    }
    proxy.delay(0, "requests");
    const began = performance.now();
    before.send("PING");
    await before.receives("+PONG\r\n");
    expect(performance.now() - began).toBeGreaterThanOrEqual(30);
  });

  test("a shorter delay does not let bytes overtake; ending it delivers at once, in order", async () => {
    const connection = await connected();
    proxy.delay(3_600_000, "requests");
    connection.send("RPUSH list a");
    await proxy.when(({ requests }) => requests.held === 1);
    proxy.delay(1, "requests");
    connection.send("RPUSH list b");
    await proxy.when(({ requests }) => requests.held === 2);
    proxy.delay(0);
    await connection.receives(":1\r\n:2\r\n");
    expect(await direct.lrange("list", 0, -1)).toEqual(["a", "b"]);
    proxy.delay(1);
    connection.send("PING");
    await connection.receives("+PONG\r\n");
  });
});

describe("resetting and refusing", () => {
  test("reset ends present connections with a TCP reset, on the server's side too; new ones work", async () => {
    const connection = await connected();
    const blocked = await connected();
    blocked.send("BLPOP list 0");
    await expect.poll(() => direct.client("LIST")).toContain("cmd=blpop");
    proxy.reset();
    expect(await connection.ended).toBe("ECONNRESET");
    expect(await blocked.ended).toBe("ECONNRESET");
    await expect.poll(() => direct.client("LIST")).not.toContain("cmd=blpop");
    await connected();
  });

  test("refuse closes the port and spares present connections; accept opens the same port", async () => {
    const connection = await connected();
    await proxy.refuse();
    expect(await new Connection(proxy.port).ended).toBe("ECONNREFUSED");
    connection.send("PING");
    await connection.receives("+PONG\r\n");
    await Promise.all([proxy.accept(), proxy.accept()]);
    await connected();
    await proxy.refuse();
    await proxy.refuse();
    await proxy.heal();
    await connected();
  });
});

describe("freezing and pointing elsewhere", () => {
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

  test("new connections go to the other server, present ones stay", async () => {
    await using others = await startMasters(1, { source: "local-binary", say: () => {} });
    const before = await connected();
    proxy.pointTo(others.list[0]!);
    const after = await connected();
    after.send("SET k there");
    await after.receives("+OK\r\n");
    before.send("SET k here");
    await before.receives("+OK\r\n");
    expect(await direct.get("k")).toBe("here");
  });

  test("leadTo: present ones are reset as well", async () => {
    await using others = await startMasters(1, { source: "local-binary", say: () => {} });
    const before = await connected();
    proxy.leadTo(others.list[0]!);
    expect(await before.ended).toBe("ECONNRESET");
    const after = await connected();
    after.send("SET k there");
    await after.receives("+OK\r\n");
    expect(await direct.get("k")).toBeNull();
  });
});

test("its url has the credentials of its target", async () => {
  await using guarded = await startProxy({
    host: "127.0.0.1",
    port: 1,
    url: "redis://me:secret@far.away:1/2",
  });
  expect(guarded.url).toBe(`redis://me:secret@127.0.0.1:${guarded.port}/2`);
  expect(proxy.url).toBe(`redis://127.0.0.1:${proxy.port}`);
});

describe("resetAfterRequest: applied, reply lost", () => {
  test("happens once, to the first match, when the server has done it", async () => {
    const connection = await connected();
    const happened = proxy.resetAfterRequest(isSet);
    connection.send("GET k");
    await connection.receives("$-1\r\n");
    connection.send("SET k v");
    await happened;
    expect(await direct.get("k")).toBe("v");
    expect(await connection.ended).toBe("ECONNRESET");
    expect(connection.received).toBe("");
    const next = await connected();
    next.send("SET k w");
    await next.receives("+OK\r\n");
  });

  test("spares other connections", async () => {
    const other = await connected();
    const connection = await connected();
    const happened = proxy.resetAfterRequest();
    connection.send("SET k v");
    await happened;
    other.send("GET k");
    await other.receives("$1\r\nv\r\n");
  });

  test("works beside a client's pipeline", async () => {
    const client = new Redis(proxy.url, { retryStrategy: () => null, maxRetriesPerRequest: 0 });
    client.on("error", () => {});
    await client.ping();
    const happened = proxy.resetAfterRequest((bytes) => bytes.includes("pipelined"));
    const results = Promise.allSettled([client.get("k"), client.set("k", "pipelined"), client.get("k")]);
    await happened;
    expect(await direct.get("k")).toBe("pipelined");
    expect((await results).map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  });

  test("is called off by heal", async () => {
    const happened = proxy.resetAfterRequest();
    await proxy.heal();
    await expect(happened).rejects.toThrow("healed");
    await connected();
  });

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

describe("waiting", () => {
  test("for traffic: it is seen even if it is dropped or held", async () => {
    const connection = await connected();
    proxy.dropRequests();
    const seen = proxy.nextRequest(isSet);
    connection.send("SET k v");
    await seen;
    await proxy.heal();
    const next = await connected();
    proxy.hold("replies");
    const answered = proxy.nextReply((bytes) => bytes.includes("OK"));
    next.send("SET k v");
    await answered;
    expect(next.received).toBe("");
  });

  test("for counters: at once when they are so already", async () => {
    await proxy.when(({ connections }) => connections === 0);
    const waiting = proxy.when(({ accepted }) => accepted === 2);
    await connected();
    await connected();
    await waiting;
  });

  test("a match that throws fails its own wait, and nothing else", async () => {
    const failure = new Error("a bug in the test");
    const match = (): boolean => {
      throw failure;
    };
    const waits = [proxy.nextRequest(match), proxy.nextReply(match), proxy.resetAfterRequest(match)];
    await connected();
    for (const waiting of waits) await expect(waiting).rejects.toBe(failure);
  });
});

describe("stop", () => {
  test("ends connections, closes the port, rejects what waits; twice is once", async () => {
    const connection = await connected();
    const waits = [
      proxy.nextRequest(),
      proxy.nextReply(),
      proxy.resetAfterRequest(),
      proxy.when(({ accepted }) => accepted > 9),
    ];
    await Promise.all([proxy.stop(), proxy.stop()]);
    expect(await connection.ended).toBe("ECONNRESET");
    await untilRefused("127.0.0.1", proxy.port);
    for (const waiting of waits) await expect(waiting).rejects.toThrow("stopped");
    await expect(proxy.nextRequest()).rejects.toThrow("stopped");
    await expect(proxy.accept()).rejects.toThrow("stopped");
  });

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
