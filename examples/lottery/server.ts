import { randomInt } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { Redlock } from "@quorlock/redlock";
import { now } from "@quorlock/simulation/processes";
import { connect } from "../fixture/connect.ts";
import { type Member, takeOrders } from "../fixture/member.ts";

// One of several servers that try to do the same job at the same time; it must be done once.

export type Order =
  | { readonly kind: "open"; readonly urls: readonly string[] }
  | { readonly kind: "draw"; readonly at: number }
  | { readonly kind: "leave" };

export type Report =
  | { readonly kind: "ready" }
  /** `after`: the duration of `tryAcquire`, ms. */
  | { readonly kind: "drew"; readonly ticket: number; readonly after: number }
  | { readonly kind: "gave up"; readonly after: number };

let redlock: Redlock;

/**
 * The server holds the lock until it quits. If it released the lock right after the draw, a server that is a moment late
 * would acquire it and draw again.
 */
async function draw(moment: number, member: Member<Report>): Promise<void> {
  await pause(moment - now());
  const began = now();
  const lock = await redlock.tryAcquire("lottery", 10_000);
  const after = now() - began;
  if (lock) member.report({ kind: "drew", ticket: randomInt(1_000_000), after });
  else member.report({ kind: "gave up", after });
}

async function obey(order: Order, member: Member<Report>): Promise<void> {
  if (order.kind === "open") {
    redlock = connect(order.urls);
    await redlock.inspect("lottery");
    member.report({ kind: "ready" });
  } else if (order.kind === "draw") {
    await draw(order.at, member);
  } else {
    // Releases the lock if it is held.
    await redlock.quit();
    member.leave();
  }
}

takeOrders<Report>((order, member) => obey(order as Order, member));
