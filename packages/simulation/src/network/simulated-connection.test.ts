import { expect, test } from "vitest";
import { ms, oneToOne } from "./one-to-one.ts";
import { SimulatedConnection } from "./simulated-connection.ts";

// That the client finds its way on these connections is what test/behaviours shows. Here is what only the simulator sees.

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
