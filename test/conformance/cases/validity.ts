import { type Held, NotOfferedError } from "@quorlock/peers";
import { type Case, type Verdict, verdict } from "../case.ts";
import type { Fixture } from "../fixture.ts";
import { inWords, isRefused, type Outcome, outcomeOf } from "../outcome.ts";

/** The time left by the holder's view, and by the masters' keys, at one moment, ms. */
async function judgedLock(fixture: Fixture, outcome: Outcome<Held> & { kind: "resolved" }): Promise<Verdict> {
  const held = outcome.value;
  const asked = performance.now();
  const claimed = claimOf(held);
  const lifetimes = [...(await fixture.lifetimes(held.token))].sort((a, b) => b - a);
  const found = lifetimes[fixture.quorum - 1]!;
  if (claimed === undefined) {
    const words = `${inWords(outcome)}, says it holds, masters keep ${Math.round(found)} ms`;
    return verdict(words, { "kept by a majority": !held.isValid() || found > 0 });
  }
  // The masters reported the remaining time after the request was sent: at the send it was not less.
  const kept = found + (performance.now() - asked);
  const words = `${inWords(outcome)}, claims ${Math.round(claimed)} ms, masters keep ${Math.round(kept)} ms`;
  return verdict(words, { valid: claimed > 0, "not more than the masters keep": claimed <= kept });
}

/** `undefined` of a library that says only whether it holds. */
function claimOf(held: Held): number | undefined {
  try {
    return held.remaining();
  } catch (error) {
    if (error instanceof NotOfferedError) return undefined;
    throw error;
  }
}

/** As a long garbage collection does: no timer fires, no reply is read. */
function standStill(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

/** `acquire` returns a lock that is valid at that moment. */
export const validity: readonly Case[] = [
  ...[60, 1100].map(
    (delay): Case => ({
      row: 4,
      situation: `a master that takes ${delay} ms, ttl 1000: never returns without remaining validity`,
      bound:
        "rejected, or resolved with 0 < remaining <= what a majority still keeps: anything else is a lock that " +
        "another client can have as well",
      async run(fixture) {
        const path = await fixture.path();
        const subject = await fixture.open(path, { retryCount: 2, retryDelay: 50 });
        // The slow one is needed for a majority.
        await fixture.occupy([2], 30_000);
        path[1]!.delay(delay, "requests");
        const outcome = await outcomeOf(() => subject.acquire(fixture.resource, 1000), 8000);
        if (outcome.kind !== "resolved") {
          return verdict(inWords(outcome), { settled: isRefused(outcome) });
        }
        return judgedLock(fixture, outcome);
      },
    }),
  ),
  {
    row: 4,
    situation: "masters that take 30 of their 50 ms: the remaining time counts from before the send",
    bound:
      "resolved, with remaining at most ttl less the 30 ms that the votes took, and at least ttl less drift " +
      "(12 ms) and 100 ms for the attempt on a busy machine",
    async run(fixture) {
      const path = await fixture.path();
      const subject = await fixture.open(path, { retryCount: 2, retryDelay: 50 });
      await fixture.occupy([2], 30_000);
      for (const proxy of path) proxy.delay(30, "replies");
      const outcome = await outcomeOf(() => subject.acquire(fixture.resource, 1000), 8000);
      if (outcome.kind !== "resolved") return verdict(inWords(outcome), { acquired: false });
      const left = outcome.value.remaining();
      return verdict(`${inWords(outcome)} with ${Math.round(left)} ms`, {
        "at most 970 ms": left <= 970,
        "at least 888 ms": left >= 888,
      });
    },
  },
  {
    row: 4,
    situation: "the process stood still for longer than the ttl while the votes arrived: no lock",
    bound:
      "rejected: the votes are there when the process goes on after 400 ms, but nothing of the ttl of 300 ms is left. " +
      "(A slow master is given up long before; only this shows that what remains is looked at.)",
    async run(fixture) {
      const path = await fixture.path();
      const subject = await fixture.open(path, { retryCount: 0 });
      for (const proxy of path) proxy.hold("replies");
      const votes = Promise.all(path.map((proxy) => proxy.nextReply()));
      const acquiring = outcomeOf(() => subject.acquire(fixture.resource, 300), 5000);
      await votes;
      for (const proxy of path) proxy.release();
      standStill(400);
      const outcome = await acquiring;
      if (outcome.kind !== "resolved") return verdict(inWords(outcome), { settled: isRefused(outcome) });
      return judgedLock(fixture, outcome);
    },
  },
  {
    row: 5,
    situation: "after a wait of 1500 ms a lock of 1000 ms has its full time, and can be extended",
    bound:
      "remaining >= 888 ms: ttl less drift (12 ms) and 100 ms for this attempt, whatever the wait before it",
    async run(fixture) {
      const subject = await fixture.open(undefined, { retryCount: 60, retryDelay: 50 });
      await fixture.occupy([0, 1, 2], 1500);
      const outcome = await outcomeOf(() => subject.acquire(fixture.resource, 1000), 6000);
      if (outcome.kind !== "resolved") return verdict(inWords(outcome), { acquired: false });
      const held = outcome.value;
      const left = held.remaining();
      const extended = await outcomeOf(() => subject.extend(held, 1000), 3000);
      const words = `${inWords(outcome)} with ${Math.round(left)} ms, extend ${inWords(extended)}`;
      return verdict(words, { whole: left >= 888, extended: extended.kind === "resolved" });
    },
  },
];
