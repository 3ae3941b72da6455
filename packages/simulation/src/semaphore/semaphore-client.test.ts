import { expect, test } from "vitest";
import { promisedPlan } from "../index.ts";
import { theSemaphore } from "./semaphore-client.ts";

test("a call with a backoff has the time of its backoff", () => {
  const { settings } = promisedPlan(787);
  const plain = theSemaphore.boundsFor!({ ...settings, retryCount: 2, retryDelay: 0 });
  const backoff = { initial: 1000, maximum: 1500 };
  const growing = theSemaphore.boundsFor!({ ...settings, retryCount: 2, retryDelay: 0, backoff } as never);
  expect(growing.acquire - plain.acquire).toBe(2500);
});
