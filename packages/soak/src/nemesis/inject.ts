import { setTimeout as pause } from "node:timers/promises";
import { now } from "@quorlock/simulation/processes";
import { type Master, type MasterClock, moveSlot, startMasters } from "@quorlock/testbed";
import { Redis } from "ioredis";
import type { Recorder } from "../history/recorder.ts";
import type { LinkEnds, Links } from "../links/links.ts";
import type { Fault, RefusalName } from "../plan/fault.ts";
import { movingKey, ttl, workerCount } from "../terms.ts";
import type { Workers } from "../workers/workers.ts";

type Address = Pick<Master, "host" | "port">;

/** Everything that faults can affect. */
export interface Targets {
  readonly masters: readonly Master[];
  /** Connections to the masters, past the links. */
  readonly admins: readonly Redis[];
  /** Connections to the masters of the Cluster. */
  readonly primaries: readonly Redis[];
  /** Where masters have clocks that can be set. */
  readonly clocks: readonly MasterClock[] | undefined;
  readonly links: Links;
  readonly workers: Workers;
  readonly recorder: Recorder;
}

/** Carries out one fault. Resolves when it is healed. */
export async function inject(field: Targets, fault: Fault): Promise<void> {
  switch (fault.name) {
    case "kill-master":
      return killMaster(field.masters[fault.master]!, fault.lasts);
    case "hang-master":
      return hangMaster(field.masters[fault.master]!, fault.lasts);
    case "full":
    case "no-replicas":
    case "read-only":
      return refuseWrites(field, fault);
    case "listener":
      return listen(field, fault);
    case "move-master":
      return moveMaster(field, fault);
    case "greet-late":
      return greetLate(field, fault);
    case "rotate-password":
      return rotatePassword(field, fault);
    case "reshard":
      return reshard(field, fault);
    case "freeze":
      return freeze(field, fault.master);
    case "reply-lost":
      return onLinks(field, [fault], { kind: "reply-lost" }, fault.lasts);
    case "isolate-worker":
      return isolateWorker(field, fault);
    case "stop-worker":
      return stopWorker(field, fault);
    case "kill-worker":
      return field.workers.replace(fault.worker);
    case "amnesia":
    case "flush":
    case "clock-step":
      return deceiveHolder(field, fault);
    case "careless-writer":
      return carelessWriter(field, fault);
    default: {
      return onLinks(field, linksTo(fault.master), fault.fault, fault.lasts);
    }
  }
}

/** The links from all processes to a master. */
function linksTo(master: number): LinkEnds[] {
  return Array.from({ length: workerCount + 1 }, (_, worker) => ({ worker, master }));
}

async function killMaster(master: Master, lasts: number): Promise<void> {
  await master.kill();
  await pause(lasts);
  await master.restart();
}

async function hangMaster(master: Master, lasts: number): Promise<void> {
  await master.hang();
  await pause(lasts);
  await master.resume();
}

type Words = readonly [string, ...string[]];

/** The commands that make a master refuse writes, and accept them again. No written data is lost. */
const refusals: Readonly<Record<RefusalName, readonly [refuse: Words, heal: Words]>> = {
  full: [
    ["CONFIG", "SET", "maxmemory", "1"],
    ["CONFIG", "SET", "maxmemory", "0"],
  ],
  "no-replicas": [
    ["CONFIG", "SET", "min-replicas-to-write", "1"],
    ["CONFIG", "SET", "min-replicas-to-write", "0"],
  ],
  // No process listens on that port.
  "read-only": [
    ["REPLICAOF", "127.0.0.1", "1"],
    ["REPLICAOF", "NO", "ONE"],
  ],
};

export function isRefusal(fault: Fault): fault is Extract<Fault, { name: RefusalName }> {
  return fault.name in refusals;
}

/**
 * A holder releases the hot lock, late in its lease, to masters that refuse writes: its keys stay until they expire. A
 * holder that still observes the lock as held keeps it for longer than that.
 */
async function refuseWrites(
  { admins, workers }: Targets,
  { name, worker, masters, lasts }: Extract<Fault, { name: RefusalName }>,
): Promise<void> {
  const [refuse, heal] = refusals[name];
  // Separately: a master that is unreachable now does so when it is back, and does not delay the others.
  const refuseAt = async (admin: Redis) => {
    await admin.call(...refuse);
    await pause(lasts);
    await admin.call(...heal);
  };
  const others = Array.from({ length: workerCount }, (_, other) => other).filter((other) => other !== worker);
  const haveStay = (who: readonly number[], milliseconds: number) =>
    Promise.all(who.map((one) => workers.linger(one, { milliseconds, hot: true, careless: false })));
  await haveStay([worker], 0.6 * ttl);
  await pause(0.5 * ttl);
  void haveStay(others, 0.6 * ttl);
  await Promise.all(masters.map((master) => refuseAt(admins[master]!)));
  void haveStay(others, 0);
}

/** Upper bound on the time that a client needs to reconnect to a reachable master, ms. */
const backIn = 3000;

