import { randomInt } from "node:crypto";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import type { Redlock } from "@quorlock/redlock";
import { now } from "@quorlock/simulation/processes";
import { connect } from "../fixture/connect.ts";
import { type Member, takeOrders } from "../fixture/member.ts";
import { Pulse } from "../fixture/pulse.ts";
import type { Hold } from "./ledger.ts";
import { Shop } from "./shop.ts";
import { lease } from "./terms.ts";

// One selling process. The use of the lock is in `sellWithLock` and `sellOne`.

export type Order =
  | { readonly kind: "open"; readonly urls: readonly string[] }
  | { readonly kind: "sell"; readonly locked: boolean }
  | { readonly kind: "hang-payment"; readonly at: number | undefined }
  | { readonly kind: "leave" };

export type Report =
  | { readonly kind: "ready" }
  | { readonly kind: "hold"; readonly hold: Omit<Hold, "worker"> }
  | { readonly kind: "payment-hangs" }
  | { readonly kind: "aborted"; readonly at: number; readonly standstill: number | undefined }
  | { readonly kind: "closed" };

/** Upper bound for a write, ms: if the lease has less time left, the write is not started. */
const timeToWrite = 20;

/** Signal and remaining time for sales without a lock. */
const neverAborted = AbortSignal.any([]);
const endless = (): number => Number.POSITIVE_INFINITY;

const shop = new Shop(process.argv[2]!);
const pulse = new Pulse(now());
setInterval(() => pulse.beat(now()), Pulse.interval).unref();
let redlock: Redlock;
/** The payment hangs when this many items are left. */
let hangsAt: number | undefined;

/** Serves one customer after another until the stock is empty. */
async function sell(locked: boolean, member: Member<Report>): Promise<void> {
  for (let left: number | undefined; left !== 0; ) {
    left = locked ? await sellWithLock(member) : await sellOne(member, neverAborted, endless);
    // Time until the next customer.
    await pause(randomInt(5, 50));
  }
  member.report({ kind: "closed" });
}

function sellWithLock(member: Member<Report>): Promise<number | undefined> {
  return redlock.using("stock", lease, async (signal, lock) => {
    signal.addEventListener("abort", () => {
      const at = now();
      member.report({ kind: "aborted", at, standstill: pulse.standstill(at) });
    });
    return sellOne(member, signal, () => lock.remaining());
  });
}

/** The critical section: read, wait, write. Returns the number of items left. */
async function sellOne(
  member: Member<Report>,
  signal: AbortSignal,
  remaining: () => number,
): Promise<number | undefined> {
  const granted = now();
  let left: number | undefined;
  let sold = false;
  const stock = await shop.readStock();
  if (stock === 0) left = 0;
  else if (await isPaid(stock, signal, member)) {
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
  member.report({ kind: "hold", hold: { granted, ended, sold, left } });
  return left;
}

/** Waits for the payment service. Returns false if the signal aborts it. */
async function isPaid(stock: number, signal: AbortSignal, member: Member<Report>): Promise<boolean> {
  if (stock !== hangsAt) return pause(randomInt(25, 45), true, { signal }).catch(() => false);
  member.report({ kind: "payment-hangs" });
  if (!signal.aborted) await once(signal, "abort");
  return false;
}

async function obey(order: Order, member: Member<Report>): Promise<void> {
  if (order.kind === "open") {
    // Longer than a sale: a sale that stalls is stopped earlier.
    redlock = connect(order.urls, { waitTimeout: 60_000, retryDelay: 30, retryJitter: 20 });
    // The lock is free; the call only waits until all connections are up.
    await redlock.inspect("stock");
    member.report({ kind: "ready" });
  } else if (order.kind === "sell") {
    await sell(order.locked, member);
  } else if (order.kind === "hang-payment") {
    hangsAt = order.at;
  } else {
    await redlock.quit();
    member.leave();
  }
}

takeOrders<Report>(
  (order, member) => obey(order as Order, member),
  () => rmSync(shop.directory, { recursive: true, force: true }),
);
