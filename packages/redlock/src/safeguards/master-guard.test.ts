import { expect, test } from "vitest";
import { NodeError } from "../errors.ts";
import type { Fault, GuardState, LockNode, Question, Sink } from "../protocol/node.ts";
import { VirtualMachine, VirtualTime } from "../virtual-time.test.ts";
import { MasterGuard } from "./master-guard.ts";

const state: GuardState = {
  is: "guard",
  maxTtl: 10_000,
  quarantine: 0,
  epoch: 7,
  isCurrent: true,
  isReady: true,
  floor: 0,
};

function faultOf(reason: string): Fault {
  return { is: "fault", error: new NodeError("m", reason, ""), sent: true };
}

function setting() {
  const time = new VirtualTime();
  const runtime = new VirtualMachine(time);
  const readAt: number[] = [];
  let answer: GuardState | Fault | "none yet" | "thrown" = state;
  let answerNow: ((answer: GuardState | Fault) => void) | undefined;
  const node = {
    name: "m",
    ask: (_: Question, place: number, sink: Sink) => {
      readAt.push(time.now());
      answerNow = (one) => sink.answered(place, one);
      if (answer === "thrown") throw new Error("oops");
      if (answer !== "none yet") sink.answered(place, answer);
    },
  };
  const coordinator = {
    runtime,
    maxTtl: 10_000,
    isAgreed: true,
    compare: () => {},
    restoreCounters: () => Promise.resolve(true),
  };
  const guard = new MasterGuard(node as unknown as LockNode, coordinator, false);
  const reply = (reason: string | undefined): void => {
    answer = reason === undefined ? state : faultOf(reason);
  };
  const hang = (): void => {
    answer = "none yet";
  };
  const failWith = (): void => {
    answer = "thrown";
  };
  return {
    time,
    runtime,
    guard,
    readAt,
    reply,
    hang,
    failWith,
    lose: () => answerNow!(faultOf("UNREACHABLE")),
  };
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

test("a reading that is lost with a silent connection is repeated: the one that was due on the next connection found it under way", async () => {
  const { time, runtime, guard, readAt, reply, hang, lose } = setting();
  hang();
  guard.readEpoch();
  await time.advance(3000);
  guard.forgetConnection();
  guard.readEpoch();
  lose();
  reply(undefined);
  await time.advance(1000);
  expect(readAt).toEqual([0, 3100]);
  expect(runtime.timers.size).toBe(0);
});

test("a reading by a node that throws is repeated", async () => {
  const { time, guard, readAt, reply, failWith } = setting();
  failWith();
  guard.readEpoch();
  reply(undefined);
  await time.advance(1000);
  expect(readAt).toEqual([0, 100]);
});

test("a clock that has stepped puts the master into quarantine once, and once more in the database that a client is switched to", () => {
  const { guard, readAt } = setting();
  guard.distrust();
  guard.distrust();
  expect(readAt).toHaveLength(1);
  guard.forget();
  guard.distrust();
  expect(readAt).toHaveLength(2);
});
