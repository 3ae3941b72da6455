import { describe, expect, test } from "vitest";
import { Process } from "../engine/process.ts";
import type { Persistence } from "../master/durability.ts";
import { Master } from "../master/master.ts";
import { Random } from "../random.ts";
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

  test.each([false, true])(
    "is led to a replica and back to the old memory (demoted: %s)",
    async (isDemoted) => {
      const { master, at, send, seen, connection, run } = setting(undefined, { mode: "aof-everysec" });
      const ids: unknown[] = [];
      const look = (): void => {
        const info = String(master.execute("INFO", ["replication"]));
        ids.push([
          connection.serverIds,
          /master_replid:(\S+)/.exec(info)?.[1],
          /replid2:(\S+)/.exec(info)?.[1],
        ]);
      };
      send(30, "SET", "k", "v", "NX", "PX", "5000");
      at(60, look);
      at(100, () => {
        const failBack = master.failOver(70 * ms, isDemoted);
        at(500, failBack);
      });
      send(300, "SET", "k", "w", "NX", "PX", "5000");
      at(400, look);
      send(700, "GET", "k");
      at(800, look);
      await run();
      // The replica did not have the vote yet, and the old master still has it.
      expect(seen).toEqual(["SET: OK at 50", "SET: OK at 320", "GET: v at 720"]);
      const [before, away, back] = ids as [string[], string[], string[]];
      expect(away[2]).toBe(before[1]);
      expect(away.slice(0, 2)).not.toEqual(before.slice(0, 2));
      expect(back[0]).toEqual(before[0]);
      if (isDemoted) expect(back.slice(1)).toEqual([expect.not.stringContaining(before[1]!), before[1]]);
      else expect(back).toEqual(before);
    },
  );

  test("goes to the server that its address leads to when it is dialed; what is under way stays at the old one", async () => {
    const ends = oneToOne();
    const { kernel, client, master, at } = ends;
    const process = new Process(kernel, {
      ...{
        name: "other",
        isAsynchronous: false,
        wall: 0,
        rate: 0,
        random: new Random(1, "other"),
        timerLateness: 0,
      },
    });
    const other = new Master(kernel, process, { mode: "aof-always" });
    let leadsTo = master;
    const witness = { sent: () => {}, executed: () => {}, replyLost: () => {} };
    const options = { ...ends, leadsTo: () => leadsTo, reconnectDelay: 50 };
    const connection = new SimulatedConnection(kernel, options, witness);
    const seen: unknown[] = [];
    const set = (key: string): void =>
      client.deliver(() => void connection.send("SET", [key, "v"]).catch(() => {}));
    const look = (): void => void seen.push([...connection.serverIds, connection.isAway]);
    at(30, () => {
      leadsTo = other;
      set("before the reset");
    });
    at(35, () => {
      look();
      connection.reset("delivered", 100 * ms);
    });
    at(200, () => {
      look();
      set("after it");
    });
    at(300, () => other.crash("process"));
    at(310, () => seen.push(connection.isReady));
    await kernel.run(400 * ms);
    const home = (key: string): unknown => master.peek(key)?.value;
    expect(seen).toEqual([[master.runId, false], [other.runId, true], false]);
    expect([home("before the reset"), home("after it")]).toEqual(["v", undefined]);
  });

  test("is made again for as long as the server is too busy to say which one it is", async () => {
    const { connection, master, seen, send, at, run } = setting();
    const ready: boolean[] = [];
    const scripts: Array<() => void> = [];
    at(5, () => {
      scripts.push(master.beBusy());
    });
    at(60, () => ready.push(connection.isReady));
    at(100, () => scripts[0]!());
    at(200, () => ready.push(connection.isReady));
    at(205, () => {
      scripts.push(master.beBusy());
    });
    send(210, "GET", "k");
    await run();
    expect(ready).toEqual([false, true]);
    expect(seen[0]).toMatch(/^GET: BUSY /);
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
