import { startProxy } from "@quorlock/testbed";
import { expect, it } from "vitest";
// The package makes queues and does not export them.
import { Attempts } from "../../../packages/redlock/src/protocol/execution-stats.ts";
import { release } from "../../../packages/redlock/src/protocol/release.ts";
import { Redlock } from "../../../packages/redlock/src/redlock.ts";
import { Cancellation } from "../../../packages/redlock/src/time/cancellation.ts";
import { GrantListener } from "../../../packages/redlock/src/waiting/grant-listener.ts";
import {
  LocalQueue,
  type LocalWaiter,
  type WaitResult,
} from "../../../packages/redlock/src/waiting/local-queue.ts";
import { TicketClock } from "../../../packages/redlock/src/waiting/ticket-clock.ts";
import { until } from "../../contract/until.ts";
import { Fleet, fresh } from "../fleet/fleet.ts";

const fleet = Fleet.forTests(3);

interface Call {
  readonly waiter: LocalWaiter;
  readonly result: Promise<WaitResult>;
  readonly ended: Cancellation;
}

it("a call that the token is being transferred to enters no queue, though its ticket rises meanwhile", async () => {
  const proxies = await Promise.all(fleet.masters.map(startProxy));
  const { clients } = await fleet.openWarm({ on: proxies });
  const redlock = new Redlock(clients, { nodeTimeout: 5000 });
  const inside = Redlock.internalsOf(redlock);
  const { context } = inside;
  const settings = inside.settingsFor(undefined);
  const resource = fresh();
  const clock = new TicketClock(context, 0.01);
  const listener = new GrantListener(context, () => {});
  const queue = new LocalQueue(context, listener, clock, resource, {
    onRefused: () => {},
    onEmpty: () => {},
  });
  await Promise.all([listener.open(), clock.read()]);
  const began = Math.floor(context.runtime.monotonic() * 1000);
  const callOf = (ttl: number, call: number, ticket: number): Call => {
    let resolve: ((result: WaitResult) => void) | undefined;
    const result = new Promise<WaitResult>((settle) => {
      resolve = settle;
    });
    const request = { resources: [resource], ttl, settings };
    const attempts = new Attempts(context.nodes);
    const place = { call, ticket, isOwnTime: false, isProvisional: true };
    return {
      waiter: { request, attempts, ...place, entry: undefined, resolve: resolve! },
      result,
      ended: new Cancellation(),
    };
  };
  const join = ({ waiter, ended }: Call): void => queue.join(waiter, ended);
  try {
    const holder = callOf(60_000, began, clock.ticketOf(began));
    const next = callOf(20_000, began + 2, clock.ticketOf(began + 2));
    join(holder);
    join(next);
    const { lease } = await holder.result;
    expect(next.waiter.entry).toBeUndefined();
    for (const proxy of proxies) proxy.hold("requests");
    const released = release(lease!, settings);
    // It began between the two, and its ticket is by a later reading of the masters' time.
    const late = callOf(20_000, began + 1, clock.ticketOf(began + 10_000_000));
    join(late);
    expect(next.waiter.ticket).toBeGreaterThan(late.waiter.ticket);
    late.ended.cancel(new Error("it gives up"));
    for (const proxy of proxies) proxy.release();
    await released;
    const successor = (await next.result).lease!;
    await late.result;
    expect(next.waiter.entry).toBeUndefined();
    expect((await release(successor, settings)).outcome).toBe("released");
    await fleet.untilGone(resource);
    await until(
      "no queue is left",
      async () => (await fleet.admins[0]!.keys("quorlock:queue*")).length === 0,
    );
  } finally {
    fleet.closeAll();
    await Promise.all(proxies.map((proxy) => proxy.stop()));
  }
});
