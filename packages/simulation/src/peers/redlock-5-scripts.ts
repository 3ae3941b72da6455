import type { Call, Twin } from "../master/twins/twin.ts";

interface KnownScript {
  readonly purpose: "vote" | "extension" | "release";
  readonly twin: Twin;
}

/**
 * The scripts of redlock 5.0.0-beta.2 in TypeScript, line by line, by the SHA-1 of the Lua text each was written
 * from. A test runs them against the Lua in a real server.
 */
export const redlock5Scripts: ReadonlyMap<string, KnownScript> = new Map<string, KnownScript>([
  ["96da70f7716f27d278a5218544df37fd8b0a5e4c", { purpose: "vote", twin: acquireTwin }],
  ["aed6f382e410db8ba7926d4e5e9aab410bf2a78a", { purpose: "extension", twin: extendTwin }],
  ["e4612211c9f8f51c257e26e056b0a654b3187242", { purpose: "release", twin: releaseTwin }],
]);

function acquireTwin(call: Call, keys: readonly string[], args: readonly string[]): number {
  for (const key of keys) if (call("EXISTS", key) === 1) return 0;
  return setAll(call, keys, args);
}

function extendTwin(call: Call, keys: readonly string[], args: readonly string[]): number {
  for (const key of keys) if (call("GET", key) !== args[0]) return 0;
  return setAll(call, keys, args);
}

function setAll(call: Call, keys: readonly string[], [value, ttl]: readonly string[]): number {
  for (const key of keys) call("SET", key, value!, "PX", ttl!);
  return keys.length;
}

function releaseTwin(call: Call, keys: readonly string[], [value]: readonly string[]): number {
  let count = 0;
  for (const key of keys) {
    if (call("GET", key) !== value) continue;
    call("DEL", key);
    count += 1;
  }
  return count;
}
