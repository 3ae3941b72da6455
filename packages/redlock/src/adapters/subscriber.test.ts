import { expect, test } from "vitest";
import { settle, VirtualMachine, VirtualTime } from "../virtual-time.test.ts";
import { Dials } from "./dials.ts";
import type { LinkEvents, SubscriberLink } from "./link.ts";
import { Subscriber } from "./subscriber.ts";

const done = (): Promise<unknown> => Promise.resolve();
/** The time between two pings, ms. */
const interval = 10_000;

const quiet = {
  ...{ isReady: false, end: () => {}, drop: async () => {} },
  ...{ ping: done, subscribe: done, unsubscribe: done },
};

const driver = {
  status: "ready",
  dials: new Dials(),
  greetingTime: 1000,
  isErrorReply: (error: unknown): error is Error => error instanceof Error,
};

test("a connection that its client gives up is replaced, until the subscriber ends", async () => {
  const dialed: LinkEvents[] = [];
  const time = new VirtualTime();
  const machine = new VirtualMachine(time);
  let delay: number | undefined;
  const dial: SubscriberLink["dial"] = (events) => void dialed.push(events);
  const its = { ...driver, openSubscriber: () => ({ ...quiet, dial }), delayAfter: () => delay };
  const subscriber = new Subscriber(its, () => 0, machine);
  const subscription = { onMessage: () => {}, onChange: () => {} };
  subscriber.subscribe("channel", subscription);
  expect(dialed).toHaveLength(1);
  dialed[0]!.onLost(new Error("given up"));
  await time.advance(interval);
  expect(dialed).toHaveLength(2);
  // One that is dialed again later is left alone.
  delay = 60_000;
  dialed[1]!.onLost(new Error("lost"));
  await time.advance(interval);
  expect(dialed).toHaveLength(2);
  subscriber.end();
  await time.advance(interval);
  expect(dialed).toHaveLength(2);
  expect(machine.timers.size).toBe(0);
  expect(subscription).toBeDefined();
});

test("a channel that a busy master refused is subscribed to once it answers, and the others stay as they are", async () => {
  const time = new VirtualTime();
  const subscribed: string[] = [];
  let isBusy = false;
  let drops = 0;
  const busy = new Error("BUSY Redis is busy running a script.");
  const link: SubscriberLink = {
    ...quiet,
    isReady: true,
    dial: ({ onReady }) => void Promise.resolve().then(onReady),
    drop: async () => {
      drops += 1;
    },
    ping: async (word) => {
      if (isBusy) throw busy;
      return word;
    },
    subscribe: async (channel) => void subscribed.push(channel),
  };
  const its = { ...driver, openSubscriber: () => link, delayAfter: () => 0 };
  const subscriber = new Subscriber(its, () => 0, new VirtualMachine(time));
  const changes: unknown[] = [];
  const onChange = (...change: unknown[]): void => void changes.push(change);
  const first = { onMessage: () => {}, onChange: () => {} };
  const second = { onMessage: () => {}, onChange };
  subscriber.subscribe("first", first);
  await settle();
  isBusy = true;
  subscriber.subscribe("second", second);
  await settle();
  await time.advance(interval);
  expect(changes).toEqual([
    [false, busy],
    [false, busy],
  ]);
  isBusy = false;
  await time.advance(interval);
  expect(changes.at(-1)).toEqual([true]);
  await time.advance(4 * interval);
  expect(subscribed).toEqual(["first", "second"]);
  expect(drops).toBe(0);
  subscriber.end();
  expect([first, second]).toHaveLength(2);
});
