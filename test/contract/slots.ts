import type { Redis } from "ioredis";

/** Gives hash slots to the master of a Cluster. (ADDSLOTSRANGE takes Redis 7.) */
export async function addSlots(admin: Redis, first: number, last: number): Promise<void> {
  const slots = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  await admin.cluster("ADDSLOTS", ...(slots as [number, ...number[]]));
}
