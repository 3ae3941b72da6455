import { randomInt } from "node:crypto";
import { once } from "node:events";
import type { Server } from "node:net";

export const host = "127.0.0.1";

// Below the ports that systems give to outgoing connections (Linux from 32768, macOS from 49152): a client that
// retries against a killed master could be given the master's port as its own, and TCP would connect it to itself.
const lowest = 12_000;
const highest = 22_000;
const attempts = 100;

/** Listens on `port`, or on a random one that is free; resolves with the port. */
export async function listen(server: Server, port: number | undefined): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    const tried = port ?? randomInt(lowest, highest);
    try {
      server.listen(tried, host);
      await once(server, "listening");
      return tried;
    } catch (error) {
      const isTaken = (error as NodeJS.ErrnoException).code === "EADDRINUSE";
      if (port !== undefined || !isTaken || attempt === attempts) throw error;
    }
  }
}
