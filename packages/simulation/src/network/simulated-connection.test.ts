import { describe, expect, test } from "vitest";
import type { Persistence } from "../master/durability.ts";
import type { Latency } from "./latency.ts";
import { ms, oneToOne } from "./one-to-one.ts";
import { SimulatedConnection } from "./simulated-connection.ts";

/** A connection between them, that stands from 20 ms on. */
function setting(latency?: Latency, persistence?: Persistence) {
  const ends = oneToOne({ latency, persistence });
  const { kernel, client, at } = ends;
  const lost: string[] = [];
  const witness = {
    sent: () => {},
    executed: () => {},
    replyLost: (command: string) => void lost.push(command),
  };
  const connection = new SimulatedConnection(kernel, { ...ends, reconnectDelay: 50 }, witness);
  const seen: string[] = [];
  const note = (what: string) => (reply: unknown) =>
    void seen.push(
      `${what}: ${reply instanceof Error ? reply.message : String(reply)} at ${kernel.now / ms}`,
    );
  const send = (time: number, command: string, ...args: string[]): void =>
    at(time, () =>
      client.deliver(() => void connection.send(command, args).then(note(command), note(command))),
    );
  return { ...ends, connection, seen, lost, send, run: () => kernel.run(5000 * ms) };
}

describe("a simulated connection", () => {
  test("stands after a round trip; a command takes one", async () => {
    const { connection, seen, send, at, run } = setting();
    const ready: boolean[] = [];
    at(19, () => ready.push(connection.isReady));
    at(21, () => ready.push(connection.isReady));
    send(30, "SET", "k", "v", "NX", "PX", "1000");
    send(40, "GET", "k");
    await run();
    expect(ready).toEqual([false, true]);
    expect(seen).toEqual(["SET: OK at 50", "GET: v at 60"]);
  });

  test("keeps commands in order, however long each takes", async () => {
    const { seen, send, run } = setting({ shape: "two-peaks", fast: 1, slow: 100, slowShare: 0.5 });
    for (let index = 0; index < 50; index += 1) send(1000 + index, "RPUSH", "list", "x");
    await run();
    expect(seen.map((line) => line.split(" ")[1])).toEqual(
      Array.from({ length: 50 }, (_, index) => String(index + 1)),
    );
  });

  test("a cut holds messages back, and delivers them in order when it heals", async () => {
    const { requests, seen, send, at, run } = setting();
    at(25, () => requests.cut());
    send(30, "SET", "k", "v");
    send(31, "GET", "k");
    at(500, () => requests.heal());
    await run();
    expect(seen.map((line) => Math.round(Number(line.split("at ")[1])))).toEqual([510, 510]);
  });

  test("cut off only on the way back, the write is applied and the reply comes late", async () => {
    const { master, replies, seen, send, at, run } = setting();
    at(25, () => replies.cut());
    send(30, "SET", "k", "v");
    let applied: unknown;
    at(100, () => {
      applied = master.peek("k")?.value;
      replies.heal();
    });
    await run();
    expect(applied).toBe("v");
    expect(seen).toHaveLength(1);
  });

  test("a reset rejects what is unanswered; a write that had arrived stays applied, its reply lost", async () => {
    const { master, connection, seen, lost, send, at, run } = setting();
    send(30, "SET", "k", "v");
    at(45, () => connection.reset("lost"));
    send(60, "GET", "k");
    send(200, "GET", "k");
    await run();
    expect(seen).toEqual([
      "SET: the connection was lost at 45.001",
      "GET: not connected at 60",
      "GET: v at 220",
    ]);
    expect(lost).toEqual(["SET"]);
    expect(master.peek("k")?.value).toBe("v");
  });

  test.each([
    ["delivered", "v"],
    ["lost", undefined],
  ] as const)("a request on its way at a reset is %s", async (inFlight, value) => {
    const { master, connection, seen, send, at, run } = setting();
    send(30, "SET", "k", "v");
    at(35, () => connection.reset(inFlight));
    await run();
    expect(seen).toEqual(["SET: the connection was lost at 35.001"]);
    expect(master.peek("k")?.value).toBe(value);
  });

  test("a crash breaks the connection; after the restart it stands again, and the scripts are gone", async () => {
    const { master, connection, seen, send, at, run } = setting();
    const ready: number[] = [];
    connection.onReady(() => ready.push(1));
    send(30, "SET", "k", "v");
    at(100, () => master.crash("power"));
    at(300, () => master.restart());
    send(200, "GET", "k");
    send(1000, "GET", "k");
    await run();
    expect(seen).toEqual(["SET: OK at 50", "GET: not connected at 200", "GET: v at 1020"]);
    expect(ready).toHaveLength(2);
  });

  test("a hung master answers when it goes on, in order", async () => {
    const { master, seen, send, at, run } = setting();
    at(25, () => master.process.freeze(400 * ms));
    send(30, "SET", "k", "v");
    send(35, "GET", "k");
    await run();
    expect(seen.map((line) => Math.floor(Number(line.split("at ")[1])))).toEqual([435, 435]);
  });
});
