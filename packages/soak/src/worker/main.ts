import { setTimeout as pause } from "node:timers/promises";
import { type Client, type ExecutionError, Lock, Redlock, RedlockError } from "@quorlock/redlock";
import { ReadWriteLock } from "@quorlock/redlock/read-write-lock";
import { Semaphore } from "@quorlock/redlock/semaphore";
import { Random } from "@quorlock/simulation";
import { now, parentOf } from "@quorlock/simulation/processes";
import { Stalls } from "@quorlock/testbed";
import {
  callersPerWorker,
  coldKeys,
  hotKey,
  leaseKey,
  leaseTtl,
  masterCount,
  movingKey,
  movingKeys,
  movingLeaseCount,
  movingLeaseKey,
  movingLeaseTtl,
  nodeTimeout,
  permits,
  permitsKey,
  reconnection,
  restOnCluster,
  retryDelay,
  retryJitter,
  sharedKey,
  ttl,
} from "../terms.ts";
import { Caller, type Desk, ways, waysInSlot } from "./caller.ts";
import { type OpenClient, openClient, openCluster } from "./clients.ts";
import { quitLimit } from "./limits.ts";
import { Lingering } from "./lingering.ts";
import { type Assignment, type ConductorSide, unhandledRejection, type WorkerSide } from "./protocol.ts";
import { Stopwatch } from "./stopwatch.ts";

// One worker process: some callers that take locks, and a Redlock that they share; one more caller has another Redlock,
// on the Cluster.

const stalls = new Stalls();
const lingering = new Lingering();
let redlock: Redlock;
let onCluster: Redlock;
let clients: readonly OpenClient[];
let callers: Promise<unknown> = Promise.resolve();
let resumer: Caller;
/** Locks of others that this worker goes on with. */
const resumed = new Set<Promise<void>>();
const leaving = new AbortController();

const conductor = parentOf<ConductorSide, WorkerSide>({
  async start({ name, urls, cluster, seed, leases }) {
    const random = new Random(seed, name, "clients");
    redlock = connect(urls, random);
    // The Cluster counts as one more master, behind the others.
    onCluster = redlockOf([await openCluster(cluster, random)], () => masterCount);
    await Promise.all([redlock.inspect("nothing"), onCluster.inspect(movingKey)]);
    if (leases > 0) return holdLeases(leases);
    const desk = deskOf(name);
    const caller = (which: string, at = desk) => new Caller(at, new Random(seed, name, which));
    resumer = caller("resumed");
    const run = (index: number) => runCaller(caller(`caller ${index}`));
    const all = Array.from({ length: callersPerWorker }, (_, index) => run(index));
    callers = Promise.all([...all, runCaller(caller("on the Cluster", onClusterFrom(desk)), restOnCluster)]);
  },
  linger: (request) => lingering.request(request),
  resume(detached) {
    if (leaving.signal.aborted) return;
    const going = settled(resumer.resume(detached));
    resumed.add(going);
    void going.then(() => resumed.delete(going));
  },
  password(master, password) {
    clients[master]!.setPassword(password);
  },
  reconnect: (master) => clients[master]!.reconnect(),
  async whyNotReached(master, limit) {
    // As all limits, net of what this process did not run.
    const until = now() - stalls.total + limit;
    for (let round = 0; ; round += 1) {
      const why = await refusalOf(clients[master]!.client, `soak:reached:${round}`);
      if (why === undefined || now() - stalls.total >= until) return why;
      await pause(nodeTimeout);
    }
  },
  measure() {
    global.gc?.();
    const { rss, heapUsed } = process.memoryUsage();
    return { rss, heap: heapUsed };
  },
  async leave() {
    leaving.abort();
    await callers;
    await Promise.all(resumed);
    const began = now();
    await Promise.all([redlock, onCluster].map((one) => stopwatch.time("quit", quitLimit, () => one.quit())));
    return Math.max(...stalls.within(now() - began));
  },
});

const stopwatch = new Stopwatch(stalls, (call) => void conductor.took.asEvent(call));

