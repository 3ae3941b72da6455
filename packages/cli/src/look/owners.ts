import { type OwnerRecord, ownerKey, ownersKey, recordIn, recordLifetime } from "@quorlock/redlock/internal";
import type { Redis } from "ioredis";
import { type Limit, unlessAborted } from "../masters.ts";
import { askEach, type Silent } from "./ask.ts";
import type { Reached } from "./connections.ts";

// The records that owners write about themselves: they name the holders of locks, and decide nothing.

/** The number of records that are asked of one master at once. */
const recordsAtOnce = 1000;

export interface OwnerView {
  readonly tag: string;
  /** `undefined`: it writes no record, or is gone. */
  readonly name: string | undefined;
  readonly host: string | undefined;
  readonly pid: number | undefined;
}

export interface SeenOwner extends OwnerRecord {
  /** It has quit, or has not written its record for three intervals. */
  readonly isGone: boolean;
}

/** The records of the owners in the index of one master. */
export async function recordsOn(redis: Redis, signal: AbortSignal): Promise<readonly SeenOwner[]> {
  const owners: SeenOwner[] = [];
  for (let first = 0; ; first += recordsAtOnce) {
    const last = String(first + recordsAtOnce - 1);
    const tags = await unlessAborted(signal, redis.zrange(ownersKey(false), first, last));
    const read = tags.map((tag) => ownerOn(redis, tag));
    owners.push(...(await unlessAborted(signal, Promise.all(read))).filter((owner) => owner !== undefined));
    if (tags.length < recordsAtOnce) return owners;
  }
}

async function ownerOn(redis: Redis, tag: string): Promise<SeenOwner | undefined> {
  const key = ownerKey(tag, false);
  // The documented permissions have GET, and not MGET.
  const [text, left] = await Promise.all([redis.get(key), redis.pttl(key)]);
  const record = recordIn(tag, text);
  return record && { ...record, isGone: record.hasQuit || record.ttl - left > recordLifetime };
}

/** Each owner once, by the latest record: a master may have an older one. It is gone if all say so. */
export function distinctOwners(records: readonly SeenOwner[]): readonly SeenOwner[] {
  const owners = new Map<string, SeenOwner>();
  for (const record of records) {
    const other = owners.get(record.tag);
    const latest = record.writes >= (other?.writes ?? 0) ? record : other!;
    owners.set(record.tag, { ...latest, isGone: record.isGone && (other?.isGone ?? true) });
  }
  return [...owners.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** The owners in the index of any master: all have the same records. */
export async function ownersAt(
  masters: readonly Reached[],
  limit: Limit,
): Promise<{ readonly owners: readonly SeenOwner[]; readonly silent: readonly Silent[] }> {
  const { answers, silent } = await askEach(masters, limit, recordsOn);
  return { owners: distinctOwners(answers.flatMap((records) => records ?? [])), silent };
}

/** Those of these tags that have a record on any master. */
export async function ownersOf(
  masters: readonly Reached[],
  tags: readonly string[],
  limit: Limit,
): Promise<readonly SeenOwner[]> {
  const { answers } = await askEach(masters, limit, async (redis, signal) =>
    unlessAborted(signal, Promise.all(tags.map((tag) => ownerOn(redis, tag)))),
  );
  return distinctOwners(answers.flatMap((found) => found?.filter((owner) => owner !== undefined) ?? []));
}

export function ownerOf(tag: string, record: OwnerRecord | undefined): OwnerView {
  const { name, host, pid } = record ?? {};
  return { tag, name, host, pid };
}
