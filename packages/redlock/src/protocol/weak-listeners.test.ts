import { setImmediate as turn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import type { RedlockOptions } from "../client.ts";
import { RedisNode } from "../redis/redis-node.ts";
import { Redlock } from "../redlock.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/**
 * A dereferenced weak reference keeps its target until the turn is over. A turn finalizes one registry, and other tests may have
 * left thousands.
 */
async function until(isSo: () => boolean): Promise<boolean> {
  for (let round = 0; round < 20_000; round += 1) {
    await turn();
    if (round < 10 || round % 1000 === 0) collect();
    await turn();
    if (isSo()) return true;
  }
  return false;
}

/** The connection of a client that lives on, never ready. */
class Connection {
  readonly client: object = this;
  readonly listeners = new Set<() => void>();
  readonly name = "master";
  readonly isReady = false;
  readonly session = 0;
  readonly notReadyReason = "it is not connected";
  onReady(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }
  connectFirst(): undefined {}
  send = (): Promise<never> => Promise.reject(new Error(this.notReadyReason));
  isErrorReply = (error: unknown): error is Error => error instanceof RangeError;
  close(): Promise<void> {
    return Promise.resolve();
  }
  disconnect(): void {}
}

test.each<RedlockOptions>([{}, { restartGuard: { maxTtl: 1000 } }, { clockWatch: true }])(
  "a Redlock with %j that is dropped is collected, and leaves no listener on its client's connection",
  async (options) => {
    const connection = new Connection();
    // The first one makes the window, which all share.
    expect(new RedisNode(connection).name).toBe("master");
    const before = connection.listeners.size;
    const dropped = new WeakRef(new Redlock([new RedisNode(connection)], options));
    expect(connection.listeners.size).toBeGreaterThan(before);
    expect(await until(() => connection.listeners.size === before)).toBe(true);
    expect(dropped.deref()).toBeUndefined();
  },
);
