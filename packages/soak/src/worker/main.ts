import { Redlock, RedlockError } from "@quorlock/redlock";
import { ReadWriteLock } from "@quorlock/redlock/read-write-lock";
import { Semaphore } from "@quorlock/redlock/semaphore";
import { Random } from "@quorlock/simulation";
import { Redis } from "ioredis";
import { parentOf } from "../processes/remote.ts";
import {
  lanesPerWorker,
  nodeTimeout,
  permits,
  permitsKey,
  retryDelay,
  retryJitter,
  sharedKey,
} from "../terms.ts";
import { type Desk, Lane } from "./lane.ts";
import { quitLimit } from "./limits.ts";
import { Lingering } from "./lingering.ts";
import { type Assignment, type ConductorSide, unhandledRejection, type WorkerSide } from "./protocol.ts";
import { Stalls } from "./stalls.ts";
import { Stopwatch } from "./stopwatch.ts";

// One worker process: some lanes that take locks, and a Redlock that they share.

const stalls = new Stalls();
const lingering = new Lingering();
let redlock: Redlock;
let lanes: Promise<unknown> = Promise.resolve();
let visitor: Lane;
/** Locks of others that this worker goes on with. */
const resumed = new Set<Promise<void>>();
const leaving = new AbortController();

const conductor = parentOf<ConductorSide, WorkerSide>({
  async start({ name, urls, seed }) {
    redlock = connect(urls);
    await redlock.inspect("nothing");
    const desk = deskOf(name);
    const lane = (which: string) => new Lane(desk, new Random(seed, name, which));
    visitor = lane("resumed");
    const run = (index: number) => runLane(lane(`lane ${index}`));
    lanes = Promise.all(Array.from({ length: lanesPerWorker }, (_, index) => run(index)));
  },
  linger: (wish) => lingering.wish(wish),
  resume(detached) {
    if (leaving.signal.aborted) return;
    const going = settled(visitor.resume(detached));
    resumed.add(going);
    void going.then(() => resumed.delete(going));
  },
  measure() {
    global.gc?.();
    const { rss, heapUsed } = process.memoryUsage();
    return { rss, heap: heapUsed };
  },
  async leave() {
    leaving.abort();
    await lanes;
    await Promise.all(resumed);
    await stopwatch.time("quit", quitLimit, () => redlock.quit());
  },
});

const stopwatch = new Stopwatch(stalls, (call) => void conductor.took.asEvent(call));

process.on("unhandledRejection", (reason) => {
  void conductor.failed.asEvent(`${unhandledRejection}: ${String(reason)}`);
});
process.on("uncaughtException", (error) => {
  void conductor.failed.asEvent(`uncaught exception: ${error.stack}`);
});

function connect(urls: Assignment["urls"]): Redlock {
  const clients = urls.map((url) => {
    // Masters are away for seconds at most: nobody waits longer than they do.
    const client = new Redis(url, { retryStrategy: (times) => Math.min(times * 50, 250) });
    client.on("error", () => {});
    return client;
  });
  return new Redlock(clients, { nodeTimeout, retryDelay, retryJitter });
}

function deskOf(name: string): Desk {
  let locks = 0;
  return {
    name,
    redlock,
    shared: new ReadWriteLock(redlock, sharedKey),
    permits: new Semaphore(redlock, permitsKey, permits),
    stalls,
    stopwatch,
    lingering,
    counters: {
      read: (hold) => conductor.read(hold),
      write: (write, deadline) => conductor.write(write, deadline),
    },
    ended: (hold) => void conductor.ended.asEvent(hold),
    handOn: (detached) => void conductor.handOn.asEvent(detached),
    next: () => {
      locks += 1;
      return locks;
    },
  };
}

async function runLane(lane: Lane): Promise<void> {
  while (!leaving.signal.aborted) await settled(lane.next());
}

/** An error that is an answer is counted; another should not be. */
async function settled(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (error instanceof RedlockError) void conductor.refused.asEvent(error.code);
    else void conductor.failed.asEvent(`a call failed: ${String(error)}`);
  }
}
