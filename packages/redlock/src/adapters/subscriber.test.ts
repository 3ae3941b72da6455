import { expect, test } from "vitest";
import { settle } from "../virtual-time.test.ts";
import type { SubscriberEvents } from "./own-client.ts";
import { Subscriber } from "./subscriber.ts";

const done = (): Promise<unknown> => Promise.resolve();

/** Time that passes when a test says so. */
function virtualTime() {
  const timers = new Set<() => void>();
  const passTime = (): void => {
    for (const callback of [...timers]) {
      timers.delete(callback);
      callback();
    }
  };
  const runtime = {
    monotonic: () => 0,
    setTimer: (callback: () => void) => {
      timers.add(callback);
      return { cancel: () => void timers.delete(callback), unref: () => {} };
    },
  };
  return { timers, passTime, runtime };
}

const dials = () => ({ begun: 0, connected: 0 });

test("a connection that its client gives up is replaced, until the subscriber ends", () => {
  const opened: { status: string; events: SubscriberEvents }[] = [];
  const { timers, passTime, runtime } = virtualTime();
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
  const subscriber = new Subscriber(make, () => false, runtime, dials);
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

test("a channel that a busy master refused is subscribed to once it answers, and the others stay as they are", async () => {
  const { passTime, runtime } = virtualTime();
  const subscribed: string[] = [];
  let isBusy = false;
  let cuts = 0;
  const busy = new Error("BUSY Redis is busy running a script.");
  const make = ({ onReady }: SubscriberEvents) => {
    const client = { status: "wait" };
    const connect = async (): Promise<void> => {
      client.status = "ready";
      onReady();
    };
    return {
      client,
      connect,
      ping: async (word: string): Promise<string> => {
        if (isBusy) throw busy;
        return word;
      },
      subscribe: async (channel: string): Promise<void> => void subscribed.push(channel),
      unsubscribe: done,
      cut: () => {
        cuts += 1;
      },
      end: () => {},
    };
  };
  const subscriber = new Subscriber(make, (error) => error === busy, runtime, dials);
  const changes: unknown[] = [];
  const onChange = (...change: unknown[]): void => void changes.push(change);
  const first = { onMessage: () => {}, onChange: () => {} };
  const second = { onMessage: () => {}, onChange };
  subscriber.subscribe("first", first);
  await settle();
  isBusy = true;
  subscriber.subscribe("second", second);
  await settle();
  // The next ping, the time for its answer, and the ping after it.
  for (let times = 0; times < 2; times += 1) {
    passTime();
    await settle();
  }
  expect(changes).toEqual([
    [false, busy],
    [false, busy],
  ]);
  isBusy = false;
  passTime();
  await settle();
  expect(changes.at(-1)).toEqual([true]);
  for (let times = 0; times < 4; times += 1) {
    passTime();
    await settle();
  }
  expect(subscribed).toEqual(["first", "second"]);
  expect(cuts).toBe(0);
  subscriber.end();
  expect([first, second]).toHaveLength(2);
});
