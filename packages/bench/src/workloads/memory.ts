import { getEventListeners, setMaxListeners } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import type { Redlock } from "@quorlock/redlock";
import type { Redis } from "ioredis";
import { built } from "../contenders/built-package.ts";
import { closeClients, openClients } from "../contenders/clients.ts";
import { CountingRuntime } from "../measure/counting-runtime.ts";
import { heapInUse } from "../measure/heap.ts";
import { figure } from "../report/table.ts";
import type { Workload } from "../workload.ts";

/** So long that a timer of a lock's deadline, forgotten at its release, still stands when it is looked for. */
const ttl = 60_000;
/** So many callers at once, each with a resource of its own. */
const chains = 16;
/** Enough for the time-outs of the last rounds, ms. */
const settleTimeout = 2000;
const bytesInMegabyte = 1_000_000;

/** What stands at one moment, after the garbage is gone. */
interface Inventory {
  readonly heap: number;
  readonly timers: number;
  /** Of the caller's clients, of the connections behind them, of the Redlock and of the caller's signal. */
  readonly listeners: number;
  /** What keeps the process alive: sockets, timers. */
  readonly resources: number;
}

/** Very many locks, acquired and released: nothing may be left of them. */
export const memory: Workload = {
  name: "memory",
  async run(masters, scale) {
    const cycles = scale.cycles ?? (scale.quick ? 20_000 : 50_000);
    const subject = await openSubject(masters.urls);
    try {
      await cycle(subject, 5000);
      const before = await inventory(subject);
      const begun = performance.now();
      await cycle(subject, cycles);
      const seconds = (performance.now() - begun) / 1000;
      const after = await inventory(subject);
      return findings(cycles, seconds, before, after);
    } finally {
      await subject.redlock.quit();
      closeClients(subject.clients);
    }
  },
};

interface Subject {
  readonly redlock: Redlock;
  readonly runtime: CountingRuntime;
  /** The caller's, and those that the package made from them. */
  readonly clients: readonly Redis[];
  readonly signal: AbortSignal;
}

async function openSubject(urls: readonly string[]): Promise<Subject> {
  const clients = await openClients(urls);
  const all = [...clients];
  for (const client of clients) {
    const duplicate = client.duplicate.bind(client);
    client.duplicate = (override) => {
      const copy = duplicate(override);
      all.push(copy);
      return copy;
    };
  }
  const runtime = new CountingRuntime();
  const redlock = new built.Redlock(clients, { runtime });
  const { signal } = new AbortController();
  // Node warns of more than ten listeners; there are as many callers, and what is left of them is counted.
  setMaxListeners(chains, signal);
  return { redlock, runtime, clients: all, signal };
}

async function cycle({ redlock, signal }: Subject, count: number): Promise<void> {
  let begun = 0;
  const chain = async (resource: string): Promise<void> => {
    while (begun < count) {
      begun += 1;
      const lock = await redlock.acquire(resource, ttl, { signal });
      await lock.release();
    }
  };
  await Promise.all(Array.from({ length: chains }, (_, index) => chain(`memory:${index}`)));
}

async function inventory({ runtime, clients, signal }: Subject): Promise<Inventory> {
  // The last masters may still have to answer: their round keeps its timer until then.
  const deadline = performance.now() + settleTimeout;
  while (runtime.standing > 0 && performance.now() < deadline) await pause(10);
  const resources = process.getActiveResourcesInfo().length;
  let listeners = getEventListeners(signal, "abort").length;
  for (const emitter of clients) {
    for (const event of emitter.eventNames()) listeners += emitter.listenerCount(event);
  }
  return { heap: await heapInUse(), timers: runtime.standing, listeners, resources };
}

function findings(
  cycles: number,
  seconds: number,
  before: Inventory,
  after: Inventory,
): Awaited<ReturnType<Workload["run"]>> {
  const growth = (after.heap - before.heap) / bytesInMegabyte;
  const rowOf = (name: string, taken: Inventory): string[] => [
    name,
    figure(taken.heap / bytesInMegabyte, 4),
    `${taken.timers}`,
    `${taken.listeners}`,
    `${taken.resources}`,
  ];
  const rate = Math.round(cycles / seconds);
  return {
    tables: [
      {
        title: `Memory: ${cycles} locks acquired and released by ${chains} at once`,
        columns: ["", "heap MB", "timers", "listeners", "resources"],
        rows: [rowOf("before", before), rowOf("after", after)],
        notes: [`${seconds.toFixed(1)} s, ${rate} a second. The heap is what is in use after a collection.`],
      },
    ],
    goals: [
      { name: `memory: heap after ${cycles} cycles, more by`, measured: growth, limit: 5, unit: "MB" },
      { name: "memory: timers left standing", measured: after.timers, limit: 0, unit: "" },
      {
        name: "memory: listeners, more by",
        measured: after.listeners - before.listeners,
        limit: 0,
        unit: "",
      },
      {
        name: "memory: resources that keep the process alive, more by",
        measured: after.resources - before.resources,
        limit: 0,
        unit: "",
      },
    ],
  };
}
