import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { InvalidArgumentError } from "../errors.ts";
import { checkName, resourceList, whyReserved } from "./resources.ts";

const junk = fc.oneof(
  fc.anything({ withBigInt: true, withDate: true, withNullPrototype: true, withSparseArray: true }),
  fc.constantFrom(Symbol("s"), Number.NaN, () => 1, Object.create(null), new Map(), new Proxy({}, {})),
);

/** Returns the error of `act`, if any: only an InvalidArgumentError that names the allowed values is accepted. */
function refusalOf(act: () => unknown): InvalidArgumentError | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect((error as Error).message).toMatch(/ must | may be named once/);
    return error as InvalidArgumentError;
  }
}

describe("resources", () => {
  test("are one name or several, and the list is a copy", () => {
    const given = ["a", "b"];
    const list = resourceList(given);
    given.push("c");
    expect(list).toEqual(["a", "b"]);
    expect(resourceList("invoice:42")).toEqual(["invoice:42"]);
    expect(resourceList("\ud83d\ude00")).toEqual(["\ud83d\ude00"]);
  });

  test.each([
    [[], "resources must name at least one resource, but is empty"],
    ["", "a resource must be a non-empty string, but one is an empty string"],
    [["a", 5], "a resource must be a non-empty string, but one is number 5"],
    [[["a"], "b"], "a resource must be a non-empty string, but one is object an array"],
    [["a", "b", "a"], 'each resource may be named once, but "a" is named twice'],
    ["\ud800", 'a resource must be well-formed Unicode, but "\\ud800" has a lone surrogate'],
    [[`${"x".repeat(200)}\ud800`], '\\ud800" has a lone surrogate'],
  ])("%j is refused", (resources, message) => {
    expect(refusalOf(() => resourceList(resources))?.message).toContain(message);
  });

  test("any junk is refused with the allowed values, or is a list of different names", () => {
    fc.assert(
      fc.property(fc.oneof(junk, fc.array(junk), fc.array(fc.string())), (resources) => {
        refusalOf(() => {
          const list = resourceList(resources);
          expect(list.length).toBeGreaterThan(0);
          expect(new Set(list).size).toBe(list.length);
          for (const name of list) expect(name.length).toBeGreaterThan(0);
        });
      }),
      { numRuns: 200 },
    );
  });
});

describe("the library's own keys", () => {
  test.each([
    [["quorlock:guard"], "", true],
    [["a", "quorlock:rw:{a}:write"], "", true],
    [["quorlock:a"], "my:", true],
    [["guard"], "quorlock:", true],
    [["lock:guard"], "quor", true],
    [["a"], "quor", false],
    [["quorlock:"], "", true],
    [["Quorlock:a", "quorlock", "quorlocks:a", "my:quorlock:a", " quorlock:a"], "", false],
    [["quorlock"], "my:", false],
  ])("%j with the keyPrefix %j are refused: %s", (resources, keyPrefix, isRefused) => {
    expect(whyReserved(resources, keyPrefix) !== undefined).toBe(isRefused);
  });

  test("are refused as names of a Semaphore or ReadWriteLock", () => {
    for (const name of ["quorlock:a", "", 5, undefined, null, "\ud800"]) {
      expect(refusalOf(() => checkName("semaphore", name))?.message).toContain("name of a semaphore must");
    }
    expect(refusalOf(() => checkName("semaphore", "a\ud800"))?.message).toContain('but "a\\ud800" has');
    expect(refusalOf(() => checkName("semaphore", "{quorlock:a}"))).toBeUndefined();
  });
});

test("the check of 50,000 names reads each of them once", () => {
  const names = Array.from({ length: 50_000 }, (_, index) => `name:${index}`);
  const begun = performance.now();
  expect(resourceList(names)).toEqual(names);
  // Some 10 ms. Each name compared with all others takes 8 s and more.
  expect(performance.now() - begun).toBeLessThan(2000);
  expect(refusalOf(() => resourceList([...names, "name:7"]))?.message).toContain('"name:7" is named twice');
});
