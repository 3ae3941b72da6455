import { Engine } from "../engine/engine.ts";
import { Kernel } from "../engine/kernel.ts";
import { Process } from "../engine/process.ts";
import { Master } from "../master/master.ts";
import { Random } from "../random.ts";
import type { Latency } from "./latency.ts";
import { OneWay } from "./one-way.ts";

/** A millisecond of true time. */
export const ms = 1000;

/** For tests of what is between them: one client and one master, 10 ms apart each way, whose clocks are right. */
export interface OneToOne {
  readonly kernel: Kernel;
  readonly client: Process;
  readonly master: Master;
  readonly requests: OneWay;
  readonly replies: OneWay;
  /** Lets something happen at a time, ms. */
  readonly at: (time: number, act: () => void) => void;
}

export function oneToOne(latency: Latency = { shape: "constant", ms: 10 }): OneToOne {
  const kernel = new Kernel(new Engine());
  const make = (name: string, isAsynchronous: boolean): Process => {
    const random = new Random(1, name);
    return new Process(kernel, { name, isAsynchronous, wall: 0, rate: 0, random, timerLateness: 0 });
  };
  const way = (name: string): OneWay => new OneWay(kernel, latency, 1_000 * ms, new Random(1, name));
  return {
    kernel,
    client: make("client", true),
    master: new Master(kernel, make("master", false), { mode: "aof-always" }),
    requests: way("requests"),
    replies: way("replies"),
    at: (time, act) => void kernel.engine.schedule(act, time * ms),
  };
}
