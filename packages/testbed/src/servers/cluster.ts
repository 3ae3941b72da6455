import { setTimeout as pause } from "node:timers/promises";
import type { Redis } from "ioredis";

/** A master of a Cluster. It is announced at an address where the others find it, whatever interfaces the machine has. */
export const clusterConfig: readonly string[] = [
  ...["--cluster-enabled", "yes"],
  ...["--cluster-announce-ip", "127.0.0.1"],
];

const slotCount = 16_384;
/** Masters find each other within this time, ms. */
const formedIn = 10_000;
/** The time that a MIGRATE may take, ms: both masters stand still meanwhile. */
const migrateTimeout = 5000;

/** Gives hash slots to the master of a Cluster. (ADDSLOTSRANGE takes Redis 7.) */
async function addSlots(admin: Redis, first: number, last: number): Promise<void> {
  const slots = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  await admin.cluster("ADDSLOTS", ...(slots as [number, ...number[]]));
}

/** Makes one Cluster of these masters, with the slots in equal parts. Resolves when each of them serves its own. */
export async function formCluster(admins: readonly Redis[]): Promise<void> {
  const bound = (index: number) => Math.floor((index * slotCount) / admins.length);
  await Promise.all(admins.map((admin, index) => addSlots(admin, bound(index), bound(index + 1) - 1)));
  const [first, ...others] = admins;
  for (const { options } of others) await first!.cluster("MEET", options.host!, options.port!);
  const deadline = performance.now() + formedIn;
  for (const admin of admins) {
    while (!/cluster_state:ok/.test(await admin.cluster("INFO"))) {
      if (performance.now() > deadline) throw new Error(`no Cluster was formed within ${formedIn} ms`);
      await pause(5);
    }
  }
}

export interface SlotMove {
  readonly slot: number;
  readonly from: Redis;
  readonly to: Redis;
  /** This many keys move at once. */
  readonly keysAtOnce: number;
  /** Called when the move has begun, and after each step: the slot is in both masters meanwhile. May end it by throwing. */
  readonly between: () => Promise<void>;
}

/**
 * Moves a slot from one master to another, as redis-cli does it: until no key is left, and a key that both have is an
 * error. Resolves with the names of the keys that were moved.
 */
export async function moveSlot({ slot, from, to, keysAtOnce, between }: SlotMove): Promise<string[]> {
  const [fromId, toId] = [await from.cluster("MYID"), await to.cluster("MYID")] as [string, string];
  const { host, port } = to.options;
  await to.cluster("SETSLOT", slot, "IMPORTING", fromId);
  await from.cluster("SETSLOT", slot, "MIGRATING", toId);
  await between();
  const moved: string[] = [];
  for (;;) {
    const keys = await from.cluster("GETKEYSINSLOT", slot, keysAtOnce);
    if (keys.length === 0) break;
    await from.call("MIGRATE", host!, port!, "", 0, migrateTimeout, "KEYS", ...keys);
    moved.push(...keys);
    await between();
  }
  for (const admin of [to, from]) await admin.cluster("SETSLOT", slot, "NODE", toId);
  await epochsAreKnown([to, from]);
  return moved;
}

/**
 * Until each of these masters knows the latest epoch of every other. Before that, a slot that moves back may get an epoch
 * that is no later than the last one, and a message on its way then takes it away again.
 */
async function epochsAreKnown(admins: readonly Redis[]): Promise<void> {
  const deadline = performance.now() + formedIn;
  for (;;) {
    const known = await Promise.all(admins.map((admin) => epochsIn(admin)));
    if (new Set(known).size === 1) return;
    if (performance.now() > deadline) throw new Error(`the epochs are not known within ${formedIn} ms`);
    await pause(2);
  }
}

/** Of each master, as this one knows it. */
async function epochsIn(admin: Redis): Promise<string> {
  const nodes = (await admin.cluster("NODES")) as string;
  const epochs = nodes
    .trim()
    .split("\n")
    .map((line) => {
      const [id, , , , , , epoch] = line.split(" ");
      return `${id} ${epoch}`;
    });
  return epochs.sort().join();
}
