import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { Redlock } from "@quorlock/redlock";
import { startMasters } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis-5";
import OldestRedis from "ioredis-5.0";
import { Redis as Valkey } from "iovalkey";
import { createClient } from "redis";
import { createClient as createOldestClient } from "redis-5.0";
import { expect, test } from "vitest";

// The reason that keeps a client from its master is told as the server or the system says it, never as an option of our connections.

type Client = ConstructorParameters<typeof Redlock>[0] & {
  on(event: "error", listener: () => void): unknown;
};

const host = "127.0.0.1";
const libraries: Readonly<Record<string, (port: number, db: number) => unknown>> = {
  "ioredis 6": (port, db) => new Redis({ port, host, db }),
  "ioredis 5": (port, db) => new Redis5({ port, host, db }),
  "ioredis 5.0": (port, db) => new (OldestRedis as unknown as typeof Redis)({ port, host, db }),
  iovalkey: (port, db) => new Valkey({ port, host, db }),
  "node-redis 6": (port, database) => connected(createClient({ socket: { port, host }, database })),
  "node-redis 5.0": (port, database) => connected(createOldestClient({ socket: { port, host }, database })),
};

function connected<C extends { connect(): Promise<unknown> }>(client: C): C {
  client.connect().catch(() => {});
  return client;
}

/** What `ready` and the events of the locks that fail say, for each library that does not say `cause`. */
async function withoutCause(cause: RegExp, port: number, db = 0): Promise<Readonly<Record<string, unknown>>> {
  const unlike: Record<string, unknown> = {};
  for (const [library, open] of Object.entries(libraries)) {
    const client = open(port, db) as Client;
    client.on("error", () => {});
    const redlock = new Redlock(client, { retryCount: 0, nodeTimeout: 300 });
    const told: string[] = [];
    redlock.on("error", ({ message }) => told.push(message));
    const said = String(await redlock.ready({ timeout: 600 }).catch((error: Error) => error.message));
    await redlock.acquire("r", 2000).catch(() => {});
    const ours = told.filter((message) => /option|offline|queue|maxRetries/i.test(message));
    if (!cause.test(said) || ours.length > 0) unlike[library] = [said, ours];
    await redlock.quit();
  }
  return unlike;
}

test("a server that has as many clients as it may", async () => {
  await using full = await startMasters(1, { say: () => {}, config: ["--maxclients", "1"] });
  const port = Number(new URL(full.urls[0]!).port);
  const only = connect(port, host);
  only.write("PING\r\n");
  await once(only, "data");
  // (Where a client has written by then, the system may reset the connection and drop the reply.)
  const others = Object.values(await withoutCause(/max number of clients reached/, port));
  expect(others.filter((told) => !/read ECONNRESET [^,]+,\[\]\]$/.test(JSON.stringify(told)))).toEqual([]);
  expect(others.length).toBeLessThan(3);
  only.destroy();
});

test("a server without SELECT, or without the database", async () => {
  await using none = await startMasters(1, { say: () => {}, config: ["--rename-command", "SELECT", ""] });
  expect(await withoutCause(/unknown command 'select'/i, Number(new URL(none.urls[0]!).port), 3)).toEqual({});
  await using one = await startMasters(1, { say: () => {}, config: ["--databases", "1"] });
  expect(await withoutCause(/DB index is out of range/, Number(new URL(one.urls[0]!).port), 3)).toEqual({});
});

test("a server, or something before it, that resets connections", async () => {
  const resetting = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.resetAndDestroy());
  });
  await once(resetting.listen(0, host), "listening");
  expect(await withoutCause(/ECONNRESET/, (resetting.address() as AddressInfo).port)).toEqual({});
  resetting.close();
});
