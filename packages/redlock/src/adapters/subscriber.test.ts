import { expect, test } from "vitest";
import type { SubscriberEvents } from "./own-client.ts";
import { Subscriber } from "./subscriber.ts";

const done = (): Promise<unknown> => Promise.resolve();

test("a connection that its client gives up is replaced, until the subscriber ends", () => {
  const opened: { status: string; events: SubscriberEvents }[] = [];
  const timers = new Set<() => void>();
  const passTime = (): void => {
    for (const callback of timers) {
      timers.delete(callback);
      callback();
    }
  };
  const giveUp = (): void => {
    const { events } = opened.at(-1)!;
    events.onClose();
    opened.at(-1)!.status = "end";
  };
  const make = (events: SubscriberEvents) => {
    const client = { status: "wait", events };
    opened.push(client);
    const methods = { connect: done, ping: done, subscribe: done, unsubscribe: done };
    return { client, ...methods, cut: () => {}, end: () => {} };
  };
  const runtime = {
    monotonic: () => 0,
    setTimer: (callback: () => void) => {
      timers.add(callback);
      return { cancel: () => void timers.delete(callback), unref: () => {} };
    },
  };
  const subscriber = new Subscriber(
    make,
    () => false,
    runtime,
    () => ({ begun: 0, connected: 0 }),
  );
  const subscription = { onMessage: () => {}, onChange: () => {} };
  subscriber.subscribe("channel", subscription);
  expect(opened).toHaveLength(1);
  giveUp();
  passTime();
  expect(opened).toHaveLength(2);
  // One that reconnects is left alone.
  opened[1]!.events.onClose();
  passTime();
  expect(opened).toHaveLength(2);
  giveUp();
  subscriber.end();
  passTime();
  expect(opened).toHaveLength(2);
  expect(timers.size).toBe(0);
  expect(subscription).toBeDefined();
});
