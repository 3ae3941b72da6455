import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Redlock } from "@quorlock/redlock";
import { now } from "@quorlock/simulation/processes";
import { clusterConfig, formCluster, startMasters, watchProcesses } from "@quorlock/testbed";
import { Cluster, Redis } from "ioredis";
import { Recorder } from "./history/recorder.ts";
import { Links } from "./links/links.ts";
import { mastersFor } from "./masters.ts";
import { Nemesis } from "./nemesis/nemesis.ts";
import type { Options } from "./options.ts";
import { faultsOf, undisturbedWorkers } from "./plan/plan.ts";
import { MasterRecorder } from "./record/record.ts";
import { gather, type MemoryMeasured } from "./report/gather.ts";
import { showProgress } from "./report/progress.ts";
import type { Report } from "./report/report.ts";
import { Store } from "./store/store.ts";
import {
  coldKeys,
  hotKey,
  leasePattern,
  movingKey,
  movingKeys,
  nodeTimeout,
  primaryCount,
  ttl,
  waitTimeout,
  workerCount,
} from "./terms.ts";
import type { Memory } from "./worker/protocol.ts";
import { Workers } from "./workers/workers.ts";

/** The start of the memory measurement, ms: before it, caches fill and code is compiled. */
const warmUp = 3000;
const recordedKey = coldKeys[0]!;
/** The maximum time for a worker to finish its current work, ms. */
const timeToLeave = 2 * waitTimeout + 5 * ttl;

/**
 * Runs workers against masters while faults are injected, and returns the report. `onStart` receives a function that
 * reports on the run so far.
 */
export async function soak(
  options: Options,
  say: (line: string) => void,
  onStart: (reportSoFar: () => Report) => void = () => {},
): Promise<Report> {
  const { mode, seed } = options;
  await using masters = await mastersFor(mode, say);
  await using cluster = await startMasters(primaryCount, { config: clusterConfig, say });
  const primaries = cluster.urls.map(adminOf);
  await formCluster(primaries);
  const folder = mkdtempSync(join(tmpdir(), "quorlock-soak-"));
  const watchdog = watchProcesses(folder);
  await using links = await Links.lay(masters.list, workerCount + 1);
  if (links.pid !== undefined) watchdog.add(links.pid);
  const store = new Store();
  const recorder = new Recorder();
  const urlsFor = (worker: number) => links.urlsFor(worker);
  const workersPlan = { count: workerCount + 1, seed, urlsFor, cluster: cluster.urls, watch: watchdog };
  await using workers = new Workers(workersPlan, recorder, store);
  const admins = masters.urls.map(adminOf);
  const clocks = "clocks" in masters ? masters.clocks : undefined;
  const field = { masters: masters.list, admins, primaries, clocks, links, workers, recorder };
  const nemesis = new Nemesis(field, mode);

  using recording =
    options.record === undefined ? undefined : await MasterRecorder.listen(admins, recordedKey);
  await workers.start();
  const began = now();
  const until = began + options.minutes * 60_000;
  say(`${workerCount} workers at ${masters.list.length} masters, seed ${seed}, mode ${mode}`);
  const progress = () => ({
    grants: recorder.grants,
    faults: nemesis.injections.length,
    lost: store.lost,
  });
  const secondsSoFar = (): number => (now() - began) / 1000;
  onStart(() => gather({ options, seconds: secondsSoFar(), recorder, store, workers, nemesis, stuck: [] }));
  let memory: MemoryMeasured;
  {
    using _ = showProgress(until, progress);
    const faults = faultsOf(seed, mode, clocks !== undefined);
    const running = nemesis.run(recording ? heard(faults) : faults, until);
    await pause(Math.min(warmUp, (until - began) / 2));
    const before = await measured(workers);
    await running;
    await pause(Math.max(0, until - now()));
    memory = { before, after: await measured(workers) };
    await workers.leave(timeToLeave);
  }
  const seconds = secondsSoFar();
  if (options.record !== undefined) recording?.write(options.record, recorder.history.holds);
  const everywhere = [...admins, ...primaries];
  const left = await keysLeft(everywhere, workers.heldUp);
  const stuck = [
    ...left,
    ...(await keysThatStayLocked(masters.urls.map(adminOf), [hotKey, ...coldKeys])),
    ...(await keysThatStayLocked([new Cluster([...cluster.urls])], [movingKey, ...movingKeys])),
  ];
  for (const admin of everywhere) admin.disconnect();
  rmSync(folder, { recursive: true, force: true });
  watchdog.dismiss();
  return gather({ options, seconds, recorder, store, workers, nemesis, memory, stuck });
}

/** Those that end the connection by which a master is listened to, or have another server in its place. */
const unheard: readonly string[] = ["kill-master", "rotate-password", "move-master", "greet-late"];

function* heard(faults: ReturnType<typeof faultsOf>): ReturnType<typeof faultsOf> {
  while (true) {
    const { value } = faults.next();
    if (!unheard.includes(value.fault.name)) yield value;
  }
}

/** Of the workers that live from the beginning to the end. */
function measured(workers: Workers): Promise<Memory[]> {
  return Promise.all(undisturbedWorkers.map((worker) => workers.measure(worker)));
}

/** Keys that are left of locks that were given up; and of any, when the time of each is over. (The record of a killed worker lives on for 30 s.) */
async function keysLeft(admins: readonly Redis[], heldUp: number): Promise<string[]> {
  const matching = async (pattern: string) =>
    (await Promise.all(admins.map((admin) => admin.keys(pattern)))).flat();
  const leases = await matching(leasePattern);
  const until = now() + 2 * waitTimeout;
  const own = async () => (await matching("*")).filter((key) => !/^quorlock:(floor|guard|owner)/.test(key));
  let others = await own();
  while (others.length > 0 && now() < until) {
    await pause(100);
    others = await own();
  }
  // A process that does not run for a time-out gives back what it can: `quit` does not wait longer for the answers.
  return [
    ...(leases.length > 0 && heldUp < nodeTimeout
      ? [`${leases.length} keys of leases are left behind quit()`]
      : []),
    ...(others.length > 0 ? [`${others.length} keys stay, one of them ${others[0]}`] : []),
  ];
}

/** After the last fault every key can be locked: no key lives longer than its ttl. */
async function keysThatStayLocked(
  clients: ReadonlyArray<Redis | Cluster>,
  keys: readonly string[],
): Promise<string[]> {
  const redlock = new Redlock(clients, { nodeTimeout: 10 * nodeTimeout, waitTimeout: 2 * ttl });
  const stuck: string[] = [];
  const lockOnce = async (key: string): Promise<void> => {
    try {
      const lock = await redlock.acquire(key, ttl);
      await lock.release();
    } catch (error) {
      stuck.push(`${key} cannot be locked when all is over: ${String(error)}`);
    }
  };
  await Promise.all(keys.map(lockOnce));
  await redlock.quit();
  return stuck;
}

function adminOf(url: string): Redis {
  const admin = new Redis(url);
  // Masters die and come back: it reconnects.
  admin.on("error", () => {});
  return admin;
}
