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
  validUntil: 1000,
  stoodStill: 0,
  reserve: 17,
};

test("the interval of a killed holder ends with its last report: it may have released since", async () => {
  const chronicle = new Chronicle();
  chronicle.reported(hold, 10);
  chronicle.wrote({ hold: hold.id, key: "k", readAt: 12, base: 0, value: 1, at: 14, accepted: true });
  const over = chronicle.untilEnded(hold.id);
  chronicle.died("another");
  expect(chronicle.history.holds[0]!.validUntil).toBe(1000);
  chronicle.died("w1.1");
  expect(chronicle.history.holds[0]!.validUntil).toBe(12);
  await over;
});

test("reports of a holder before its death count", async () => {
  const chronicle = new Chronicle();
  chronicle.reported(hold, 10);
  chronicle.ended({ ...hold, releasedAt: 20 });
  chronicle.died("w1.1");
  expect(chronicle.history.holds).toEqual([{ ...hold, releasedAt: 20 }]);
  await chronicle.untilEnded(hold.id);
});

test("a lock of several keys is one grant, however often it is reported", () => {
  const chronicle = new Chronicle();
  chronicle.reported(hold, 10);
  chronicle.reported(hold, 11);
  chronicle.reported({ ...hold, id: "w1.1:1/l", key: "l" }, 12);
  chronicle.ended({ ...hold, id: "w1.1:2/hot", lock: "w1.1:2", key: hotKey });
  expect(chronicle.grants).toBe(2);
  expect(chronicle.hotGrants).toBe(1);
});
