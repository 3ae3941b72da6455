import { expect, test } from "vitest";
import { ms, oneToOne } from "./one-to-one.ts";
import { SimulatedSubscription } from "./simulated-subscription.ts";

/** A client that listens to one master, 10 ms away, and connects again after 50 ms. */
function setting() {
  const { at, ...ends } = oneToOne();
  const { kernel, client, master } = ends;
  const seen: string[] = [];
  const note = (what: string): void => void seen.push(`${what} at ${Math.floor(kernel.now / ms)}`);
  const subscription = new SimulatedSubscription(
    kernel,
    { ...ends, reconnectDelay: 50 },
    { pushed: () => {}, heard: () => {}, lost: () => note("lost") },
  );
  at(1, () =>
    client.deliver(() =>
      subscription.subscribe(
        "channel",
        (message) => note(`hears ${message}`),
        (isListening, error) => note(error ? (error as Error).message : isListening ? "listens" : "is deaf"),
      ),
    ),
  );
  /** Tells how many it went to. */
  const publish = (time: number, message: string): void =>
    at(time, () =>
      master.process.deliver(() =>
        note(`${message} went to ${Number(master.execute("PUBLISH", ["channel", message]))}`),
      ),
    );
  const seenUntil = async (time: number): Promise<readonly string[]> => {
    await kernel.run(time * ms);
    return seen;
  };
  return { ...ends, subscription, at, publish, seenUntil };
}

test("messages in flight at a reset are lost, and it subscribes again", async () => {
  const { publish, subscription, at, seenUntil } = setting();
  publish(50, "lost");
  at(55, () => subscription.reset());
  // The master hears of it a way later, and counts it as heard until then.
  publish(62, "unheard");
  publish(70, "unsubscribed");
  publish(160, "again");
  expect(await seenUntil(200)).toEqual([
    "listens at 41",
    "lost went to 1 at 50",
    "is deaf at 55",
    "lost at 60",
    "unheard went to 1 at 62",
    "unsubscribed went to 0 at 70",
    "lost at 72",
    "listens at 145",
    "again went to 1 at 160",
    "hears again at 170",
  ]);
});

test("a dead client counts as a listener until the master notices the end of its connection", async () => {
  const { publish, subscription, client, requests, at, seenUntil } = setting();
  at(50, () => requests.cut());
  at(60, () => {
    client.kill();
    subscription.hangUp();
  });
  publish(100, "one");
  at(110, () => requests.heal());
  publish(130, "two");
  expect((await seenUntil(200)).filter((what) => what.includes("went"))).toEqual([
    "one went to 1 at 100",
    "two went to 0 at 130",
  ]);
});
