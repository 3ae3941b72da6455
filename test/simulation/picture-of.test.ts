import { beforeAll, describe, expect, test } from "vitest";
import type { Picture } from "../../packages/simulation/src/pictures/picture.ts";
import { pictureOf } from "../../packages/simulation/src/pictures/picture-of.ts";
import { record } from "../../packages/simulation/src/pictures/recording.ts";
import type { Plan } from "../../packages/simulation/src/plan/plan.ts";
import { twoHolders } from "./two-holders.ts";

async function pictureFrom(plan: Plan): Promise<Picture> {
  return pictureOf(await record(plan));
}

describe("two holders, drawn", () => {
  let picture: Picture;
  beforeAll(async () => {
    picture = await pictureFrom(twoHolders);
  });

  test("the overlap is between the first lock and the second, while both clients observe that they hold", () => {
    expect(picture.overlaps).toHaveLength(1);
    const { holds, from, until } = picture.overlaps[0]!;
    const [first, second] = holds.map((index) => picture.holds[index]!);
    expect([first?.client, second?.client]).toEqual([0, 1]);
    expect(from).toBe(second?.from);
    expect(until).toBe(first?.beliefs.at(-1)?.[1]);
  });

  test("the keys of fast masters expire before the end of the validity, those of the others after it", () => {
    const belief = picture.holds[0]!.beliefs.at(-1)![1];
    const expiries = picture.masters.map(({ keys }) => keys.find(([, client]) => client === 0)!);
    expect(expiries.map(([, , , , until]) => until < belief)).toEqual([true, true, true, false, false]);
    expect(expiries.map(([, , , , , , end]) => end)).toEqual(Array(5).fill("expired"));
  });

  test("an expired key was gone when the next was set", () => {
    for (const { keys } of picture.masters) {
      const ofFirst = keys.filter(([resource]) => resource === 0);
      for (const [index, key] of ofFirst.entries())
        expect(ofFirst[index + 1]?.[3] ?? key[4]).toBeGreaterThanOrEqual(key[4]);
    }
  });

  test("clocks, pauses and faults are where the plan has them", () => {
    expect(picture.masters[0]?.clock).toHaveLength(1);
    expect(picture.masters[0]?.clock[0]?.slice(2, 3)).toEqual([0]);
    expect(picture.masters[3]?.clock.map(([from, , offset]) => [from, offset])).toEqual([
      [0, 60],
      [1_700_000, -140],
    ]);
    expect(picture.clients[0]?.pauses).toEqual([[400_000, 520_000, "frozen"]]);
    expect(picture.masters[4]?.pauses).toEqual([[1_500_000, 2_000_000, "down"]]);
    expect(picture.clients[2]?.pauses.map(([, , how]) => how)).toContain("suspended");
    expect(picture.faults.map(({ words }) => words)).toEqual([
      "frozen for 120 ms: client-0",
      "lost power, down for 500 ms: master-4",
      "wall clock set by -200 ms: masters 2, 3",
      "suspended for 300 ms: client-2",
    ]);
  });

  test("every message is sent and received in this order, and the votes of the first lock are among them", () => {
    for (const [, , sent, ran, heard] of picture.messages) {
      if (ran >= 0) expect(ran).toBeGreaterThan(sent);
      if (heard >= 0) expect(heard).toBeGreaterThan(ran);
    }
    const votes = picture.messages.filter((message) => message[8] === picture.holds[0]?.token);
    expect(votes.slice(0, 5).map((message) => picture.texts[message[7]])).toEqual(Array(5).fill("OK"));
    // Without a queue a token has no round at its end.
    expect(picture.texts[votes[0]![6]]).toMatch(/^SET resource-0 \w{6}… NX PX 1000$/);
  });

  test("each violation appears once, the two holders first", () => {
    expect(picture.violations[0]?.kind).toBe("belief");
    const texts = picture.violations.map(({ kind, detail }) => `${kind} ${detail}`);
    expect(new Set(texts).size).toBe(texts.length);
  });
});
