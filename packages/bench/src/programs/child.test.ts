import { expect, test } from "vitest";
import { Child, type Message } from "./child.ts";

test("a program that fails is reported with what it printed", async () => {
  // It cannot reach masters that are not there.
  const task = { contender: "nobody", terms: { urls: [], ttl: 1 }, prefix: "x", count: 1 };
  await using child = Child.start<Message>("worker", task);
  await expect(child.message("ready", 20_000)).rejects.toThrow(/ended before.*no contender "nobody"/s);
});
