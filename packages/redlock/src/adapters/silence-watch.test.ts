import { describe, expect, test } from "vitest";
import { VirtualMachine, VirtualTime } from "../virtual-time.test.ts";
import { SilenceWatch } from "./silence-watch.ts";

const broken = new Error("the connection broke");

function setting() {
  const time = new VirtualTime();
  const machine = new VirtualMachine(time);
  /** When the connection was found silent, ms. */
  const silences: number[] = [];
  const answers: number[] = [];
  const watch = new SilenceWatch(machine, {
    onSilence: () => void silences.push(time.now()),
    onAnswer: () => void answers.push(time.now()),
    isErrorReply: (error) => error !== broken,
  });
  /** Sends a command that is answered after `delay` ms. */
  const exchange = async (delay: number): Promise<void> => {
    watch.onSent();
    await time.advance(delay);
    watch.onSettled(undefined);
  };
  return { time, machine, watch, silences, answers, exchange };
}

describe("a connection counts as silent", () => {
  test("a second after a command, without a reply to any command", async () => {
    const { time, watch, silences } = setting();
    watch.onSent();
    await time.advance(999);
    expect(silences).toEqual([]);
    await time.advance(1);
    expect(silences).toEqual([1000]);
  });

  test("after 2, 4, 8 and 16 seconds again, and every 16 seconds from then on", async () => {
    const { time, watch, silences } = setting();
    watch.onSent();
    await time.advance(63_000);
    expect(silences).toEqual([1000, 3000, 7000, 15_000, 31_000, 47_000, 63_000]);
  });

  test("not while other commands are answered", async () => {
    const { watch, silences, exchange } = setting();
    watch.onSent();
    for (let count = 0; count < 20; count += 1) await exchange(500);
    expect(silences).toEqual([]);
  });

  test("not while it is idle, and then no timer is set", async () => {
    const { time, machine, silences, exchange } = setting();
    for (let count = 0; count < 5; count += 1) await exchange(10);
    await time.advance(60_000);
    expect(silences).toEqual([]);
    expect(machine.timers.size).toBe(0);
  });
});

describe("after a silence", () => {
  test("a reply ends it once, and the next one is found after a second again", async () => {
    const { time, watch, silences, answers } = setting();
    watch.onSent();
    await time.advance(8000);
    expect(silences).toEqual([1000, 3000, 7000]);
    watch.onSettled(undefined);
    expect(answers).toEqual([8000]);
    await time.advance(2000);
    watch.onSent();
    await time.advance(1000);
    expect(silences.slice(3)).toEqual([11_000]);
  });

  test.each([
    ["a reply", undefined],
    ["an error reply", new Error("ERR unknown command")],
  ])("%s starts a period of a second for the commands that still wait", async (_, error) => {
    const { time, watch, silences } = setting();
    watch.onSent();
    watch.onSent();
    await time.advance(8000);
    watch.onSettled(error);
    await time.advance(1000);
    expect(silences.slice(3)).toEqual([9000]);
  });

  test("a command that failed here ends it, but the next one is found no sooner", async () => {
    const { time, watch, silences, answers } = setting();
    watch.onSent();
    await time.advance(3500);
    expect(silences).toEqual([1000, 3000]);
    watch.onSettled(broken);
    expect(answers).toEqual([3500]);
    watch.onSent();
    await time.advance(8000);
    // The period that began at 3000 ms had a result, so the whole next one of 4 s passes before it is silent again.
    expect(silences.slice(2)).toEqual([11_000]);
  });
});
