import type { Redlock } from "@quorlock/redlock";
import { connect } from "../fixture/connect.ts";
import { type Member, takeOrders } from "../fixture/member.ts";

// A process that books a payment: it gets the balance under the lock, and writes it back with the lock's fencing token.

export const ttl = 1_000;

export type Order =
  | { readonly kind: "open"; readonly urls: readonly string[] }
  | { readonly kind: "acquire" }
  | { readonly kind: "book"; readonly amount: number; readonly balance: number; readonly isPaused: boolean }
  | { readonly kind: "leave" };

export type Report =
  | { readonly kind: "ready" }
  | { readonly kind: "holds"; readonly token: number }
  | { readonly kind: "writes"; readonly balance: number; readonly token: number }
  | { readonly kind: "looks again"; readonly state: string };

let redlock: Redlock;
let lock: Awaited<ReturnType<Redlock["acquire"]>>;

async function acquire(member: Member<Report>): Promise<void> {
  lock = await redlock.acquire("account", ttl, { waitTimeout: 10 * ttl });
  member.report({ kind: "holds", token: lock.fencingToken! });
}

function book({ balance, amount, isPaused }: Order & { kind: "book" }, member: Member<Report>): void {
  // The lock is checked right before the write,
  if (lock.remaining() === 0) return;
  // but then the whole process is suspended, as by a garbage collection or the migration of a virtual machine.
  if (isPaused) process.kill(process.pid, "SIGSTOP");
  member.report({ kind: "writes", balance: balance - amount, token: lock.fencingToken! });
  member.report({ kind: "looks again", state: lock.state });
}

async function obey(order: Order, member: Member<Report>): Promise<void> {
  if (order.kind === "open") {
    redlock = connect(order.urls, { fencing: true });
    await redlock.inspect("account");
    member.report({ kind: "ready" });
  } else if (order.kind === "acquire") {
    await acquire(member);
  } else if (order.kind === "book") {
    book(order, member);
  } else {
    await redlock.quit();
    member.leave();
  }
}

takeOrders<Report>((order, member) => obey(order as Order, member));
