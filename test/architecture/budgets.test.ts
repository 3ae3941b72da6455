import { describe, expect, it } from "vitest";
import {
  type Budgets,
  budgets,
  entryFaultsOf,
  faultsOf,
  lines,
  risesFrom,
  slack,
  tableOf,
  versions,
} from "./budgets.ts";
import { codeLinesOf, luaLinesOf } from "./code-lines.ts";

describe("code lines", () => {
  it("are what is neither comment, nor blank, nor import", () => {
    const script = [
      'import { a } from "./a.ts";',
      "import {",
      "  b,",
      '} from "./b.ts";',
      "",
      "// a comment",
      'const url = "https://no-comment"; // and one behind code',
      "/** text",
      " * over lines */",
      `const text = \`first \${\`inner // text\`}`,
      "/* second */`;",
    ].join("\n");
    expect(codeLinesOf(script)).toBe(3);
  });

  it("are counted in Lua as well", () => {
    expect(
      luaLinesOf('-- a comment\n\nlocal a = 1 -- behind\n--[[ long\n one ]]\n  -- @include "b"\nreturn a\n'),
    ).toBe(2);
  });
});

function counted(more: Readonly<Record<string, number>> = {}): Map<string, number> {
  return new Map(Object.entries({ "client/redis": 1000, "client/protocol": 500, tests: 2000, ...more }));
}

describe("the budget of each room", () => {
  const given: Budgets = {
    rooms: { "client/redis": 1000, "client/protocol": 500, tests: 2000 },
    features: [],
    moves: [],
  };
  it("is kept", () => {
    expect(faultsOf(lines(), budgets())).toEqual([]);
  });

  it("is its code lines exactly, or up to 49 more", () => {
    expect(faultsOf(counted(), given)).toEqual([]);
    expect(faultsOf(counted({ tests: 2000 - slack + 1 }), given)).toEqual([]);
  });

  it("fails above, and 50 lines below", () => {
    expect(faultsOf(counted({ "client/redis": 1050 }), given)).toEqual([
      expect.stringContaining("client/redis has 1050"),
    ]);
    expect(faultsOf(counted({ "client/redis": 950 }), given)).toEqual([expect.stringContaining("lower it")]);
  });

  it("fails in a room that is new, and in one that is gone", () => {
    expect(faultsOf(counted({ "client/new": 1 }), given)).toHaveLength(1);
    expect(faultsOf(counted({ "client/protocol": 0 }), given)).toHaveLength(1);
  });

  it("follows a feature and a move", () => {
    const moves = [{ move: "the wire", rooms: { "client/redis": -100, "client/wire": 90 } }];
    expect(faultsOf(counted({ "client/redis": 900, "client/wire": 90 }), { ...given, moves })).toEqual([]);
    const price = { client: 30, tests: 100, simulator: 0 };
    const features = [
      { feature: "gaps", request: "https://a.test/1", price, rooms: { "client/redis": 30, tests: 90 } },
    ];
    expect(faultsOf(counted({ "client/redis": 1030, tests: 2090 }), { ...given, features })).toEqual([]);
  });

  it("is printed beside what is there", () => {
    expect(tableOf(counted(), given).split("\n")).toContain("client/redis              1000    1000");
  });
});

function withEntries(entries: Partial<Budgets>): Budgets {
  return {
    rooms: { "client/redis": 100 },
    features: [],
    moves: [],
    ...entries,
  };
}

describe("an entry of budgets.json", () => {
  const price = { client: 10, tests: 20, simulator: 0 };
  const feature = {
    feature: "gaps",
    request: "https://a.test/1",
    price,
    rooms: { "client/redis": 10, tests: 20 },
  };
  it("is right in the file itself", () => {
    expect(entryFaultsOf(budgets())).toEqual([]);
  });

  it("names a public request, and takes no more than it names", () => {
    expect(entryFaultsOf(withEntries({ features: [feature] }))).toEqual([]);
    expect(entryFaultsOf(withEntries({ features: [{ ...feature, request: "" }] }))).toHaveLength(1);
    const dear = { ...feature, rooms: { "client/redis": 11, tests: 20, simulation: 1 } };
    expect(entryFaultsOf(withEntries({ features: [dear] }))).toHaveLength(2);
  });

  it("adds nothing if it is a move", () => {
    expect(
      entryFaultsOf(withEntries({ moves: [{ move: "m", rooms: { "client/a": -5, "client/b": 6 } }] })),
    ).toHaveLength(1);
  });

  it("is the only way to a larger number: from version to version they fall", () => {
    const all = versions();
    const rises = all.slice(1).flatMap((version, index) => risesFrom(all[index]!, version));
    expect(rises).toEqual([]);
  });

  it("is seen in a rise of any other kind", () => {
    const before = withEntries({ features: [feature] });
    expect(risesFrom(before, { ...before, features: [feature, { ...feature, feature: "more" }] })).toEqual(
      [],
    );
    expect(risesFrom(before, { ...before, rooms: { "client/redis": 101 } })).toHaveLength(1);
    expect(risesFrom(before, { ...before, rooms: { ...before.rooms, "client/new": 1 } })).toHaveLength(1);
    expect(
      risesFrom(before, { ...before, features: [{ ...feature, rooms: { "client/redis": 10, tests: 21 } }] }),
    ).toHaveLength(1);
  });
});
