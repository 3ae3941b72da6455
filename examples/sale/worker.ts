import { randomInt } from "node:crypto";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import type { Redlock } from "@quorlock/redlock";
import { now } from "../stage/clock.ts";
import { connect } from "../stage/connect.ts";
import { type Member, takeOrders } from "../stage/member.ts";
import { Pulse } from "../stage/pulse.ts";
import type { Hold } from "./ledger.ts";
import { Shop } from "./shop.ts";
import { lease } from "./terms.ts";

// One process that sells. Everything that matters for the lock is in `sell` and `sellOne`.

export type Order =
  | { readonly kind: "open"; readonly urls: readonly string[] }
  | { readonly kind: "sell"; readonly locked: boolean }
  | { readonly kind: "hang-payment"; readonly at: number | undefined }
  | { readonly kind: "leave" };

export type Report =
  | { readonly kind: "ready" }
  | { readonly kind: "hold"; readonly hold: Omit<Hold, "worker"> }
  | { readonly kind: "payment-hangs" }
  | { readonly kind: "told"; readonly at: number; readonly standstill: number | undefined }
  | { readonly kind: "closed" };

/** A write takes less than this, ms: with less left of the lock it is not begun. */
const timeToWrite = 20;

/** What stands in for the lock where there is none. */
const neverAborted = AbortSignal.any([]);
const endless = (): number => Number.POSITIVE_INFINITY;

const shop = new Shop(process.argv[2]!);
const pulse = new Pulse(now());
setInterval(() => pulse.beat(now()), Pulse.interval).unref();
let redlock: Redlock;
/** The payment for an item hangs while this many are left. */
let hangsAt: number | undefined;

/** Serves one customer after the other, until the stock is empty. */
async function sell(locked: boolean, member: Member<Report>): Promise<void> {
  for (let left: number | undefined; left !== 0; ) {
    left = locked ? await sellWithLock(member) : await sellOne(member, neverAborted, endless);
    // The next customer comes in.
    await pause(randomInt(5, 50));
  }
  member.report({ kind: "closed" });
}

function sellWithLock(member: Member<Report>): Promise<number | undefined> {
  return redlock.using("stock", lease, async (signal, lock) => {
    signal.addEventListener("abort", () => {
      const at = now();
      member.report({ kind: "told", at, standstill: pulse.standstill(at) });
    });
    return sellOne(member, signal, () => lock.remaining());
  });
}

/** Read, wait, write: what two must never do at the same time. Returns what is left of the stock. */
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
    // The last look, right before the write.
    if (!signal.aborted && remaining() > timeToWrite) {
      left = stock - 1;
      await shop.writeStock(left);
      sold = true;
    }
  }
  const end = now();
  // A process that stood still until its lock had expired, and then sold nothing, has left the stock alone since.
  const ended = sold ? end : Math.max(granted, pulse.standstill(end) ?? end);
  member.report({ kind: "hold", hold: { granted, ended, sold, left } });
  return left;
}

/** The payment service takes its time. False when the signal called it off. */
async function isPaid(stock: number, signal: AbortSignal, member: Member<Report>): Promise<boolean> {
  if (stock !== hangsAt) return pause(randomInt(25, 45), true, { signal }).catch(() => false);
  member.report({ kind: "payment-hangs" });
  if (!signal.aborted) await once(signal, "abort");
  return false;
}

async function obey(order: Order, member: Member<Report>): Promise<void> {
  if (order.kind === "open") {
    // The sale ends before this, if nothing is sold any more.
    redlock = connect(order.urls, { waitTimeout: 60_000, retryDelay: 30, retryJitter: 20 });
    // Nobody holds it yet: this only makes sure that all connections stand.
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
