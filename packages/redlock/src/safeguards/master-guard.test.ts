import { expect, test } from "vitest";
import { NodeError } from "../errors.ts";
import type { Fault, GuardState, LockNode, Operation } from "../protocol/node.ts";
import { VirtualMachine, VirtualTime } from "../virtual-time.test.ts";
import { MasterGuard } from "./master-guard.ts";

const state: GuardState = {
  maxTtl: 10_000,
  quarantine: 0,
  epoch: 7,
  isCurrent: true,
  isReady: true,
  floor: 0,
};

function setting() {
  const time = new VirtualTime();
  const runtime = new VirtualMachine(time);
  const readAt: number[] = [];
  let answer: GuardState | Fault = state;
  const node = {
    ask: ({ onAnswer }: Operation, index: number) => {
      readAt.push(time.now());
      onAnswer(index, answer);
    },
  };
  const coordinator = {
    runtime,
    maxTtl: 10_000,
    isAgreed: () => true,
    compare: () => {},
    restoreCounters: () => Promise.resolve(true),
  };
  const guard = new MasterGuard(node as unknown as LockNode, coordinator, false);
  const reply = (reason: string | undefined): void => {
    const error = new NodeError("m", reason ?? "OTHER", "");
    answer = reason === undefined ? state : { vote: "none", error, sent: true };
  };
  return { time, runtime, guard, readAt, reply };
}

test("a reading that fails is repeated, at intervals that double up to a tenth of maxTtl", async () => {
  const { time, runtime, guard, readAt, reply } = setting();
  reply("BUSY");
  guard.readEpoch();
  await time.advance(4000);
  expect(readAt).toEqual([0, 100, 300, 700, 1500, 2500, 3500]);
  reply(undefined);
  await time.advance(4000);
  expect(readAt.at(-1)).toBe(4500);
  expect(readAt).toHaveLength(8);
  expect(runtime.timers.size).toBe(0);
});

test("a reading on a lost connection is not repeated: another one follows when it is back", async () => {
  const { time, runtime, guard, readAt, reply } = setting();
  reply("UNREACHABLE");
  guard.readEpoch();
  await time.advance(4000);
  expect(readAt).toEqual([0]);
  expect(runtime.timers.size).toBe(0);
});
