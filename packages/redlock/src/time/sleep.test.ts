import { expect, test } from "vitest";
import { Latch } from "./cancellation.ts";
import { maxTimerDelay, type Runtime } from "./runtime.ts";
import { sleep } from "./sleep.ts";
import { systemRuntime } from "./system.ts";

test("a sleep too long for any timer is limited to the longest", async () => {
  const delays: number[] = [];
  const setTimer: Runtime["setTimer"] = (callback, delay) => {
    delays.push(delay);
    callback();
    return { cancel() {}, unref() {} };
  };
  await sleep({ ...systemRuntime, setTimer }, Number.POSITIVE_INFINITY, new Latch());
  expect(delays).toEqual([maxTimerDelay]);
});
