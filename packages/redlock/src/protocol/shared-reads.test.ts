import { expect, test } from "vitest";
import { maxUnanswered, SharedReads } from "./shared-reads.ts";

test("reads of one key share an answer, and a master that hangs is asked no more than so many", () => {
  const reads = new SharedReads();
  let sent = 0;
  const send = (): Promise<never> => {
    sent += 1;
    return new Promise(() => {});
  };
  for (let count = 0; count < maxUnanswered; count += 1) {
    const reply = reads.read(0, `r${count}`, send);
    expect(reads.read(0, `r${count}`, send)).toBe(reply);
  }
  expect([reads.read(0, "another", send), sent]).toEqual([undefined, maxUnanswered]);
});
