import type { Entry } from "./entries.ts";

// The names of the keys that the client's scripts keep.

/** Everything that a master keeps besides the locks themselves begins so. */
export const ownPrefix = "quorlock:";
/** Everything that belongs to queues, and nothing else, begins so. */
export const queuePrefix = "quorlock:queue:";

/** The sorted set of those who wait for a key. */
export function queueOf(key: string): string {
  return /^[^{]*\{[^}]+\}/.test(key) ? `${queuePrefix}tagged:${key}` : `${queuePrefix}{${key}}`;
}

export function entryNameOf(queue: string, waiter: string): string {
  return `${queue}:${shortNameOf(waiter)}`;
}

/** The characters of a waiter in the name of its entry. */
export function shortNameOf(waiter: string): string {
  return waiter.slice(0, 20);
}

/** Whether a key belongs to a lock that may be shared. */
export function isSharable(key: string): boolean {
  return key.startsWith("quorlock:rw:");
}

/** Whether a key holds shared claims. */
export function isShared(key: string): boolean {
  return isSharable(key) && key.endsWith(":readers");
}

/** The key that a queue belongs to. */
export function exclusive(key: string): string {
  return isSharable(key) ? key.replace(/:[A-Za-z]+$/, ":write") : key;
}

/** The shared claims in a key: the name of each, and its expiry. */
export function membersOf(entry: Entry | undefined): ReadonlyArray<readonly [string, number]> {
  const value = entry?.value;
  const members = typeof value === "object" && "sorted" in value ? value.sorted : [];
  return members.map(({ name, score }) => [name, score] as const);
}
