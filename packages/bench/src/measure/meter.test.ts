import { startMasters } from "@quorlock/testbed";
import { expect, test } from "vitest";
import { closeClients, openClients } from "../contenders/clients.ts";
import { commandCountsIn, cpuIn, Meter } from "./meter.ts";

test("CPU and command counts are read from what INFO says", () => {
  const info = "# CPU\r\nused_cpu_sys:1.500000\r\nused_cpu_user:0.250001\r\nused_cpu_sys_children:9.0\r\n";
  expect(cpuIn(info)).toBe(1_750_001);
  const stats = "cmdstat_set:calls=12,usec=34\r\ncmdstat_client|info:calls=3,usec=1\r\n";
  expect(commandCountsIn(stats).get("set")).toBe(12);
});

test("requests are what clients send, not what scripts call, times the number of masters", async () => {
  await using masters = await startMasters(2, { say: () => {} });
  await using meter = await Meter.open(masters.urls);
  const clients = await openClients(masters.urls);
  try {
    const requests = await meter.requestsOf(async () => {
      for (const client of clients) {
        await client.eval("redis.call('SET', KEYS[1], 'a') return redis.call('DEL', KEYS[1])", 1, "key");
        await client.set("key:7", "value");
      }
      await meter.serverCpu();
    });
    expect(requests).toBe(4);
    expect(await meter.namesHeld("key")).toBe(1);
    expect(await meter.namesHeld("other")).toBe(0);
  } finally {
    closeClients(clients);
  }
});
