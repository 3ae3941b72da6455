import { randomInt } from "node:crypto";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import type { Redlock } from "@quorlock/redlock";
import { now, parentOf } from "@quorlock/simulation/processes";
import { connect } from "../fixture/connect.ts";
import { Pulse } from "../fixture/pulse.ts";
import type { Hold } from "./ledger.ts";
import { Shop } from "./shop.ts";
import { lease } from "./terms.ts";

// One selling process. The use of the lock is in `sellWithLock` and `sellOne`.

/** The calls that a seller offers. */
export interface Seller {
  open(directory: string, urls: readonly string[]): Promise<void>;
  /** Sells until the stock is empty. */
  sell(locked: boolean): Promise<void>;
  /** The payment hangs when this many items are left. */
  hangPayment(at: number | undefined): void;
  leave(): Promise<void>;
}

/** The reports of a seller. */
export interface Office {
  held(hold: Omit<Hold, "worker">): void;
  paymentHangs(): void;
  aborted(at: number, standstill: number | undefined): void;
}

/** Upper bound for a write, ms: if the lease has less time left, the write is not started. */
const timeToWrite = 20;

/** Signal and remaining time for sales without a lock. */
const neverAborted = AbortSignal.any([]);
const endless = (): number => Number.POSITIVE_INFINITY;

let shop: Shop;
const pulse = new Pulse(now());
setInterval(() => pulse.beat(now()), Pulse.interval).unref();
let redlock: Redlock;
/** The payment hangs when this many items are left. */
let hangsAt: number | undefined;

/** Serves one customer after another until the stock is empty. */
async function sell(locked: boolean): Promise<void> {
  for (let left: number | undefined; left !== 0; ) {
    left = locked ? await sellWithLock() : await sellOne(neverAborted, endless);
    // Time until the next customer.
    await pause(randomInt(5, 50));
  }
}

function sellWithLock(): Promise<number | undefined> {
  return redlock.using("stock", lease, async (signal, lock) => {
    signal.addEventListener("abort", () => {
      const at = now();
      void office.aborted.asEvent(at, pulse.standstill(at));
    });
    return sellOne(signal, () => lock.remaining());
  });
}

/** The critical section: read, wait, write. Returns the number of items left. */
async function sellOne(signal: AbortSignal, remaining: () => number): Promise<number | undefined> {
  const granted = now();
  let left: number | undefined;
  let sold = false;
  const stock = await shop.readStock();
  if (stock === 0) left = 0;
  else if (await isPaid(stock, signal)) {
    // The lock is checked right before the write.
    if (!signal.aborted && remaining() > timeToWrite) {
      left = stock - 1;
      await shop.writeStock(left);
      sold = true;
    }
  }
  const end = now();
  // A process that was suspended until its lock had expired, and then sold nothing, did not touch the stock since.
  const ended = sold ? end : Math.max(granted, pulse.standstill(end) ?? end);
  void office.held.asEvent({ granted, ended, sold, left });
  return left;
}

/** Waits for the payment service. Returns false if the signal aborts it. */
async function isPaid(stock: number, signal: AbortSignal): Promise<boolean> {
  if (stock !== hangsAt) return pause(randomInt(25, 45), true, { signal }).catch(() => false);
  void office.paymentHangs.asEvent();
  if (!signal.aborted) await once(signal, "abort");
  return false;
}

const office = parentOf<Office, Seller>({
  async open(directory, urls) {
    shop = new Shop(directory);
    // Nobody else removes it if the parent is killed.
    process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
    // Longer than a sale: a sale that stalls is stopped earlier.
    redlock = connect(urls, { waitTimeout: 60_000, retryDelay: 30, retryJitter: 20 });
    // The lock is free; the call only waits until all connections are up.
    await redlock.inspect("stock");
  },
  sell,
  hangPayment(at) {
    hangsAt = at;
  },
  leave: () => redlock.quit(),
});
