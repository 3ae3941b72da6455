import { expect, test } from "vitest";
import { engineOf } from "../engine/engine-of.ts";
import { Kernel } from "../engine/kernel.ts";
import { Process } from "../engine/process.ts";
import { Master, type MasterOptions } from "../master/master.ts";
import { Random } from "../random.ts";
import { OneWay } from "./one-way.ts";
import { SimulatedSubscription } from "./simulated-subscription.ts";

const ms = 1000;

/** A client that listens to one master, 10 ms away, and connects again after 50 ms. */
function setting(options: MasterOptions = {}) {
  const kernel = new Kernel(engineOf("heap"));
  const make = (name: string, isAsynchronous: boolean): Process =>
    new Process(kernel, {
      name,
      isAsynchronous,
      wall: 0,
      rate: 0,
      random: new Random(1, name),
      timerLateness: 0,
    });
  const client = make("client", true);
  const master = new Master(kernel, make("master", false), { mode: "aof-always" }, options);
  const way = (name: string): OneWay =>
    new OneWay(kernel, { shape: "constant", ms: 10 }, 1_000 * ms, new Random(1, name));
  const ways = { requests: way("requests"), replies: way("replies") };
  const seen: string[] = [];
  const note = (what: string): void => void seen.push(`${what} at ${Math.floor(kernel.now / ms)}`);
  const subscription = new SimulatedSubscription(
    kernel,
    { client, master, ...ways, reconnectDelay: 50 },
    { pushed: () => {}, heard: () => {}, lost: () => note("lost") },
  );
  const at = (time: number, act: () => void): void => void kernel.engine.schedule(act, time * ms);
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
  return { kernel, client, master, subscription, seen, at, publish, ...ways };
}

test("it listens from the acknowledgement on, and hears in order", async () => {
  const { kernel, seen, publish } = setting();
  publish(20, "early");
  publish(50, "one");
  publish(50, "two");
  await kernel.run(100 * ms);
  // A round trip to connect, and another to subscribe.
  expect(seen).toEqual([
    "early went to 0 at 20",
    "listens at 41",
    "one went to 1 at 50",
    "two went to 1 at 50",
    "hears one at 60",
    "hears two at 60",
  ]);
});

test("what is on its way when the connection is reset is lost, and it subscribes again", async () => {
  const { kernel, seen, publish, subscription, at } = setting();
  publish(50, "lost");
  at(55, () => subscription.reset());
  // The master hears of it a way later, and counts it as heard until then.
  publish(62, "unheard");
  publish(70, "to nobody");
  publish(160, "again");
  await kernel.run(200 * ms);
  expect(seen).toEqual([
    "listens at 41",
    "lost went to 1 at 50",
    "is deaf at 55",
    "lost at 60",
    "unheard went to 1 at 62",
    "to nobody went to 0 at 70",
    "lost at 72",
    "listens at 145",
    "again went to 1 at 160",
    "hears again at 170",
  ]);
});

test("a client that is dead is listened for until its connection is seen to be gone", async () => {
  const { kernel, seen, publish, subscription, client, requests, at } = setting();
  at(50, () => requests.cut());
  at(60, () => {
    client.kill();
    subscription.hangUp();
  });
  publish(100, "one");
  at(110, () => requests.heal());
  publish(130, "two");
  await kernel.run(200 * ms);
  expect(seen.filter((what) => what.includes("went"))).toEqual([
    "one went to 1 at 100",
    "two went to 0 at 130",
  ]);
});

test("it is deaf to a master that is down, and one that forbids it says why", async () => {
  const down = setting();
  down.master.crash("process");
  await down.kernel.run(30 * ms);
  expect(down.seen).toEqual(["is deaf at 21"]);
  const forbidden = setting({ forbids: ["SUBSCRIBE"] });
  await forbidden.kernel.run(100 * ms);
  expect(forbidden.seen).toEqual([expect.stringMatching(/^NOPERM .*subscribe.* at 41$/)]);
});
