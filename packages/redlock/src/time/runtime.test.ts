import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { masked, Tokens, tagIn } from "../protocol/token.ts";
import { maxTimerDelay, type Runtime, randomFraction } from "./runtime.ts";
import { systemRuntime } from "./system.ts";

function bytes(...given: readonly number[]): Runtime {
  return { ...systemRuntime, randomBytes: () => Uint8Array.from(given) };
}

/** Timers that keep this process alive. */
function keeping(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === "Timeout").length;
}

describe("a random fraction", () => {
  test("uses every bit", () => {
    const byte = fc.integer({ min: 0, max: 255 });
    fc.assert(
      fc.property(fc.tuple(byte, byte, byte, byte), (given) => {
        const integer = Buffer.from(given).readUInt32BE();
        expect(randomFraction(bytes(...given))).toBe(integer / 2 ** 32);
      }),
    );
  });
});

describe("a token", () => {
  test("is 32 hexadecimal characters of 128 random bits: the tag, and 96 bits into which the place of the tag is mixed", () => {
    const first = new Tokens(bytes(...Array.from({ length: 16 }, (_, index) => index * 17)));
    expect(first.next()).toBe("00112233444444448899aabbccddeeff");
    const other = new Tokens(bytes(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    expect(other.next()).toBe("000102030404040408090a0b0c0d0e0f");
  });

  test("keeps the tag of the first one, and any of the 128 bits of its own draw makes it another token", () => {
    const draws = [0, ...Array.from({ length: 16 }, (_, place) => place + 1)].map((place) =>
      Uint8Array.from({ length: 16 }, (_, index) => (index + 1 === place ? 1 : 0)),
    );
    const tokens = new Tokens({ ...systemRuntime, randomBytes: () => draws.shift()! });
    expect(tokens.tag).toBe("00000000");
    const drawn = Array.from({ length: 16 }, () => tokens.next());
    expect(drawn.every((token) => token.startsWith("00000000"))).toBe(true);
    // (A bit of the tag's place and its counterpart make the same token: two draws differ in both or in neither by chance.)
    expect(drawn).not.toContain("0".repeat(32));
    expect(new Set(drawn).size).toBe(12);
  });

  test("is never the same twice, from the system's randomness", () => {
    const source = new Tokens(systemRuntime);
    const tokens = Array.from({ length: 1000 }, () => source.next());
    expect(new Set(tokens).size).toBe(1000);
    for (const token of tokens) expect(token).toMatch(/^[0-9a-f]{32}$/);
    // Each of the 24 places behind the tag takes each of the 16 values.
    for (let place = 8; place < 32; place += 1) {
      expect(new Set(tokens.map((token) => token[place])).size).toBe(16);
    }
    expect(new Set(tokens.map((token) => token.slice(0, 8)))).toEqual(new Set([source.tag]));
    const tags = Array.from({ length: 100 }, () => new Tokens(systemRuntime).tag);
    expect(new Set(tags).size).toBe(100);
  });

  test("names its owner by the tag where it is masked, and a token of another form names none", () => {
    const tokens = new Tokens(systemRuntime);
    expect([tagIn(masked(tokens.next())), tagIn(masked(`${tokens.next()}.1`))]).toEqual([
      tokens.tag,
      tokens.tag,
    ]);
    const foreign = [
      "",
      "-",
      "(no string)",
      "readers.0",
      "writers",
      "12345678",
      "f".repeat(31),
      "F".repeat(32),
    ];
    const others = [...foreign, `${"f".repeat(32)}.`, "0123-4567-89ab-cdef-0123-4567-89ab"];
    expect(others.map((token) => tagIn(masked(token)))).toEqual(others.map(() => undefined));
    expect(tagIn(undefined)).toBeUndefined();
  });
});

describe("the system's runtime", () => {
  test("a timer keeps the process alive until it is unref'd", () => {
    const before = keeping();
    const timer = systemRuntime.setTimer(() => {}, 60_000);
    expect(keeping()).toBe(before + 1);
    timer.unref();
    expect(keeping()).toBe(before);
    timer.cancel();
  });

  test("supports the longest delay", () => {
    const warnings: unknown[] = [];
    const warn = (warning: Error) => warnings.push(warning.name);
    process.on("warning", warn);
    systemRuntime.setTimer(() => {}, maxTimerDelay).cancel();
    process.off("warning", warn);
    expect(warnings).toEqual([]);
  });
});
