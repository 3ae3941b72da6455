import type { Owner } from "../errors.ts";
import type { ListedMaster } from "./membership.ts";

/** The number of locks in a record. */
export const maxRecordedLocks = 50;

/** A record is written each 10 s, ms. An owner whose record is older than three times as long is gone. */
export const recordInterval = 10_000;
export const recordLifetime = 30_000;

/** A lock in a record: no token. */
export interface HeldLock {
  readonly resources: readonly string[];
  /** By the holder's wall clock, ms since the epoch. */
  readonly since: number;
  readonly fencingToken: number | undefined;
}

/** The record that one Redlock writes about itself. */
export interface OwnerRecord extends Owner {
  /** Of this package. */
  readonly version: string;
  /** How often it has been written. */
  readonly writes: number;
  /** Its lifetime after a write, ms: three intervals, or until the last key of its locks has expired. */
  readonly ttl: number;
  /** The owner has quit, and left locks that are kept. */
  readonly hasQuit: boolean;
  readonly masters: readonly ListedMaster[];
  /** Those held for longest. */
  readonly locks: readonly HeldLock[];
}

/** The key of the index: a sorted set of tags by the expiry of their records. */
export function ownersKey(isCluster: boolean): string {
  return `quorlock:owners${hashTag(isCluster)}`;
}

export function ownerKey(tag: string, isCluster: boolean): string {
  return `quorlock:owner:${tag}${hashTag(isCluster)}`;
}

/** On a Cluster all these keys are in one hash slot, with a `keyPrefix` as well. */
function hashTag(isCluster: boolean): string {
  return isCluster ? ":{owners}" : "";
}

/** The longest text and list that are read of a record, which anybody may have written. */
const maxText = 200;
const maxItems = 100;

/** A record as it was written; `undefined` for anything else. */
export function recordIn(tag: string, text: unknown): OwnerRecord | undefined {
  const given = typeof text === "string" ? parsed(text) : undefined;
  if (!given || typeof given.name !== "string" || given.name === "") return undefined;
  const { name, host, pid, version, writes, ttl, hasQuit, masters, locks } = given;
  return {
    tag,
    name: textIn(name),
    host: textIn(host),
    pid: numberIn(pid) ?? 0,
    version: textIn(version),
    writes: numberIn(writes) ?? 0,
    ttl: numberIn(ttl) ?? recordLifetime,
    hasQuit: hasQuit === true,
    masters: itemsIn(masters).map((master) => ({ name: textIn(master.name), ids: textsIn(master.ids) })),
    locks: itemsIn(locks).map(({ resources, since, fencingToken }) => ({
      // Each is a key: a part of it would be another one.
      resources: listIn(resources).filter((resource) => typeof resource === "string"),
      since: numberIn(since) ?? 0,
      fencingToken: numberIn(fencingToken),
    })),
  };
}

/** The fields of a record and of its parts, as anybody may have written them. */
type Fields = { readonly [field in keyof OwnerRecord | keyof ListedMaster | keyof HeldLock]?: unknown };

function parsed(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function textIn(value: unknown): string {
  return typeof value === "string" ? value.slice(0, maxText) : "";
}

function numberIn(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, maxItems) : [];
}

function textsIn(value: unknown): readonly string[] {
  return listIn(value).map(textIn);
}

function itemsIn(value: unknown): readonly Fields[] {
  return listIn(value).filter((item): item is Fields => typeof item === "object" && item !== null);
}
