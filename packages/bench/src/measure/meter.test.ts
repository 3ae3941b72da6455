import { once } from "node:events";
import { connect, Socket } from "node:net";
import { startMasters } from "@quorlock/testbed";
import { expect, test } from "vitest";
import { closeClients, openClients } from "../contenders/contender.ts";
import { countSent, cpuIn } from "./meter.ts";

test("cpuIn adds up system and user CPU of an INFO reply", () => {
  const info = "# CPU\r\nused_cpu_sys:1.500000\r\nused_cpu_user:0.250001\r\nused_cpu_sys_children:9.0\r\n";
  expect(cpuIn(info)).toBe(1_750_001);
});

test("countSent counts the commands and bytes that this process sends, without those that scripts call", async () => {
  await using masters = await startMasters(1, { say: () => {} });
  const [client] = await openClients(masters.urls);
  const received = async (): Promise<number> =>
    Number(/total_net_input_bytes:(\d+)/.exec(await client!.info("stats"))?.[1]);
  try {
    const before = await received();
    const unwatched: unknown = Reflect.get(Socket.prototype, "write");
    const sent = countSent();
    await client!.eval("redis.call('SET', KEYS[1], 'a') return redis.call('DEL', KEYS[1])", 1, "ké\r\n*1");
    await client!.set("key:7", Buffer.from([0xff, 13, 10]));
    // Several commands in one write, one with an argument that looks like a command.
    const { host, port } = masters.list[0]!;
    const raw = connect(port, host);
    raw.write("*2\r\n$4\r\nECHO\r\n$14\r\n*1\r\n$4\r\nPING\r\n\r\n*1\r\n$4\r\nPING\r\n");
    await once(raw, "data");
    raw.destroy();
    const { commands, bytes } = sent.stop();
    const after = await received();
    expect(Reflect.get(Socket.prototype, "write")).toBe(unwatched);
    expect(commands).toBe(4);
    // The second INFO counts its own bytes as well.
    expect(after - before).toBe(bytes + "*2\r\n$4\r\ninfo\r\n$5\r\nstats\r\n".length);
  } finally {
    closeClients([client!]);
  }
});
