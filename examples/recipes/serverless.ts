import { Redlock, ResourceLockedError } from "@quorlock/redlock";
import { Redis } from "ioredis";
import { check, type Recipe } from "./recipe.ts";

/**
 * A handler whose process may be frozen between two requests. Connections are made once, outside of it; servers and networks may
 * have closed them during a freeze. So each call waits until they stand (`ready`: a round trip or two if they do), holds the lock for a short ttl, and leaves nothing to do after the response.
 */
export function makeHandler(urls: readonly string[]): {
  handle(order: string): Promise<{ status: number }>;
  readonly redlock: Redlock;
} {
  const clients = urls.map((url) => new Redis(url).on("error", () => {}));
  // `owner: false`: no record is written between two requests.
  const redlock = new Redlock(clients, { owner: false });
  return {
    redlock,
    async handle(order) {
      try {
        await redlock.ready({ timeout: 3000 });
        await redlock.using(order, 2000, { waitTimeout: 0 }, async (signal) => {
          await new Promise((resolve) => setTimeout(resolve, 20));
          signal.throwIfAborted();
        });
        return { status: 200 };
      } catch (error) {
        if (error instanceof ResourceLockedError) return { status: 409 };
        throw error;
      }
    },
  };
}

export const serverless: Recipe = {
  title: "serverless: the first request of a process gets its lock, and nothing is sent after the response",
  async play({ urls }) {
    const handler = makeHandler(urls);
    const admins = urls.map((url) => new Redis(url));
    try {
      const first = await handler.handle("order:1");
      check(first.status === 200, `the first request ended with ${first.status}`);
      const [one, other] = await Promise.all([handler.handle("order:2"), handler.handle("order:2")]);
      check(
        one.status + other.status === 200 + 409,
        `two requests for one order: ${one.status}, ${other.status}`,
      );
      const sent = async (): Promise<string[]> =>
        Promise.all(
          admins.map(async (admin) => {
            // Without the question itself.
            const stats = await admin.info("commandstats");
            return stats.replace(/cmdstat_info:.*/, "");
          }),
        );
      const before = await sent();
      await new Promise((resolve) => setTimeout(resolve, 3000));
      check(JSON.stringify(await sent()) === JSON.stringify(before), "commands were sent after the response");
      const left = await Promise.all(admins.map((admin) => admin.exists("order:1", "order:2")));
      check(
        left.every((count) => count === 0),
        "a key is left",
      );
      return "200 at once, 409 for the second of two; 0 commands in the 3 s after";
    } finally {
      await handler.redlock.quit();
      for (const admin of admins) admin.disconnect();
    }
  },
};