/** The process without faults must reconnect to this master, which works but is another server than before. */
async function expectReached({ workers }: Targets, master: number): Promise<void> {
  const why = await workers.whyNotReached(master, backIn);
  if (why !== undefined) throw new Error(`master ${master} is not reached any more: ${why}`);
}

/** A failover to another server without a lost write, and back. */
async function moveMaster(
  field: Targets,
  { master, lasts }: Extract<Fault, { name: "move-master" }>,
): Promise<void> {
  const { masters, admins, links } = field;
  await using spares = await startMasters(1, { say: () => {} });
  const [there] = spares.list;
  const home = masters[master]!;
  const atHome = admins[master]!;
  const away = new Redis(there!.url);
  away.on("error", () => {});
  try {
    await takeOver(atHome, home, away, there!);
    await links.pointTo(master, there!);
    const why = await field.workers.whyNotReached(master, backIn);
    await pause(lasts);
    await takeOver(away, there!, atHome, home);
    await links.pointTo(master, home);
    if (why !== undefined) throw new Error(`master ${master} was not reached where it had moved to: ${why}`);
  } finally {
    away.disconnect();
  }
  await expectReached(field, master);
}

/** A master has executed what reached it within this time, ms. */
const drainedIn = 50;
/** Clients dial again within this time, ms. */
const redialedIn = 500;
/** Upper bound on the time in which they reconnect, ms: some close a silent connection only after 2 s. */
const reconnectedIn = 6000;

/**
 * The clients of all workers leave a silent server for the one that its address leads to now. Then the former one
 * accepts writes, and greets the connections that Quorlock dialed before: nothing may be written there. If a worker
 * does not reconnect in time (it is stopped, or was killed), its client may still be there, and the former server stays a
 * replica.
 */
async function greetLate(
  field: Targets,
  { master, lasts }: Extract<Fault, { name: "greet-late" }>,
): Promise<void> {
  const { masters, admins, links, workers } = field;
  await using spares = await startMasters(1, { say: () => {} });
  const [there] = spares.list;
  const home = masters[master]!;
  const atHome = admins[master]!;
  const away = new Redis(there!.url);
  away.on("error", () => {});
  try {
    await takeOver(atHome, home, away, there!);
    // No vote is under way to it when it falls silent: it would be executed later, unheard.
    const heal = await links.inject(linksTo(master), { kind: "cut", direction: "requests" });
    await pause(drainedIn);
    await home.hang();
    await heal();
    await (await links.inject(linksTo(master), { kind: "reset" }))();
    await pause(redialedIn);
    await links.pointTo(master, there!);
    const haveLeft = await workers.reconnect(master, reconnectedIn);
    // Sent before it goes on, so it is executed before any answer to a greeting.
    const serving = haveLeft ? [atHome.config("RESETSTAT"), atHome.replicaof("NO", "ONE")] : [];
    await home.resume();
    await Promise.all(serving);
    await pause(lasts);
    const written = haveLeft ? writesIn(await atHome.info("commandstats")) : 0;
    await takeOver(away, there!, atHome, home);
    await links.pointTo(master, home);
    if (written > 0)
      throw new Error(`master ${master} was sent ${written} votes after its address had left it`);
  } finally {
    away.disconnect();
  }
  await expectReached(field, master);
}

/** Commands by which clients vote. */
function writesIn(stats: string): number {
  const calls = stats.matchAll(/^cmdstat_(?:set|eval|evalsha):calls=(\d+)/gm);
  return [...calls].reduce((sum, [, count]) => sum + Number(count), 0);
}

/** Upper bound on the time that a replica needs to synchronize, ms. */
const takeOverIn = 10_000;

async function takeOver(from: Redis, at: Address, to: Redis, toBe: Address): Promise<void> {
  // Otherwise FAILOVER waits for further replicas first.
  await from.config("SET", "repl-diskless-sync-delay", "0");
  await to.replicaof(at.host, at.port);
  const has = (holds: () => Promise<boolean>) => until("a master has not taken over", takeOverIn, holds);
  await has(async () => (await from.info("replication")).includes("state=online"));
  await from.call("FAILOVER", "TO", toBe.host, `${toBe.port}`, "TIMEOUT", `${takeOverIn}`);
  await has(async () => (await to.role())[0] === "master" && (await from.role())[0] === "slave");
}

async function until(
  failure: string,
  within: number,
  holds: () => boolean | Promise<boolean>,
): Promise<void> {
  const end = now() + within;
  while (!(await holds())) {
    if (now() > end) throw new Error(`${failure} within ${within} ms`);
    await pause(5);
  }
}

async function rotatePassword(
  field: Targets,
  { master, lasts }: Extract<Fault, { name: "rotate-password" }>,
): Promise<void> {
  const { workers, admins } = field;
  const admin = admins[master]!;
  const password = `password-${now()}`;
  // Without a configured password, Redis accepts every password.
  workers.password(master, password);
  Object.assign(admin.options, { username: "default", password });
  await pause(50);
  await admin.call("ACL", "SETUSER", "default", "resetpass", `>${password}`);
  try {
    for (const type of ["normal", "pubsub"]) await admin.call("CLIENT", "KILL", "TYPE", type);
    await expectReached(field, master);
    await pause(lasts);
  } finally {
    // Otherwise workers that start later could never connect.
    await admin.call("ACL", "SETUSER", "default", "nopass");
    workers.password(master, undefined);
    Object.assign(admin.options, { username: undefined, password: undefined });
  }
}

