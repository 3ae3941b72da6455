import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { faultsIn, longestChain, picture, pictureOf, roomsIn, source } from "./rooms.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function sourcesOf(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "quorlock-rooms-"));
  folders.push(folder);
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  return folder;
}

describe("the imports of the client", () => {
  it("come from rooms below alone", () => {
    expect(faultsIn()).toEqual([]);
  });

  it("make no chain of more than 12 files, types included", () => {
    const chain = longestChain();
    expect(chain.length, chain.join(" > ")).toBeLessThanOrEqual(12);
  });

  it("are followed to the longest chain, also through types", () => {
    const folder = sourcesOf({
      "errors.ts": "",
      "events.ts": 'import "./errors.ts";',
      "time/a.ts": 'import type { B } from "./b.ts"; import "../errors.ts";',
      "time/b.ts": 'import { events } from "../events.ts";',
    });
    expect(longestChain(folder)).toEqual(["time/a.ts", "time/b.ts", "events.ts", "errors.ts"]);
  });

  it.each([
    ["upwards", "protocol/a.ts", 'import { b } from "../holding/b.ts";', "holding is above protocol"],
    [
      "upwards, of a type",
      "time/a.ts",
      'import type { B } from "../protocol/b.ts";',
      "protocol is above time",
    ],
    [
      "upwards, in a type",
      "settings/a.ts",
      'export type B = import("../load/b.ts").B;',
      "load is above settings",
    ],
    ["upwards, when it is called", "load/a.ts", 'await import("../redis/b.ts");', "redis is above load"],
    [
      "upwards, by an export",
      "events.ts",
      'export { b } from "./client.ts";',
      "client.ts is above events.ts",
    ],
    [
      "upwards, from the bottom",
      "errors.ts",
      'import type { B } from "./events.ts";',
      "events.ts is above errors.ts",
    ],
    [
      "sideways",
      "waiting/a.ts",
      'import { b } from "../holding/b.ts";',
      "waiting and holding do not import from each other",
    ],
    [
      "sideways, of a type",
      "redis/a.ts",
      'import type { B } from "../safeguards/b.ts";',
      "redis and safeguards do not import from each other",
    ],
    [
      "of one client library",
      "without-scripts/a.ts",
      'import { b } from "../adapters/ioredis/b.ts";',
      "only adapters knows one client library",
    ],
    [
      "of a client library itself",
      "adapters/ioredis/a.ts",
      'import { Redis } from "ioredis";',
      "adapters imports no package of this name",
    ],
    [
      "of what is published for other packages",
      "client.ts",
      'import { b } from "./redis/internal.ts";',
      "a published module is imported by other packages alone",
    ],
    ["of no room", "client.ts", 'import { b } from "./helpers/b.ts";', "helpers is no room"],
  ])("are refused if they lead %s", (_, file, text, fault) => {
    expect(faultsIn(sourcesOf({ [file]: text }))).toEqual([
      expect.stringMatching(new RegExp(`^${file} imports .*: ${fault}$`)),
    ]);
  });

  it("are refused in a room that is not in the list, which names no room that is gone", () => {
    const list = "add it to the list in test/architecture/rooms.ts";
    expect(faultsIn(sourcesOf({ "helpers/a.ts": "" }))).toEqual([`helpers is a new room: ${list}`]);
    const rooms = readdirSync(source).filter((name) => !name.endsWith(".test.ts"));
    expect(
      roomsIn()
        .map(({ name }) => name)
        .sort(),
    ).toEqual(rooms.sort());
  });
});

describe("the picture of the rooms", () => {
  it("is the one in docs/rooms.svg; `pnpm rooms` draws it", () => {
    expect(readFileSync(picture, "utf8")).toBe(pictureOf(roomsIn()));
  });

  it("has each room above those that it imports from, and leaves out each arrow that follows from others", () => {
    const folder = sourcesOf({
      "index.ts": 'export { a } from "./redis/a.ts";\nimport type { B } from "./time/b.ts";',
      "redis/a.ts": 'import type { B } from "../time/b.ts";',
      "redis/a.test.ts": 'import { all } from "../index.ts";',
      "time/b.ts": "",
    });
    expect(roomsIn(folder)).toEqual([
      { name: "index.ts", purpose: "public names", level: 2, uses: ["redis"] },
      { name: "redis", purpose: "commands, batches, Lua", level: 1, uses: ["time"] },
      { name: "time", purpose: "clocks, timers", level: 0, uses: [] },
    ]);
  });
});
