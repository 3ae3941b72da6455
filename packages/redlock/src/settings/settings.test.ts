import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { InvalidArgumentError } from "../errors.ts";
import { validityLoss } from "../time/lease-clock.ts";
import { checkOptions } from "./options.ts";
import { shown } from "./ranges.ts";
import { checkName, resourceList, whyReserved } from "./resources.ts";
import {
  attemptsAllowed,
  checkExtension,
  checkTtl,
  defaultSettings,
  nodeTimeoutFor,
  type Settings,
  settingNames,
  settingsFrom,
} from "./settings.ts";

/** Arbitrary values of a caller without types. */
const junk = fc.oneof(
  fc.anything({ withBigInt: true, withDate: true, withNullPrototype: true, withSparseArray: true }),
  fc.constantFrom(
    Symbol("s"),
    Number.NaN,
    Number.POSITIVE_INFINITY,
    -0,
    () => 1,
    Object.create(null),
    new Map(),
    new Proxy({}, {}),
  ),
);
/** Returns the error of `act`, if any: only an InvalidArgumentError that names the allowed values is accepted. */
function refusalOf(act: () => unknown): InvalidArgumentError | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidArgumentError);
    const { message, code } = error as InvalidArgumentError;
    expect(message).toMatch(/ must | needs | may be named once/);
    expect(message).not.toMatch(/must be undefined/);
    expect(code).toBe("INVALID_ARGUMENT");
    return error as InvalidArgumentError;
  }
}

function withSettings(overrides: Partial<Settings<undefined>>): Settings {
  checkOptions(overrides, "extend, detach and release");
  return settingsFrom(defaultSettings, overrides);
}

describe("settings", () => {
  test("have the defaults of redlock 5", () => {
    expect(defaultSettings).toEqual({
      driftFactor: 0.01,
      retryCount: 10,
      retryDelay: 200,
      retryJitter: 100,
      automaticExtensionThreshold: 500,
      minimumValidity: 0,
    });
    expect(Object.isFrozen(defaultSettings)).toBe(true);
  });

  test("null overrides nothing, and an infinite retryCount is no limit, as in redlock 5", () => {
    for (const name of settingNames) expect(withSettings({ [name]: null })).toEqual(defaultSettings);
    expect(withSettings({ retryCount: Number.POSITIVE_INFINITY }).retryCount).toBe(-1);
  });

  test("override one another, and undefined overrides nothing", () => {
    const base = withSettings({ retryCount: 3, nodeTimeout: 20 });
    const settings = settingsFrom(base, {
      retryCount: undefined,
      retryDelay: 5,
      nodeTimeout: undefined,
    });
    expect(settings).toEqual({ ...defaultSettings, retryCount: 3, retryDelay: 5, nodeTimeout: 20 });
    expect(base.retryDelay).toBe(200);
  });

  test.each([
    ["driftFactor", [0, 0.01, 0.5], [-0.01, 0.51, Number.NaN, "0.01"]],
    ["retryCount", [-1, 0, 1e9], [-2, 0.5, Number.NEGATIVE_INFINITY, Number.NaN, "3"]],
    ["retryDelay", [0, 0.5, 1e9], [-1, Number.POSITIVE_INFINITY, Number.NaN, "3"]],
    ["retryJitter", [0, 0.5, 1e9], [-1, Number.POSITIVE_INFINITY, Number.NaN]],
    ["automaticExtensionThreshold", [0, 500], [-1, Number.NaN]],
    ["nodeTimeout", [1, 50.5], [0, -1, Number.NaN, Number.POSITIVE_INFINITY]],
    ["waitTimeout", [0, 10_000, Number.POSITIVE_INFINITY], [-1, Number.NaN, "1 s"]],
    ["minimumValidity", [0, 1000], [-1, Number.NaN, Number.POSITIVE_INFINITY]],
    ["maxHoldTime", [1, Number.POSITIVE_INFINITY], [0, -1, Number.NaN]],
    ["backoff", [() => 5], [5, "fixed", {}]],
  ] as const)("%s takes %j and refuses %j", (name, good, bad) => {
    for (const value of good) expect(withSettings({ [name]: value })).toMatchObject({ [name]: value });
    for (const value of bad) {
      const error = refusalOf(() => withSettings({ [name]: value }));
      expect(error?.message).toMatch(new RegExp(`^${name} must be .*, but is `));
      expect(error?.message).toContain(`but is ${shown(value)}`);
    }
  });

  test("any junk is refused with the allowed values, or accepted", () => {
    fc.assert(
      fc.property(fc.constantFrom(...settingNames), junk, (name, value) => {
        const error = refusalOf(() => withSettings({ [name]: value }));
        if (error) expect(error.message).toMatch(new RegExp(`^${name} must be `));
      }),
      { numRuns: 200 },
    );
  });

  test("a member of Object.prototype is not a setting", () => {
    for (const name of ["constructor", "toString", "hasOwnProperty", "valueOf"]) {
      expect(refusalOf(() => settingsFrom(defaultSettings, { [name]: 5 }))).toBeUndefined();
    }
  });
});

