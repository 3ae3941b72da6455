import { expect, test } from "vitest";
import { Engine } from "../engine/engine.ts";
import { Kernel } from "../engine/kernel.ts";
import { SimulatedConnection } from "../network/simulated-connection.ts";
import { Cluster } from "../run/cluster.ts";
import { sketched } from "../scenarios/sketch.ts";
import { IoredisConnection } from "./ioredis-connection.ts";
import { redlock5 } from "./redlock-5.ts";
import { scriptsOf } from "./redlock-5-module.ts";
import { redlock5Package } from "./redlock-5-package.ts";

/** A millisecond of true time. */
const ms = 1000;

/** One client and one master, 10 ms apart each way, whose clocks are right. */
function oneToOne() {
  const kernel = new Kernel(new Engine());
  const latency = { shape: "constant", ms: 10 } as const;
  const plan = sketched({ script: [[]], faults: [], masters: 1, areClocksSynced: true })(1);
  const network = { latency, longestLatency: 1000, reconnectDelay: 50 };
  const { clients, masters, links } = new Cluster(kernel, {
    ...plan,
    network,
    clients: [{ offset: 0, rate: 0, timerLateness: 0 }],
  });
  const { requests, replies } = links[0]![0]!.commands;
  const at = (time: number, act: () => void): void => void kernel.engine.schedule(act, time * ms);
  return { kernel, client: clients[0]!, master: masters[0]!, requests, replies, at };
}

/** A connection between them, that stands from 20 ms on; redlock 5's scripts are loaded. */
async function setting() {
  await redlock5();
  const [acquire] = scriptsOf(await redlock5Package()).values();
  const ends = oneToOne();
  const { kernel, client, at } = ends;
  const runs: string[] = [];
  const witness = {
    sent: () => {},
    executed: (_: string, args: readonly (string | number)[]) =>
      void runs.push(`${args[2]} at ${kernel.now / ms}`),
    replyLost: () => {},
  };
  const connection = new SimulatedConnection(kernel, { ...ends, reconnectDelay: 50 }, witness);
  const ioredis = new IoredisConnection(connection, client);
  const seen: string[] = [];
  /** The key names the command. */
  const send = (time: number, key: string): void => {
    const note = (reply: unknown): void =>
      void seen.push(
        `${key}: ${reply instanceof Error ? reply.message : String(reply)} at ${kernel.now / ms}`,
      );
    at(time, () =>
      client.deliver(() => void ioredis.eval(acquire!.source, 1, [key, "v", 60_000]).then(note, note)),
    );
  };
  return { ...ends, connection, ioredis, runs, seen, send };
}

test("commands sent before the connection is ready wait for it", async () => {
  const { kernel, runs, seen, send } = await setting();
  send(1, "early");
  send(2, "next");
  await kernel.run(1000 * ms);
  expect(runs).toEqual(["early at 30", "next at 30"]);
  expect(seen).toEqual(["early: 1 at 40", "next: 1 at 40.001"].map((line) => line.replace("40.001", "40")));
});

test("unanswered commands of a broken connection are sent again, before later ones", async () => {
  const { kernel, connection, runs, seen, at, send } = await setting();
  send(100, "lost");
  send(101, "unanswered");
  // The first has been executed and its answer is on its way; the second is on its way to the master.
  at(110.5, () => connection.reset("lost"));
  send(120, "offline");
  await kernel.run(1000 * ms);
  expect(runs.map((line) => line.split(" ")[0])).toEqual(["lost", "lost", "unanswered", "offline"]);
  // Executed twice: its own key stands in its way.
  expect(seen.map((line) => line.split(" at")[0])).toEqual(["lost: 0", "unanswered: 1", "offline: 1"]);
});

test("the twenty-first failed connect rejects waiting commands, 10.5 s after 20 pauses of ioredis's own, and never before", async () => {
  const { kernel, master, seen, at, send } = await setting();
  at(50, () => master.crash("process"));
  send(100, "waiting");
  await kernel.run(20_000 * ms);
  const pauses = Array.from({ length: 21 }, (_, index) => (index + 1) * 50).reduce(
    (sum, pause) => sum + pause,
    0,
  );
  expect(seen).toEqual([
    `waiting: Reached the max retries per request limit (which is 20). at ${100 + pauses}`,
  ]);
});

test("a closed connection refuses in a separate turn", async () => {
  const { kernel, client, ioredis, seen, at, send } = await setting();
  at(100, () => client.deliver(() => void ioredis.quit()));
  send(200, "closed");
  await kernel.run(1000 * ms);
  expect(seen).toEqual(["closed: Connection is closed. at 201"]);
});