/** The time for the move of a slot, without the injected pauses, ms. */
const movedIn = 10_000;
/** Pauses in the move of a slot, roughly: there are some 20 keys in it. */
const steps = 10;

/** During the move the keys of one lock may be on both masters. Locks on them must be granted again afterwards. */
async function reshard(
  { primaries, recorder }: Targets,
  { lasts }: Extract<Fault, { name: "reshard" }>,
): Promise<void> {
  const [first, second] = primaries as [Redis, Redis];
  const slot = await first.cluster("KEYSLOT", movingKey);
  // One that does not have the slot refuses the question.
  const isAtFirst = await first.exists(movingKey).then(
    () => true,
    () => false,
  );
  const [from, to] = isAtFirst ? [first, second] : [second, first];
  const end = now() + movedIn + 2 * lasts;
  const between = async (): Promise<void> => {
    if (now() > end) throw new Error(`slot ${slot} has not moved, with locks in it`);
    await pause(lasts / steps);
  };
  // A queue that is on both masters would end it with an error.
  await moveSlot({ slot, from, to, keysAtOnce: 3, between });
  const movedAt = now();
  const isGranted = (): boolean => recorder.latestGrantOf(movingKey) > movedAt;
  await until(`"${movingKey}" was not granted where it had moved to`, backIn, isGranted);
}

/** Silences the existing connections for ever; only new ones work. */
async function freeze(field: Targets, master: number): Promise<void> {
  const heal = await field.links.inject(linksTo(master), { kind: "freeze" });
  await heal();
  await expectReached(field, master);
}

async function listen(
  { admins }: Targets,
  { masters, lasts }: Extract<Fault, { name: "listener" }>,
): Promise<void> {
  const listeners = masters.map((master) => admins[master]!.duplicate());
  for (const listener of listeners) {
    listener.on("error", () => {});
    // A master that is down has no listener.
    listener.psubscribe("*").catch(() => {});
  }
  await pause(lasts);
  for (const listener of listeners) listener.disconnect();
}

async function onLinks(
  { links }: Targets,
  wanted: readonly LinkEnds[],
  fault: Parameters<Links["inject"]>[1],
  lasts: number,
): Promise<void> {
  const heal = await links.inject(wanted, fault);
  await pause(fault.kind === "reset" ? 0 : lasts);
  await heal();
}

/** Waits until the worker holds a lock and stays with it; then until the holder is notified, or the fault ends. */
async function isolateWorker(
  field: Targets,
  { worker, masters, fault, lasts }: Extract<Fault, { name: "isolate-worker" }>,
): Promise<void> {
  const request = { milliseconds: 2 * lasts, hot: false, careless: false };
  const hold = await field.workers.linger(worker, request);
  const wanted = masters.map((master) => ({ worker, master }));
  const heal = await field.links.inject(wanted, fault);
  // A holder that was not notified by then still extends, over a link that already had another fault.
  await Promise.race([hold === null ? pause(lasts) : field.recorder.untilEnded(hold), pause(2 * lasts)]);
  await heal();
}

async function stopWorker(
  { workers }: Targets,
  { worker, holding, lasts }: Extract<Fault, { name: "stop-worker" }>,
): Promise<void> {
  if (holding) await workers.linger(worker, { milliseconds: ttl / 10, hot: false, careless: false });
  workers.signal(worker, "SIGSTOP");
  await pause(lasts);
  workers.signal(worker, "SIGCONT");
}

/** The worker that holds while masters forget. */
const victim = 0;

/** While a worker holds the hot lock, most masters forget it, each in its own way. */
async function deceiveHolder(
  { workers, recorder, masters, admins, clocks }: Targets,
  fault: Extract<Fault, { name: "amnesia" | "flush" | "clock-step" }>,
): Promise<void> {
  const hold = await workers.linger(victim, { milliseconds: ttl / 3, hot: true, careless: false });
  const deceive = async (index: number): Promise<void> => {
    if (fault.name === "amnesia") await masters[index]!.restart();
    else if (fault.name === "flush") await admins[index]!.flushall();
    else clocks?.[index]?.step(fault.milliseconds);
  };
  await Promise.all(fault.masters.map(deceive));
  if (hold !== null) await Promise.race([recorder.untilEnded(hold), pause(2 * ttl)]);
}

async function carelessWriter(
  { workers, recorder }: Targets,
  { worker, lasts }: Extract<Fault, { name: "careless-writer" }>,
): Promise<void> {
  const hold = await workers.linger(worker, { milliseconds: ttl / 10, hot: true, careless: true });
  workers.signal(worker, "SIGSTOP");
  await pause(lasts);
  workers.signal(worker, "SIGCONT");
  if (hold !== null) await Promise.race([recorder.untilEnded(hold), pause(2 * ttl)]);
}
