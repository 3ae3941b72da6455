import { setTimeout as pause } from "node:timers/promises";
import { openClients } from "../contenders/contender.ts";

/** Batches of other work before the measurement: as many as make the compiler know their shapes. */
const warmUps = 500;
/** The time between two batches during the measurement, ms: the work costs little, its shapes stay. */
const interval = 5;

export interface Company {
  resume(): void;
  pause(): void;
}

/** Uses ioredis for what a service does besides locking: values, hashes, lists, scripts, pipelines and transactions. */
export async function keepCompany(urls: readonly string[]): Promise<Company> {
  const clients = await openClients(urls);
  let count = 0;
  const batch = async (): Promise<void> => {
    const client = clients[count % clients.length]!;
    const key = `company:${process.pid}:${count % 100}`;
    count += 1;
    await Promise.all([
      client.set(key, `${count}`, "PX", 10_000),
      client.set(key, Buffer.from("value"), "PX", 10_000, "NX"),
      client.get(key),
      client.getBuffer(key),
      client.mget([key, "company:none"]),
      client.incrby(`${key}:count`, 2),
      client.hset(`${key}:hash`, { field: "a", other: 1 }),
      client.hgetall(`${key}:hash`),
      client.zadd(`${key}:set`, 1, "a", 2, "b"),
      client.eval("return ARGV[1]", 1, key, "argument"),
      client.call("PEXPIRE", key, "10000"),
      client.pipeline().get(key).lpush(`${key}:list`, "a", "b").ltrim(`${key}:list`, 0, 9).exec(),
      client.multi().set(key, "1").del(`${key}:count`, `${key}:hash`, `${key}:set`, `${key}:list`).exec(),
    ]);
  };
  for (let left = warmUps; left > 0; left -= 1) await batch();
  const state = { isOn: false };
  const work = async (): Promise<void> => {
    while (state.isOn) {
      await batch();
      await pause(interval);
    }
  };
  return {
    resume() {
      state.isOn = true;
      void work();
    },
    pause() {
      state.isOn = false;
    },
  };
}
