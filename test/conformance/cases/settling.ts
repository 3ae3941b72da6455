import { type Case, verdict } from "../case.ts";
import { inWords, isRefused, outcomeOf } from "../outcome.ts";

/** This client gives a master a twentieth of the ttl to answer: 250 ms of these 5000. */
const ttl = 5000;
const nodeTimeout = 250;
/** The time a busy machine of two cores may add to a timer or a round trip. */
const slack = 100;
/** The call has not waited for the silent master: far below its time-out, far above two round trips. */
const atOnce = 100;
/** For ever, as far as a test can tell. */
const patience = 3000;

/** Masters that answer decide, or one node time-out does. */
export const settling: readonly Case[] = [
  {
    row: 1,
    situation: "a tie of two masters settles within one node time-out",
    bound: `ten ties, each rejected within ${nodeTimeout} ms: both masters answer at once, so there is not even a time-out to wait for`,
    masters: 2,
    async run(fixture) {
      const subject = await fixture.open(undefined, { retryCount: 0 });
      const resources = Array.from({ length: 10 }, (_, index) => `${fixture.resource}:${index}`);
      for (const resource of resources) {
        fixture.onDispose(() => fixture.remove(resource));
        await fixture.occupy([0], 30_000, resource);
      }
      const outcomes = await Promise.all(
        resources.map((resource) => outcomeOf(() => subject.acquire(resource, ttl), patience)),
      );
      const slowest = outcomes.reduce((a, b) => (a.after > b.after ? a : b));
      return verdict(`of ${outcomes.length} the slowest ${inWords(slowest)}`, {
        rejected: outcomes.every(isRefused),
        "within one node time-out": slowest.after < nodeTimeout,
      });
    },
  },
  {
    row: 1,
    situation: "one foreign and one hung of three masters settles within one node time-out",
    bound: `rejected within ${nodeTimeout} + ${slack} ms: one node time-out, plus what a busy machine adds`,
    async run(fixture) {
      const path = await fixture.path();
      const subject = await fixture.open(path, { retryCount: 0 });
      await fixture.occupy([0], 30_000);
      path[1]!.hold("requests");
      const outcome = await outcomeOf(() => subject.acquire(fixture.resource, ttl), patience);
      return verdict(inWords(outcome), {
        rejected: isRefused(outcome),
        "within one node time-out": outcome.after < nodeTimeout + slack,
      });
    },
  },
  {
    row: 2,
    situation: "one of three masters hangs, without contention: acquired at once from the other two",
    bound: `of five locks half are acquired and released within ${atOnce} ms, and each within ${nodeTimeout} ms: two masters of three are a quorum, the third is not waited for`,
    async run(fixture) {
      const path = await fixture.path();
      const subject = await fixture.open(path, { retryCount: 0 });
      path[0]!.hold("requests");
      const times: number[] = [];
      for (let round = 0; round < 5; round += 1) {
        const acquired = await outcomeOf(() => subject.acquire(fixture.resource, ttl), patience);
        if (acquired.kind !== "resolved") return verdict(inWords(acquired), { acquired: false });
        const released = await outcomeOf(() => subject.release(acquired.value), patience);
        if (released.kind !== "resolved") return verdict(inWords(released), { released: false });
        times.push(Math.max(acquired.after, released.after));
      }
      times.sort((a, b) => a - b);
      const [median, longest] = [times[2]!, times[4]!];
      return verdict(
        `acquired and released within ${Math.round(median)} ms, at most ${Math.round(longest)} ms`,
        {
          "at once": median < atOnce,
          "before the time-out": longest < nodeTimeout,
        },
      );
    },
  },
  {
    row: 3,
    situation: "one of three masters refuses connections: acquired at once, with keys on the other two",
    bound: `resolved within ${atOnce} ms with the token on both reachable masters: a refused connection is known at once`,
    async run(fixture) {
      const path = await fixture.path();
      await path[2]!.refuse();
      const subject = await fixture.openCold(path, { retryCount: 0 });
      const outcome = await outcomeOf(() => subject.acquire(fixture.resource, ttl), 15_000);
      const tokens = await fixture.tokens();
      const token = outcome.kind === "resolved" ? outcome.value.token : "none";
      const keys = tokens.filter((owner) => owner === token).length;
      return verdict(`${inWords(outcome)}, keys on ${keys} masters`, {
        acquired: outcome.kind === "resolved",
        "at once": outcome.after < atOnce,
        "on two masters": keys === 2,
      });
    },
  },
  {
    row: 3,
    situation: "one refuses connections and one is foreign: refused at once",
    bound: `rejected within ${atOnce} ms: a master that refuses connections counts as "no" without a time-out`,
    async run(fixture) {
      const path = await fixture.path();
      await path[2]!.refuse();
      const subject = await fixture.openCold(path, { retryCount: 0 });
      await fixture.occupy([0], 30_000);
      const outcome = await outcomeOf(() => subject.acquire(fixture.resource, ttl), 15_000);
      return verdict(inWords(outcome), {
        rejected: isRefused(outcome),
        "at once": outcome.after < atOnce,
      });
    },
  },
];
