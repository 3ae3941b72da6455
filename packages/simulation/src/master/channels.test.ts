import { describe, expect, test } from "vitest";
import { Channels } from "./channels.ts";
import { matchesGlob } from "./glob.ts";

/** A subscriber, and what it has heard. */
function listener() {
  const heard: string[] = [];
  const push = (channel: string, message: string, pattern?: string): void =>
    void heard.push([pattern ?? "-", channel, message].join(" "));
  return { heard, push };
}

describe("a pattern subscriber", () => {
  test("receives nothing after it has unsubscribed, or its connection has ended", () => {
    const channels = new Channels();
    const [one, other] = [listener(), listener()];
    channels.subscribe("a*", one, "pattern");
    channels.unsubscribe("a*", one, "pattern");
    channels.subscribe("a*", other, "pattern");
    channels.forget(other);
    expect(channels.publish("ab", "1")).toBe(0);
  });
});

test.each([
  ["*", "quorlock:inbox:1", true],
  ["*", "", true],
  ["quorlock:*:?", "quorlock:inbox:1", true],
  ["quorlock:*:?", "quorlock:inbox:12", false],
  ["[a-c]x", "bx", true],
  ["[c-a]x", "bx", true],
  ["[^a-c]x", "bx", false],
  ["[]x", "bx", false],
  ["a.c", "abc", false],
  ["a\\*", "a*", true],
  ["a\\*", "ab", false],
  ["a[b", "ab", true],
  ["a", "aa", false],
  ["*", "line\nfeed", true],
])("%j matches %j: %s", (pattern, text, does) => {
  expect(matchesGlob(pattern, text)).toBe(does);
});
