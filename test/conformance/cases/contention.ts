import type { Held } from "@quorlock/peers";
import { type Case, verdict } from "../case.ts";
import type { Fixture } from "../fixture.ts";
import type { Subject } from "../libraries/subject.ts";
import { inWords, isRefused, type Outcome, outcomeOf } from "../outcome.ts";

// PROTOCOL 10.1.

const rounds = 20;
const ttl = 5000;
/** See row 6, ms. */
const medianLimit = 250;
const longestLimit = ttl / 5;

/**
 * Three clients, of which each is nearest to another master, so that three who ask at the same time always split
 * the first vote: every master has the first, second and third in another order.
 */
async function openRivals(fixture: Fixture): Promise<readonly Subject[]> {
  return Promise.all(
    [0, 1, 2].map(async (client) => {
      const path = await fixture.path();
      const subject = await fixture.open(path, { retryCount: 0 });
      for (const [master, proxy] of path.entries()) proxy.delay(2 * ((master - client + 3) % 3), "requests");
      return subject;
    }),
  );
}

interface RoundResult {
  /** When the first client had the lock, ms; `undefined` if none had it. */
  readonly won: number | undefined;
  readonly winners: number;
  /** Whether every key was gone right after the end of the round. */
  readonly clean: boolean;
}

async function contest(fixture: Fixture, rivals: readonly Subject[]): Promise<RoundResult> {
  const outcomes: Array<Outcome<Held>> = await Promise.all(
    rivals.map((rival) => outcomeOf(() => rival.acquire(fixture.resource, ttl), ttl)),
  );
  const granted = outcomes.flatMap((outcome, index) =>
    outcome.kind === "resolved" ? [{ index, after: outcome.after, held: outcome.value }] : [],
  );
  await Promise.all(granted.map(({ index, held }) => rivals[index]!.release(held).catch(() => {})));
  const clean = (await fixture.untilNoKeys(200)) !== undefined;
  await fixture.remove();
  const won = granted.length > 0 ? Math.min(...granted.map(({ after }) => after)) : undefined;
  return { won, winners: granted.length, clean };
}

/** Three at once for two permits; how many had one at the same time. */
async function holdersOf(fixture: Fixture, rivals: readonly Subject[], round: number): Promise<number> {
  const resource = `${fixture.resource}:${round}`;
  const permits = await Promise.all(rivals.map((rival) => rival.permit(resource, 2, ttl)));
  const held = permits.filter((permit) => permit !== undefined);
  for (const giveBack of held) await giveBack();
  return held.length;
}

export const contention: readonly Case[] = [
  {
    row: 18,
    situation: "a semaphore of 2, three clients at once, 50 rounds: never three holders",
    bound:
      "at most two of three have a permit at the same time in each of 50 rounds, on three healthy masters that are 0, 2 " +
      "and 4 ms away, each from another client: a majority for each is two for all three",
    async run(fixture) {
      const rivals = await openRivals(fixture);
      const holders: number[] = [];
      for (let round = 0; round < 50; round += 1) holders.push(await holdersOf(fixture, rivals, round));
      const excessive = holders.filter((count) => count > 2).length;
      return verdict(`three holders in ${excessive} of ${holders.length} rounds`, {
        "never three": excessive === 0,
        "at least one holds": holders.some((count) => count > 0),
      });
    },
  },
  {
    row: 6,
    situation: "a vote split by three clients at once, 20 rounds: one client wins each",
    bound:
      "exactly one of three wins each round, in one call without retries, and leaves no key behind: the minority keys of " +
      `a loser must not block other clients for the ttl of ${ttl} ms. Half of the rounds are won within ${medianLimit} ms and each ` +
      `within ${longestLimit} ms: a vote takes 4 ms here (the farthest master), and one that was split is taken again after a ` +
      "random time of a few of these (measured on two overloaded cores: median 39 ms, the longest of 20 rounds 373 ms)",
    async run(fixture) {
      const rivals = await openRivals(fixture);
      const results: RoundResult[] = [];
      for (let round = 0; round < rounds; round += 1) results.push(await contest(fixture, rivals));
      const times = results.flatMap(({ won }) => (won === undefined ? [] : [won])).sort((a, b) => a - b);
      const at = (part: number) => Math.round(times[Math.ceil(times.length * part) - 1] ?? Number.NaN);
      const dirty = results.filter(({ clean }) => !clean).length;
      const words =
        `${times.length} of ${rounds} rounds won; first grant p50 ${at(0.5)} ms, p90 ${at(0.9)} ms, max ${at(1)} ms; ` +
        `${dirty} rounds left keys`;
      return verdict(words, {
        "a winner in each round": times.length === rounds,
        "never two": results.every(({ winners }) => winners <= 1),
        [`half within ${medianLimit} ms`]: at(0.5) < medianLimit,
        [`each within ${longestLimit} ms`]: at(1) < longestLimit,
        "no keys left": dirty === 0,
      });
    },
  },
  {
    row: 22,
    situation: "plain contention emits no error event",
    bound:
      "no error event at either client while one holds and the other is refused four times: nothing is faulty",
    async run(fixture) {
      const faults: unknown[] = [];
      const [holder, rival] = await Promise.all([
        fixture.open(),
        fixture.open(undefined, { retryCount: 3, retryDelay: 50 }),
      ]);
      for (const subject of [holder, rival]) subject.onFault((error) => faults.push(error));
      const held = await holder.acquire(fixture.resource, ttl);
      const refused = await outcomeOf(() => rival.acquire(fixture.resource, ttl), 3000);
      await holder.release(held);
      return verdict(`${inWords(refused)}; ${faults.length} error events`, {
        refused: isRefused(refused),
        "no error event": faults.length === 0,
      });
    },
  },
];
