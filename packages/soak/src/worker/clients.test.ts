import { Random } from "@quorlock/simulation";
import { startMasters } from "@quorlock/testbed";
import { expect, it } from "vitest";
import { type OpenClient, openClient } from "./clients.ts";

/** A client of this library: the first seed that draws it. */
function openOf(library: string, url: string): OpenClient {
  for (let seed = 0; ; seed += 1) {
    const opened = openClient(url, new Random(seed));
    if (opened.library === library) return opened;
    closed(opened);
  }
}

function closed({ client }: OpenClient): void {
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
