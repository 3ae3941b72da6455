import { expect, test } from "vitest";
import { Engine } from "../engine/engine.ts";
import { Kernel } from "../engine/kernel.ts";
import { Cluster } from "../run/cluster.ts";
import { sketched } from "../scenarios/sketch.ts";
import type { Latency } from "./latency.ts";
import { SimulatedConnection } from "./simulated-connection.ts";
import { SimulatedSubscription } from "./simulated-subscription.ts";

// That the client finds its way on these connections is what test/behaviours shows. Here is what only the simulator sees.

/** A millisecond of true time. */
const ms = 1000;

/** One client and one master, 10 ms apart each way, whose clocks are right. */
function oneToOne(latency: Latency = { shape: "constant", ms: 10 }) {
  const kernel = new Kernel(new Engine());
  const network = { latency, longestLatency: 1000, reconnectDelay: 50 };
  const plan = sketched({ script: [[]], faults: [], masters: 1, areClocksSynced: true })(1);
  const { clients, masters, links } = new Cluster(kernel, { ...plan, network });
  const { requests, replies } = links[0]![0]!.commands;
  const at = (time: number, act: () => void): void => void kernel.engine.schedule(act, time * ms);
  return { kernel, client: clients[0]!, master: masters[0]!, requests, replies, at };
}

test("a reset rejects what is unanswered; a write that had arrived stays applied, its reply lost", async () => {
  const ends = oneToOne();
  const { kernel, client, master, at } = ends;
  const lost: string[] = [];
  const witness = {
    sent: () => {},
    executed: () => {},
    replyLost: (command: string) => void lost.push(command),
  };
  const connection = new SimulatedConnection(kernel, { ...ends, reconnectDelay: 50 }, witness);
  const seen: string[] = [];
  const send = (time: number, command: string, ...args: string[]): void => {
    const note = (reply: unknown): void =>
      void seen.push(`${command}: ${String(reply)} at ${kernel.now / ms}`);
    at(time, () => client.deliver(() => void connection.send(command, args).then(note, note)));
  };
  send(30, "SET", "k", "v");
  at(45, () => connection.reset("lost"));
  send(60, "GET", "k");
  send(200, "GET", "k");
  await kernel.run(5000 * ms);
  expect(seen).toEqual([
    "SET: ConnectionError: the connection was lost at 45.001",
    "GET: ConnectionError: not connected at 60",
    "GET: v at 220",
  ]);
  expect(lost).toEqual(["SET"]);
  expect(master.peek("k")?.value).toBe("v");
});

test("commands keep their order, however long each takes", async () => {
  const ends = oneToOne({ shape: "two-peaks", fast: 1, slow: 100, slowShare: 0.5 });
  const { kernel, client, at } = ends;
  const witness = { sent: () => {}, executed: () => {}, replyLost: () => {} };
  const connection = new SimulatedConnection(kernel, { ...ends, reconnectDelay: 50 }, witness);
  const lengths: unknown[] = [];
  const push = (): void =>
    void connection.send("RPUSH", ["list", "x"]).then((length) => lengths.push(length));
  for (let index = 0; index < 50; index += 1) at(1000 + index, () => client.deliver(push));
  await kernel.run(5000 * ms);
  expect(lengths).toEqual(Array.from({ length: 50 }, (_, index) => index + 1));
});

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
