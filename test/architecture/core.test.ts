import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";

// The core of the client knows no primitive that is built on it, and no client library. Nothing knows a class by its name.

const packages = resolve(import.meta.dirname, "../../packages");
const client = join(packages, "redlock/src");

function sourcesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts") && !file.includes("node_modules/"));
}

const files = sourcesIn(client);

/** The files outside of these places that have the word, with the line. */
function naming(word: RegExp, outside: readonly string[], folder = client, of = files): readonly string[] {
  return of
    .filter((file) => !outside.some((place) => file.startsWith(place)))
    .flatMap((file) =>
      readFileSync(join(folder, file), "utf8")
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
    expect(naming(primitives, ["primitives/", "redis/commands.ts", "scripts.generated.ts"])).toEqual([]);
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

/** The names that the platform gives its own errors are data: no bundler changes them. */
const className = /constructor\??\.name\s*[!=]==?|\.name\s*[!=]==?\s*"(?!(Abort|Timeout)Error")[A-Z]/;

it("knows no class by its name, which a bundler changes", () => {
  const sources = readdirSync(packages).flatMap((name) =>
    sourcesIn(join(packages, name, "src")).map((file) => `${name}/src/${file}`),
  );
  expect(sources.length).toBeGreaterThan(500);
  expect(naming(className, [], packages, sources)).toEqual([]);
  for (const line of ['error.name === "ReplyError"', 'type.name !== "ErrorReply"', "constructor.name === it"])
    expect(line).toMatch(className);
});
