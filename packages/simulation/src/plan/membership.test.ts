import { expect, test } from "vitest";
import { membershipPlan } from "./membership.ts";
import { validPlan } from "./validate.ts";

// PROTOCOL 1.13.

const quorumOf = (list: readonly number[]): number => Math.floor(list.length / 2) + 1;

/** Each quorum of one shares a master with each quorum of the other. */
function areSafeTogether(one: readonly number[], other: readonly number[]): boolean {
  return quorumOf(one) + quorumOf(other) > new Set([...one, ...other]).size;
}

test.each(Array.from({ length: 40 }, (_, index) => index + 1))(
  "plan %i has lists that are safe together only with the one between, and the ttl passes before the last one",
  (seed) => {
    const plan = validPlan(membershipPlan(seed));
    const { clients, settings } = plan;
    const count = clients.length / 3;
    const [first, middle, last] = [0, count, 2 * count].map((from) => clients.slice(from, from + count));
    const [one, two, three] = [first, middle, last].map((same) => same![0]!.masters!);
    expect([areSafeTogether(one!, two!), areSafeTogether(two!, three!)]).toEqual([true, true]);
    expect(areSafeTogether(one!, three!)).toBe(false);
    for (const [index, { masters, endsAt }] of first!.entries()) {
      expect(masters).toEqual(one);
      expect(middle![index]!.startsAt).toBeGreaterThan(endsAt! * (1 + settings.driftFactor));
    }
    const ended = Math.max(...first!.map(({ endsAt }) => endsAt!));
    for (const { masters, startsAt } of last!) {
      expect(masters).toEqual(three);
      expect(startsAt).toBeGreaterThan((ended + settings.ttl) * (1 + settings.driftFactor));
    }
  },
);
