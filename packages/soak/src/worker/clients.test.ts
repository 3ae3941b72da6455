import { type Client, Redlock } from "@quorlock/redlock";
import { Random } from "@quorlock/simulation";
import { clusterConfig, formCluster, startMasters } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { expect, it } from "vitest";
import { type OpenClient, openClient, openCluster } from "./clients.ts";

/** A client of this library: the first seed that draws it. */
function openOf(library: string, url: string): OpenClient {
  for (let seed = 0; ; seed += 1) {
    const opened = openClient(url, new Random(seed));
    if (opened.library === library) return opened;
    closed(opened);
  }
}

function closed({ client }: { readonly client: Client }): void {
  const { destroy, disconnect } = client as { destroy?: () => void; disconnect: () => void };
  (destroy ?? disconnect).call(client);
}

it.concurrent.each(["ioredis 5", "ioredis 6", "node-redis 5", "node-redis 6"])(
  "a client of %s is connected again if it is told to reconnect in the turn in which it was opened",
  async (library) => {
    await using masters = await startMasters(1, { say: () => {} });
    const opened = openOf(library, masters.urls[0]!);
    const timeUp = new Promise((resolve) => {
      setTimeout(() => resolve("not connected"), 5000).unref();
    });
    const reconnected = opened.reconnect().then(() => "connected");
    expect(await Promise.race([reconnected, timeUp])).toBe("connected");
    closed(opened);
  },
);

/** As on a machine with other work: this process does not run. */
function block(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

it("a worker's first lock on the Cluster is granted although its process stands still for a second at its start", async () => {
  await using masters = await startMasters(2, { config: clusterConfig, say: () => {} });
  const admins = masters.urls.map((url) => new Redis(url));
  await formCluster(admins);
  for (const admin of admins) admin.disconnect();
  // These draw each version of each library.
  for (const seed of [0, 1, 2, 3]) {
    const opening = openCluster(masters.urls, new Random(seed));
    setTimeout(() => block(1100), 2);
    const client = await opening;
    const redlock = new Redlock([client], { nodeTimeout: 4000 });
    const lock = await redlock.tryAcquire("free", 5000);
    expect(lock).not.toBeNull();
    await lock?.release();
    await redlock.quit({ keepClients: true });
    closed({ client });
  }
});
