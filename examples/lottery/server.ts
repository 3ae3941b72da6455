import { randomInt } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { Redlock } from "@quorlock/redlock";
import { now } from "../stage/clock.ts";
import { connect } from "../stage/connect.ts";
import { type Member, takeOrders } from "../stage/member.ts";

// One of several servers that are all to do the same thing at the same moment, once.

export type Order =
  | { readonly kind: "open"; readonly urls: readonly string[] }
  | { readonly kind: "draw"; readonly at: number }
  | { readonly kind: "leave" };

export type Report =
  | { readonly kind: "ready" }
  /** `after`: how long it took to know, ms. */
  | { readonly kind: "drew"; readonly ticket: number; readonly after: number }
  | { readonly kind: "gave up"; readonly after: number };

let redlock: Redlock;

/**
 * The lock is kept until the server leaves. Released right after the draw, it would be free again for a server
 * that is a moment late, and that one would draw once more.
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
    // Releases what is held.
    await redlock.quit();
    member.leave();
  }
}

takeOrders<Report>((order, member) => obey(order as Order, member));
