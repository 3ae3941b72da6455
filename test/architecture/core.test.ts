import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";

// The core of the client knows no primitive that is built on it, and no client library.

const client = resolve(import.meta.dirname, "../../packages/redlock/src");
const files = readdirSync(client, { recursive: true, encoding: "utf8" })
  .map((file) => file.replaceAll("\\", "/"))
  .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"));

/** The files outside of these places that have the word, with the line. */
function naming(word: RegExp, outside: readonly string[]): readonly string[] {
  return files
    .filter((file) => !outside.some((place) => file.startsWith(place)))
    .flatMap((file) =>
      readFileSync(join(client, file), "utf8")
        .split("\n")
        .filter((line) => word.test(line))
        .map((line) => `${file}: ${line.trim()}`),
    );
}

const primitives =
  /\b(readers?|writers?|readers-writer|ReadWriteLock|semaphores?|permits?|leaders?|downgrad\w+)\b/i;
/** Those of a semaphore; a Cluster has hash slots. */
const slots = /(?<!hash )\bslots?\b/i;
const libraries = /\b(ioredis|iovalkey|node-redis)\b/i;

describe("the core of the client", () => {
  it("names no primitive: a lock that may be shared is a family of scripts", () => {
    expect(naming(primitives, ["primitives/", "redis/sharable-keys.ts", "scripts.generated.ts"])).toEqual([]);
    // Only there is a slot always one of a Cluster.
    expect(naming(slots, ["primitives/", "redis/", "adapters/"])).toEqual([]);
  });

  it("names no client library", () => {
    expect(naming(libraries, ["adapters/"])).toEqual([]);
  });

  it("is searched by words that the primitives and the adapters have", () => {
    expect(naming(primitives, []).length).toBeGreaterThan(50);
    expect(naming(slots, []).length).toBeGreaterThan(20);
    expect(naming(libraries, []).length).toBeGreaterThan(20);
  });
});
