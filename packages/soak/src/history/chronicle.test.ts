import { expect, test } from "vitest";
import { hotKey } from "../terms.ts";
import { Chronicle } from "./chronicle.ts";
import type { Hold } from "./history.ts";

const hold: Hold = {
  id: "w1.1:1/k",
  lock: "w1.1:1",
  worker: "w1.1",
  key: "k",
  grantedAt: 10,
  believedUntil: 1000,
  stoodStill: 0,
  reserve: 17,
};

test("what a killed holder believed counts up to when it was last heard of: it may have released since", async () => {
  const chronicle = new Chronicle();
  chronicle.heard(hold, 10);
  chronicle.wrote({ hold: hold.id, key: "k", readAt: 12, base: 0, value: 1, at: 14, accepted: true });
  const over = chronicle.untilEnded(hold.id);
  chronicle.died("another");
  expect(chronicle.history.holds[0]!.believedUntil).toBe(1000);
  chronicle.died("w1.1");
  expect(chronicle.history.holds[0]!.believedUntil).toBe(12);
  await over;
});

test("what a holder reported before it was killed stands", async () => {
  const chronicle = new Chronicle();
  chronicle.heard(hold, 10);
  chronicle.ended({ ...hold, releasedAt: 20 });
  chronicle.died("w1.1");
  expect(chronicle.history.holds).toEqual([{ ...hold, releasedAt: 20 }]);
  await chronicle.untilEnded(hold.id);
});

test("a lock of several keys is one grant, heard of often or once", () => {
  const chronicle = new Chronicle();
  chronicle.heard(hold, 10);
  chronicle.heard(hold, 11);
  chronicle.heard({ ...hold, id: "w1.1:1/l", key: "l" }, 12);
  chronicle.ended({ ...hold, id: "w1.1:2/hot", lock: "w1.1:2", key: hotKey });
  expect(chronicle.grants).toBe(2);
  expect(chronicle.hotGrants).toBe(1);
});
