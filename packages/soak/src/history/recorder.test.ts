import { expect, test } from "vitest";
import { hotKey } from "../terms.ts";
import type { Hold } from "./history.ts";
import { Recorder } from "./recorder.ts";

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
  const recorder = new Recorder();
  recorder.reported(hold, 10);
  recorder.wrote({ hold: hold.id, key: "k", readAt: 12, base: 0, value: 1, at: 14, accepted: true });
  const over = recorder.untilEnded(hold.id);
  recorder.died("another");
  expect(recorder.history.holds[0]!.validUntil).toBe(1000);
  recorder.died("w1.1");
  expect(recorder.history.holds[0]!.validUntil).toBe(12);
  await over;
});

test("reports of a holder before its death count", async () => {
  const recorder = new Recorder();
  recorder.reported(hold, 10);
  recorder.ended({ ...hold, releasedAt: 20 });
  recorder.died("w1.1");
  expect(recorder.history.holds).toEqual([{ ...hold, releasedAt: 20 }]);
  await recorder.untilEnded(hold.id);
});

test("a lock of several keys is one grant, however often it is reported", () => {
  const recorder = new Recorder();
  recorder.reported(hold, 10);
  recorder.reported(hold, 11);
  recorder.reported({ ...hold, id: "w1.1:1/l", key: "l" }, 12);
  recorder.ended({ ...hold, id: "w1.1:2/hot", lock: "w1.1:2", key: hotKey });
  expect(recorder.grants).toBe(2);
  expect(recorder.hotGrants).toBe(1);
});
