import { ExecutionError, LockLostError, Redlock } from "@quorlock/redlock";
import {
  type EmbeddedMaster,
  type EmbeddedMasters,
  startEmbeddedMasters,
} from "@quorlock/simulation/embedded";
import { Redis } from "ioredis";
import { afterEach, beforeEach, expect, test } from "vitest";

// Tests code that takes a lock, without Redis and without Docker: five masters run in the process of the test.

/** The code under test: it ships each order once, even if several servers receive it. */
class Shipping {
  readonly #redlock: Redlock;
  readonly #shipped: string[];

  constructor(redlock: Redlock, shipped: string[]) {
    this.#redlock = redlock;
    this.#shipped = shipped;
  }

  async ship(order: string, pack: (signal: AbortSignal) => Promise<unknown> = async () => {}): Promise<void> {
    await this.#redlock.using(`order:${order}`, 1_000, async (signal) => {
      if (this.#shipped.includes(order)) return;
      await pack(signal);
      signal.throwIfAborted();
      this.#shipped.push(order);
    });
  }
}

let masters: EmbeddedMasters;
let redlocks: Redlock[];
let shipped: string[];

/** One of the servers, with its own connections. */
function server(): Shipping {
  const clients = masters.urls.map((url) => {
    const client = new Redis(url);
    // Tests kill masters. ioredis reconnects; without a listener it prints each error.
    client.on("error", () => {});
    return client;
  });
  const redlock = new Redlock(clients, { retryCount: 5 });
  redlocks.push(redlock);
  return new Shipping(redlock, shipped);
}

beforeEach(async () => {
  masters = await startEmbeddedMasters(5);
  redlocks = [];
  shipped = [];
});

afterEach(async () => {
  await Promise.all(redlocks.map((redlock) => redlock.quit()));
  await masters.stop();
});

test("an order that two servers receive at the same time is shipped once", async () => {
  const [one, other] = [server(), server()];
  await Promise.all([one.ship("42"), other.ship("42")]);
  expect(shipped).toEqual(["42"]);
});

test("two of five masters may fail", async () => {
  const [first, second] = masters.list as [EmbeddedMaster, EmbeddedMaster];
  await first.kill();
  await second.hang();
  await server().ship("42");
  expect(shipped).toEqual(["42"]);
});

test("without a majority nothing is shipped, and the call rejects", async () => {
  await Promise.all(masters.list.slice(0, 3).map((master) => master.kill()));
  await expect(server().ship("42")).rejects.toThrow(ExecutionError);
  expect(shipped).toEqual([]);
});

/** Makes all masters hang and takes until the lock is lost. */
async function packTooLong(signal: AbortSignal): Promise<void> {
  await Promise.all(masters.list.map((master) => master.hang()));
  await new Promise((resolve) => {
    signal.addEventListener("abort", resolve);
  });
}

test("a server that loses the masters while it packs does not ship", async () => {
  await expect(server().ship("42", packTooLong)).rejects.toThrow(LockLostError);
  expect(shipped).toEqual([]);
});