describe("a ttl", () => {
  test.each([100, Number.MAX_SAFE_INTEGER])("of %d is accepted", (ttl) => {
    expect(refusalOf(() => checkTtl(ttl, defaultSettings))).toBeUndefined();
  });

  test.each([0, 1.5, 2 ** 53, "1000", undefined, 1000n, Symbol("s")])("of %s is refused", (ttl) => {
    const error = refusalOf(() => checkTtl(ttl, defaultSettings));
    expect(error?.message).toContain("ttl must be a whole number of milliseconds from 1 to 9007199254740991");
    expect(error?.message).toContain(`but is ${shown(ttl)}`);
  });

  test("below the allowance for drift is refused, with both numbers", () => {
    expect(refusalOf(() => checkTtl(1, defaultSettings))?.message).toMatch(/drift.*\b1 ms/);
    expect(refusalOf(() => checkTtl(2, defaultSettings))?.message).toMatch(/drift.*2\.01.* ms/);
    expect(refusalOf(() => checkTtl(3, withSettings({ driftFactor: 0.5, nodeTimeout: 1 })))).toBeDefined();
  });

  test("that leaves no time beside nodeTimeout or minimumValidity is refused, with both numbers", () => {
    const slow = refusalOf(() => checkTtl(1000, withSettings({ nodeTimeout: 990 })));
    expect(slow?.message).toMatch(/^nodeTimeout must be below .*\b990 ms .*\b988\.01 ms/);
    const demanding = refusalOf(() => checkTtl(1000, withSettings({ minimumValidity: 995 })));
    expect(demanding?.message).toMatch(/^minimumValidity must be below .*\b995 ms .*\b988\.01 ms/);
  });

  test("of an extension need not leave a minimumValidity", () => {
    expect(refusalOf(() => checkExtension(1000, withSettings({ minimumValidity: 2000 })))).toBeUndefined();
    expect(refusalOf(() => checkExtension(1000, withSettings({ nodeTimeout: 990 })))).toBeDefined();
  });

  test("that is accepted leaves time to ask and a positive validity", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1e7 }),
        fc.double({ min: 0, max: 0.5, noNaN: true }),
        (ttl, driftFactor) => {
          const settings = withSettings({ driftFactor });
          if (refusalOf(() => checkTtl(ttl, settings))) return;
          expect(nodeTimeoutFor(ttl, settings)).toBeLessThan(ttl - validityLoss(ttl, driftFactor));
        },
      ),
    );
  });
});

describe("the node timeout", () => {
  test.each([
    [100, 25],
    [1000, 50],
    [5000, 250],
    [30_000, 500],
  ])("for a ttl of %d ms is %d ms by default", (ttl, timeout) => {
    expect(nodeTimeoutFor(ttl, defaultSettings)).toBe(timeout);
  });

  test("is the given nodeTimeout", () => {
    expect(nodeTimeoutFor(1000, withSettings({ nodeTimeout: 7 }))).toBe(7);
  });
});

describe("retries", () => {
  test("come after the first attempt, -1 means no limit", () => {
    expect(attemptsAllowed(withSettings({ retryCount: 0 }))).toBe(1);
    expect(attemptsAllowed(defaultSettings)).toBe(11);
    expect(attemptsAllowed(withSettings({ retryCount: -1 }))).toBe(Number.POSITIVE_INFINITY);
  });
});

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
    [["a", 5], "a resource must be a non-empty string, but one is 5"],
    [[["a"], "b"], "a resource must be a non-empty string, but one is an array"],
    [undefined, "a resource must be a non-empty string, but one is undefined"],
    [new Set(["a"]), "a resource must be a non-empty string, but one is a Set"],
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
    [["Quorlock:a", "quorlock", "quorlocks:a", "my:quorlock:a", " quorlock:a"], "", false],
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
