import { NotOfferedError } from "@quorlock/peers";
import { type Case, verdict } from "../case.ts";
import type { Fixture } from "../fixture.ts";
import { inWords, isRefused, outcomeOf } from "../outcome.ts";

/** A round trip or two on loopback, with time for a busy machine. */
const atOnce = 100;
/** The ttl of keys, ms: those that are not deleted outlive every case here. */
const longTtl = 30_000;
/** A node time-out (500 ms for a lock of 30 s), and the machine's part. */
const failureLimit = 500 + 250;

const isAbout = (resource: string) => (bytes: Buffer) => bytes.includes(resource);

const lateCommands: readonly Case[] = [
  {
    row: 12,
    situation: "a vote that timed out is applied later: it is rolled back in order",
    bound:
      `acquire fails within ${failureLimit} ms (a node time-out of 500 ms), and no key lives 1000 ms after the ` +
      "late vote was executed: the rollback is right behind it on the same connection",
    async run(fixture) {
      const path = await fixture.path();
      const subject = await fixture.open(path, { retryCount: 0 });
      const late = path.slice(0, 2);
      const taps = await Promise.all(late.map((_, index) => fixture.tap(index)));
      for (const proxy of late) proxy.hold("requests");
      const outcome = await outcomeOf(() => subject.acquire(fixture.resource, longTtl), 5000);
      const executed = Promise.all(
        taps.map((tap) => tap.next(({ words }) => words.includes(fixture.resource))),
      );
      for (const proxy of late) proxy.release();
      await executed;
      const gone = await fixture.untilNoKeys(1000);
      const words = `${inWords(outcome)}; keys ${gone === undefined ? "live on" : `gone ${Math.round(gone)} ms later`}`;
      return verdict(words, {
        failed: isRefused(outcome),
        [`within ${failureLimit} ms`]: outcome.after < failureLimit,
        "rolled back": gone !== undefined,
      });
    },
  },
  {
    row: 12,
    situation:
      "a vote was applied and its rollback lost with the connection: rolled back when the master is back",
    bound:
      "no key lives 3000 ms after the connections can be made again: a client reconnects after some 100 ms, tries what " +
      "it owes again every 1000 ms, and the key would live for 30 s",
    async run(fixture) {
      const path = await fixture.path();
      const subject = await fixture.open(path, { retryCount: 0 });
      const cut = path.slice(0, 2);
      const taps = await Promise.all(cut.map((_, index) => fixture.tap(index)));
      const executed = Promise.all(
        taps.map((tap) => tap.next(({ words }) => words.includes(fixture.resource))),
      );
      for (const proxy of cut) proxy.dropReplies();
      const sent = Promise.all(cut.map((proxy) => proxy.nextRequest(isAbout(fixture.resource))));
      const acquiring = outcomeOf(() => subject.acquire(fixture.resource, longTtl), 5000);
      await sent;
      for (const proxy of cut) proxy.dropRequests();
      await executed;
      const outcome = await acquiring;
      const there = (await fixture.tokens()).filter((token) => token !== undefined).length;
      await Promise.all(cut.map((proxy) => proxy.heal()));
      const gone = await fixture.untilNoKeys(3000);
      const words = `${inWords(outcome)}; ${there} keys, ${gone === undefined ? "live on" : `gone ${Math.round(gone)} ms later`}`;
      return verdict(words, {
        failed: isRefused(outcome),
        "votes were applied": there >= 2,
        "made up for": gone !== undefined,
      });
    },
  },
  {
    row: 16,
    situation: "votes applied by a majority, connections dropped, replies lost: acquired by a later attempt",
    bound:
      "acquired within 1500 ms: a reconnect (some 100 ms) and the default pause before the next attempt (at most 300 ms), " +
      "three times over. Own keys of the lost attempt must not block the next; after the release no key lives",
    async run(fixture) {
      const path = await fixture.path();
      const subject = await fixture.open(path);
      const lost = Promise.all(
        path.slice(0, 2).map((proxy) => proxy.resetAfterRequest(isAbout(fixture.resource))),
      );
      const outcome = await outcomeOf(() => subject.acquire(fixture.resource, longTtl), 10_000);
      await lost;
      if (outcome.kind !== "resolved") {
        const gone = await fixture.untilNoKeys(1000);
        return verdict(`${inWords(outcome)}; keys ${gone === undefined ? "live on" : "gone"}`, {
          acquired: false,
          "no key left": gone !== undefined,
        });
      }
      const released = await outcomeOf(() => subject.release(outcome.value), 3000);
      const gone = await fixture.untilNoKeys(1000);
      return verdict(`${inWords(outcome)}; release ${inWords(released)}`, {
        "within 1500 ms": outcome.after < 1500,
        "no key left": gone !== undefined,
      });
    },
  },
];

const failure = new Error("the routine's own");

/** The outcome of the routine, apart from that of the library's call. */
function gone(what: "returned" | "threw"): Case {
  return {
    row: 13,
    situation: `the routine ${what} and the key was gone at release: \`using\` settles as the routine did`,
    bound: `the caller has it within ${atOnce} ms: there is nothing to release, and no reason to try again`,
    async run(fixture) {
      const { usingIsMadeUp } = fixture.library;
      if (usingIsMadeUp !== undefined) throw new NotOfferedError(usingIsMadeUp);
      const subject = await fixture.open();
      const outcome = await outcomeOf(
        () =>
          subject.using(fixture.resource, 5000, async () => {
            await fixture.remove();
            if (what === "threw") throw failure;
            return "result";
          }),
        5000,
      );
      const own =
        outcome.kind === "resolved"
          ? outcome.value === "result"
          : outcome.kind === "rejected" && outcome.error === failure;
      return verdict(inWords(outcome), { "the routine's own": own, "at once": outcome.after < atOnce });
    },
  };
}

async function expired(fixture: Fixture): Promise<boolean> {
  return (await fixture.untilNoKeys(3000)) !== undefined;
}

/** Nothing is left behind, and what is gone is no error. */
export const cleanUp: readonly Case[] = [
  ...lateCommands,
  gone("returned"),
  gone("threw"),
  {
    row: 14,
    situation: "release of an expired lock with retryCount -1 resolves at once",
    bound: `resolved within ${atOnce} ms: every master has answered that the key is gone`,
    async run(fixture) {
      const subject = await fixture.open(undefined, { retryCount: -1 });
      const held = await subject.acquire(fixture.resource, 200);
      const isExpired = await expired(fixture);
      const outcome = await outcomeOf(() => subject.release(held), 3000);
      return verdict(inWords(outcome), {
        expired: isExpired,
        resolved: outcome.kind === "resolved",
        "at once": outcome.after < atOnce,
      });
    },
  },
];
