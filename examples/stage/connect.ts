import { Redlock, type RedlockOptions } from "@quorlock/redlock";
import { Redis } from "ioredis";

/** A Redlock over the masters at `urls`. Its `quit()` closes the connections as well. */
export function connect(urls: readonly string[], options: RedlockOptions = {}): Redlock {
  const clients = urls.map((url) => {
    const client = new Redis(url);
    // Masters will be killed. ioredis connects again by itself, and prints the error where nobody listens.
    client.on("error", () => {});
    return client;
  });
  return new Redlock(clients, options);
}
