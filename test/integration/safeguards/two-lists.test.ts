import type { Lock } from "@quorlock/redlock";
import { beforeEach, describe, expect, it } from "vitest";
import { Fleet, fresh, type Opened } from "../fleet/fleet.ts";

// Two configurations side by side: PROTOCOL 1.13.

const ttl = 60_000;
const fleet = Fleet.forTests(5);
beforeEach(() => fleet.empty());

const quorumOf = (list: readonly number[]): number => Math.floor(list.length / 2) + 1;

function openOn(list: readonly number[]): Promise<Opened> {
  return fleet.openWarm({ on: list.map((index) => fleet.masters[index]!) });
}

/** All ways to choose `count` masters from `list`. */
function choices(list: readonly number[], count: number): readonly (readonly number[])[] {
  if (count === 0) return [[]];
  return list.flatMap((first, index) =>
    choices(list.slice(index + 1), count - 1).map((others) => [first, ...others]),
  );
}

/** The locks of a client with the other list, while a client holds by the votes of each of its quorums in turn. */
async function secondHolders(list: readonly number[], other: readonly number[]): Promise<readonly Lock[]> {
  const holder = await openOn(list);
  const rival = await openOn(other);
  const second: Lock[] = [];
  for (const voters of choices(list, quorumOf(list))) {
    const resource = fresh("listed");
    const others = fleet.masters.filter((_, index) => list.includes(index) && !voters.includes(index));
    await fleet.occupy(resource, others);
    const lock = await holder.redlock.acquire(resource, ttl);
    await fleet.free(resource, others);
    const taken = await rival.redlock.tryAcquire(resource, ttl);
    await lock.verify();
    if (taken) {
      await taken.verify();
      second.push(taken);
    }
  }
  return second;
}

describe("clients with two lists of masters", () => {
  it.each([
    ["three masters, then five", [0, 1, 2], [0, 1, 2, 3, 4]],
    ["one of three replaced", [0, 1, 2], [0, 1, 3]],
    ["the only master replaced", [0], [1]],
  ])("can both hold a lock if q1 + q2 is no more than all masters: %s", async (_, list, other) => {
    expect(quorumOf(list) + quorumOf(other)).toBeLessThanOrEqual(new Set([...list, ...other]).size);
    expect((await secondHolders(list, other)).length).toBeGreaterThan(0);
  });

  it.each([
    ["three masters, then four", [0, 1, 2], [0, 1, 2, 3]],
    ["four masters, then three", [0, 1, 2, 3], [0, 1, 3]],
    ["four masters, then five", [0, 1, 2, 3], [0, 1, 2, 3, 4]],
    ["five masters, then four", [0, 1, 2, 3, 4], [0, 1, 2, 3]],
    ["one master, then two", [0], [0, 1]],
    ["two masters, then three", [0, 1], [0, 1, 2]],
    ["one of two replaced", [0, 1], [0, 2]],
  ])("exclude each other if q1 + q2 is more than all masters: %s", async (_, list, other) => {
    expect(quorumOf(list) + quorumOf(other)).toBeGreaterThan(new Set([...list, ...other]).size);
    expect(await secondHolders(list, other)).toEqual([]);
    expect(await secondHolders(other, list)).toEqual([]);
  });
});
