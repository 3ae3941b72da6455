import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { picture, pictureOf, roomsIn } from "./rooms.ts";

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

describe("the picture of the rooms", () => {
  it("is the one in docs/rooms.svg; `pnpm rooms` draws it anew", () => {
    expect(readFileSync(picture, "utf8")).toBe(pictureOf(roomsIn()));
  });

  it("has each room above those that it imports from, and no arrow that follows from others", () => {
    const folder = sourcesOf({
      "index.ts": 'export { a } from "./redis/a.ts";\nimport type { B } from "./time/b.ts";',
      "redis/a.ts": 'import type { B } from "../time/b.ts";',
      "redis/a.test.ts": 'import { all } from "../index.ts";',
      "time/b.ts": "",
    });
    expect(roomsIn(folder)).toEqual([
      { name: "index.ts", level: 2, uses: ["redis"] },
      { name: "redis", level: 1, uses: ["time"] },
      { name: "time", level: 0, uses: [] },
    ]);
  });

  it("is refused where imports make a circle", () => {
    const folder = sourcesOf({
      "redis/a.ts": 'import type { B } from "../time/b.ts";',
      "time/b.ts": 'import { a } from "../redis/a.ts";',
    });
    expect(() => roomsIn(folder)).toThrow("a circle: redis > time > redis");
  });
});