process.on("unhandledRejection", (reason) => {
  void conductor.failed.asEvent(`${unhandledRejection}: ${String(reason)}`);
});
process.on("uncaughtException", (error) => {
  void conductor.failed.asEvent(`uncaught exception: ${error.stack}`);
});

function connect(urls: Assignment["urls"], random: Random): Redlock {
  clients = urls.map((url) => openClient(url, random));
  const nodes = urls.map((url) => new URL(url).host);
  return redlockOf(
    clients.map(({ client }) => client),
    (node) => nodes.indexOf(node),
  );
}

/** Reports unreachable masters to the conductor. */
function redlockOf(members: readonly Client[], indexOf: (node: string) => number): Redlock {
  const made = new Redlock(members, { nodeTimeout, retryDelay, retryJitter });
  const unreachable = new Map<string, { times: number; readonly why: string; readonly stoodStill: number }>();
  made.on("error", ({ node, reason, error }) => {
    if (reason !== "UNREACHABLE") return;
    if (unreachable.size === 0) setTimeout(report, 50);
    const entry = unreachable.get(node) ?? {
      times: 0,
      why: error.message,
      stoodStill: Math.max(...stalls.within(reconnection)),
    };
    entry.times += 1;
    unreachable.set(node, entry);
  });
  const report = (): void => {
    for (const [node, { times, why, stoodStill }] of unreachable)
      void conductor.unreachable.asEvent(indexOf(node), times, why, stoodStill);
    unreachable.clear();
  };
  return made;
}

/** Why the master of this client does not vote; `undefined` if it does, also where others do not. To answer is less: one that was taken over from answers. */
async function refusalOf(client: Client, key: string): Promise<string | undefined> {
  const outcome = await redlock.acquire(key, ttl, { retryCount: 0 }).catch((error: ExecutionError) => error);
  const [votes] = await Promise.all(outcome.attempts ?? []);
  if (outcome instanceof Lock) await outcome.release();
  const { message = "it has no vote" } = votes?.votesAgainst.get(client) ?? (outcome as Partial<Error>);
  return votes?.votesFor.has(client) ? undefined : message;
}

/** Resolves when all leases are held. They stay held until this worker leaves. */
async function holdLeases(count: number): Promise<void> {
  const keys = Array.from({ length: count }, (_, index) => leaseKey(index)).values();
  const moving = Array.from({ length: movingLeaseCount }, (_, index) => movingLeaseKey(index));
  // Some at a time: how fast they come is no question here.
  await Promise.all([
    ...Array.from({ length: 40 }, async () => {
      for (const key of keys) await leaseHeld(redlock, key, leaseTtl);
    }),
    ...moving.map((key) => leaseHeld(onCluster, key, movingLeaseTtl)),
  ]);
}

function leaseHeld(from: Redlock, key: string, lives: number): Promise<void> {
  return new Promise((held, refused) => {
    const using = from.using(key, lives, { retryCount: -1 }, async (signal) => {
      held();
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      if (leaving.signal.aborted) return;
      // It is extended each third of its time, and has the other two for the votes.
      const stood = stalls.within(lives).reduce((sum, one) => sum + one, 0);
      if (stood > lives / 3) void conductor.leaseMissed.asEvent();
      else void conductor.leaseLost.asEvent(String(signal.reason));
    });
    using.catch(refused);
  });
}

function deskOf(name: string): Desk {
  let locks = 0;
  return {
    name,
    redlock,
    ways,
    keys: { hot: hotKey, cold: coldKeys },
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

/** The same on the Cluster. Holders are requested to linger elsewhere, where they can be cut off. */
function onClusterFrom(desk: Desk): Desk {
  const keys = { hot: movingKey, cold: movingKeys };
  return { ...desk, redlock: onCluster, ways: waysInSlot, keys, lingering: new Lingering() };
}

async function runCaller(caller: Caller, rest = 0): Promise<void> {
  while (!leaving.signal.aborted) {
    await settled(caller.next());
    if (rest > 0) await pause(rest);
  }
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
