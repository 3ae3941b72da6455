import { Redis } from "ioredis";
import { expect, test } from "vitest";
import { type Master, type Masters, NoMastersError } from "../masters.ts";
import { askServer, untilAnswers } from "../servers/ping.ts";
import { startMasters } from "../servers/start-masters.ts";
import { disconnectNetwork } from "./docker-fault.ts";

const timeoutMilliseconds = 120_000;

/** Needs an engine and an image: `.ci/run` has a step for it. Elsewhere it says why it does not run. */
async function startContainers(context: { skip(note: string): never }, count: number): Promise<Masters> {
  try {
    return await startMasters(count, { source: "docker", say: () => {} });
  } catch (error) {
    if (!(error instanceof NoMastersError)) throw error;
    console.log(`SKIPPED: ${error.message}`);
    return context.skip(error.message);
  }
}

test(
  "a container that is taken off its network is silent, and goes on where it was when it is back",
  async (context) => {
    await using masters = await startContainers(context, 2);
    const [cut, other] = masters.list as [Master, Master];
    const client = new Redis(cut.url, { retryStrategy: () => 50 });
    client.on("error", () => {});
    await client.set("k", "v");
    const network = await disconnectNetwork(cut);
    expect(await askServer(cut.host, cut.port, 500)).toBeUndefined();
    expect((await askServer(other.host, other.port, 5000))?.line).toBe("+PONG");
    await network.heal();
    await untilAnswers(cut.host, cut.port, 30_000);
    const again = new Redis(cut.url);
    expect(await again.get("k")).toBe("v");
    again.disconnect();
    client.disconnect();
  },
  timeoutMilliseconds,
);
