import assert from "node:assert/strict";
import type { LockNode } from "@quorlock/redlock";
import { type Behaviour, type Bench, behaviour, type Outcome } from "./bench.ts";
import {
  changed,
  failed,
  held,
  lasted,
  occupy,
  untilGone,
  untilWaiting,
  valuesOf,
  within,
} from "./looking.ts";

const alone = { masters: 1 };
const noQueue = { "without scripts": "it keeps no queue", "a Cluster": "it keeps no queue" } as const;
const moments = { masters: 1, notOn: { real: "the moments are those of one turn" } };
/** Without a queue a call that is refused asks again. */
const asks = { queue: false, retryJitter: 0 };

/** How often the first master was asked for a vote. */
async function votesOf(bench: Bench): Promise<() => Promise<number>> {
  const tap = await bench.masters[0]!.tap();
  return async () => (await tap.commands()).filter(([name]) => name === "SET").length;
}

/** How a call ended that lasts so long. */
async function lasting<T>(bench: Bench, call: Promise<T>, least: number, most: number): Promise<Outcome<T>> {
  const outcome = await bench.time.took(call);
  lasted(bench, outcome.took, least, most, "the call");
  return outcome;
}

const attempts: readonly Behaviour[] = [
  behaviour(
    "README",
    "A call that is refused is made retryCount times more, with a pause by `backoff` before each",
    async (bench) => {
      const { masters, time } = bench;
      await occupy(masters, "r");
      const asked: number[] = [];
      const backoff = ({ attempt }: { attempt: number }) => {
        asked.push(attempt);
        return attempt * 20;
      };
      const redlock = await bench.redlock({ ...asks, retryCount: 3, backoff });
      const refused = await lasting(bench, redlock.acquire("r", 2000), 120, 140);
      failed(refused, "RESOURCE_LOCKED");
      assert.deepEqual(asked.splice(3), []);
      assert.deepEqual(asked, [1, 2, 3]);
      assert.equal(refused.error.attempts.length, 4);
      const { error } = await time.took(redlock.acquire("r", 2000, { retryCount: 0 }));
      assert.equal(error.attempts.length, 1);
      assert.equal(await redlock.tryAcquire("r", 2000), null);
      assert.equal(asked.length, 3);
      const retries = { retryCount: 3, retryDelay: 100, retryJitter: 0 };
      const queued = await time.took((await bench.redlock(retries)).acquire("r", 2000));
      assert.equal(queued.error.attempts.length, 4);
      const many = redlock.acquire("r", 2000, { retryCount: 40, backoff: () => 1 });
      assert.equal((await time.took(many)).error.attempts.length, 32);
    },
    alone,
  ),

  behaviour(
    "README",
    "A call that retries without limit has the lock at last, and one that waits asks when the key in its way ends",
    async (bench) => {
      const { masters } = bench;
      for (const options of [
        { retryCount: -1, retryDelay: 100 },
        { retryCount: 1, retryDelay: 60_000 },
        { waitTimeout: 3000, retryDelay: 60_000 },
      ]) {
        const redlock = await bench.redlock({ ...asks, ...options });
        await occupy(masters, "r", 1500);
        const { value } = await lasting(bench, redlock.acquire("r", 2000), 1490, 1605);
        assert.equal(value?.state, "held");
        await value.release();
        await untilGone(bench, masters, "r");
      }
    },
    alone,
  ),

  behaviour(
    "README",
    "A call with waitTimeout asks for the last time when its time is over, and with one of 0 only once",
    async (bench) => {
      const { faults, masters, time } = bench;
      await occupy(masters, "r");
      const redlock = await bench.redlock({ ...asks, retryDelay: 60_000 });
      const once = await time.took(redlock.acquire("r", 2000, { waitTimeout: 0, retryDelay: 100 }));
      failed(once, "RESOURCE_LOCKED");
      lasted(bench, once.took, 0, 5, "the call");
      const waiting = lasting(bench, redlock.acquire("r", 2000, { waitTimeout: 1000 }), 1000, 1005);
      await time.pass(900);
      await faults.lose(masters, "r");
      assert.equal((await waiting).value?.state, "held");
    },
    alone,
  ),

  behaviour("README", "A call that reaches too few masters pauses as it was told", async (bench) => {
    const { faults, masters, time } = bench;
    const redlock = await bench.redlock({ ...asks, retryCount: 1, retryDelay: 800 });
    await occupy(masters, "r", 200);
    await faults.kill(masters.slice(0, 3));
    await time.pass(20);
    failed(await lasting(bench, redlock.acquire("r", 2000), 800, 850), "NO_QUORUM");
  }),

  behaviour(
    "2.3",
    "Votes that others split are asked for again at once, which is no further attempt",
    async (bench) => {
      const { masters, time } = bench;
      const redlock = await bench.redlock({ ...asks, retryCount: 1, retryDelay: 60_000 });
      const votes = await votesOf(bench);
      // Two that stay are locks like others.
      for (const [index, ttl] of [500, 500].entries())
        await masters[index]!.call("SET", "r", `${index} is left behind`, "PX", ttl);
      const { took, value } = await time.took(redlock.acquire("r", 2000));
      assert.equal(value?.state, "held");
      lasted(bench, took, 500, 510, "the wait");
      assert.ok((await votes()) <= 6, `${await votes()} votes`);
      assert.equal(value.attempts.length, 2);
    },
    { masters: 3, notOn: { real: "the votes are asked for within milliseconds" } },
  ),

  behaviour(
    "2.3",
    "Rivals that split the votes again and again are a refusal in the end",
    async (bench) => {
      const { time } = bench;
      let asked = 0;
      const splitting = (nodes: readonly LockNode[]) =>
        nodes.map((node, index) =>
          changed(node, {
            ask: (question, place, sink) => {
              const isRefused = question.verb === "vote" && index < 2;
              if (isRefused) asked += 1;
              if (isRefused)
                sink.answered(place, {
                  is: "no",
                  resource: "r",
                  owner: `rival ${asked}`,
                  remaining: 60_000,
                });
              else node.ask(question, place, sink);
            },
          }),
        );
      const redlock = await bench.redlock({ ...asks, through: splitting });
      const outcome = await time.took(redlock.acquire("r", 2000));
      failed(outcome, "RESOURCE_LOCKED");
      assert.deepEqual([asked, outcome.error.attempts.length], [2 * 9, 1]);
      const controller = new AbortController();
      const given = time.took(redlock.acquire("r", 2000, { signal: controller.signal }));
      await time.pass(2);
      const before = asked;
      controller.abort();
      failed(await given, "ABORTED");
      assert.equal(asked, before);
    },
    { masters: 3, notOn: { real: "adapters of the package number their answers" } },
  ),

  behaviour(
    "7.1",
    "A call for more than a thousand resources stands in no queue",
    async (bench) => {
      const { redlock, lock } = await held(bench, 20_000);
      const other = await bench.redlock({ nodeTimeout: 1000 });
      const names = Array.from({ length: 1000 }, (_, index) => `other ${index}`);
      const more = bench.time.took(other.acquire(["r", ...names], 20_000, { waitTimeout: 400 }));
      await bench.time.pass(200);
      for (const { queueLength } of await redlock.inspect("r")) assert.equal(queueLength, 0);
      failed(await more, "RESOURCE_LOCKED");
      const thousand = other.acquire(["r", ...names.slice(1)], 20_000, { waitTimeout: 60_000 });
      await untilWaiting(bench, redlock, 1);
      await lock.release();
      assert.equal((await thousand).state, "held");
    },
    { masters: 1, notOn: noQueue },
  ),
];

const errors: readonly Behaviour[] = [
  behaviour(
    "README",
    "The error of a refused call says what is locked, for how long, and who refused",
    async (bench) => {
      const { masters, time } = bench;
      await occupy(masters, "r");
      const { error } = await time.took((await bench.redlock()).acquire(["q", "r"], 2000));
      assert.equal(error.resource, "r");
      within(bench, error.remaining, 59_000, 60_000, "ms remain");
      const { membershipSize, quorumSize, votesAgainst } = await error.attempts[0];
      assert.deepEqual([membershipSize, quorumSize, votesAgainst.size], [5, 3, 5]);
      for (const [, why] of votesAgainst) assert.equal(why.code, "RESOURCE_LOCKED");
    },
  ),

  behaviour(
    "README",
    "The error of a call without a majority says what each server answered",
    async (bench) => {
      const { faults, masters, time } = bench;
      const redlock = await bench.redlock();
      await faults.kill(masters.slice(0, 2));
      await time.pass(20);
      await faults.hang(masters.slice(2, 3));
      const { error } = await time.took(redlock.acquire("r", 2000));
      const gone = "UNREACHABLE( \\(\\w+\\))?";
      const answers = [gone, gone, "TIMEOUT", "yes", "yes"];
      const words = answers.map((answer) => `\\S+: ${answer}`).join("; ");
      assert.match(error.message, new RegExp(`^No quorum: ${words}`));
      await faults.resume(masters.slice(2, 3));
    },
  ),

  behaviour(
    "README",
    "The votes of a lock tell in the end which masters gave one, and why another did not",
    async (bench) => {
      const { faults, masters, time } = bench;
      const redlock = await bench.redlock();
      await faults.slow(redlock, masters.slice(1, 2), 50);
      await faults.hang(masters.slice(2, 3));
      const lock = await redlock.acquire("r", 2000);
      const { took, value } = await time.took(lock.attempts[0]!);
      lasted(bench, took, 190, 205, "the last answer");
      assert.equal(value!.votesFor.size, 4);
      const [why] = [...value!.votesAgainst.values()] as { reason?: string }[];
      assert.equal(why?.reason, "TIMEOUT");
      await faults.resume(masters);
    },
  ),

  behaviour(
    "7.5",
    "Masters that are full give no new lock, and the error says why",
    async (bench) => {
      const { faults, masters, time } = bench;
      const redlock = await bench.redlock();
      await faults.refuseWrites(masters, "OOM");
      const outcome = await time.took(redlock.acquire("r", 2000));
      failed(outcome, "NO_QUORUM");
      assert.match(outcome.error.message, /OOM/);
      await faults.refuseWrites(masters, undefined);
    },
    alone,
  ),

  behaviour(
    "2.5",
    "Votes that come too late are told as that, and not as votes",
    async (bench) => {
      const { faults, masters, time } = bench;
      const redlock = await bench.redlock({ minimumValidity: 1950 });
      await faults.slow(redlock, masters, 50, "replies");
      const { error } = await time.took(redlock.acquire("r", 2000));
      assert.match(error.message, /^The votes came too late/);
    },
    alone,
  ),
];

const endings: readonly Behaviour[] = [
  behaviour(
    "1.10",
    "A call that is aborted while its votes are on their way rejects when they have been taken back",
    async (bench) => {
      const { faults, masters, time } = bench;
      const redlock = await bench.redlock();
      const calls = {
        acquire: (signal: AbortSignal) => redlock.acquire("r", 60_000, { signal }),
        tryAcquire: (signal: AbortSignal) => redlock.tryAcquire("r", 60_000, { signal }),
        using: (signal: AbortSignal) => redlock.using("r", 60_000, { signal }, () => {}),
      };
      await faults.slow(redlock, masters, 20, "requests");
      for (const [name, call] of Object.entries(calls)) {
        const controller = new AbortController();
        const asked = time.took<unknown>(call(controller.signal));
        await time.pass(5);
        controller.abort("enough");
        const outcome = await asked;
        failed(outcome, "ABORTED");
        assert.equal(outcome.error.cause, "enough");
        lasted(bench, outcome.took, 25, 30, name);
        assert.deepEqual(
          await valuesOf(masters, "r"),
          masters.map(() => null),
        );
      }
    },
    { masters: 3, notOn: { "without scripts": "an operation takes several round trips" } },
  ),

  behaviour(
    "1.10",
    "A call that is aborted between two attempts settles at once, and asks no more",
    async (bench) => {
      const { masters, time } = bench;
      await occupy(masters, "r");
      const redlock = await bench.redlock({ ...asks, retryCount: -1, retryDelay: 1000 });
      const votes = await votesOf(bench);
      const controller = new AbortController();
      const asked = time.took(redlock.acquire("r", 2000, { signal: controller.signal }));
      await time.pass(500);
      const before = await votes();
      controller.abort();
      const outcome = await asked;
      failed(outcome, "ABORTED");
      lasted(bench, outcome.took, 500, 505, "the call");
      await time.pass(1000);
      assert.equal(await votes(), before);
    },
    alone,
  ),

  behaviour(
    "1.10",
    "A call that is given up in whatever moment, or whose process quits then, is granted or leaves no key",
    async (bench) => {
      const { masters, time } = bench;
      for (const reentrant of [false, true])
        for (let moment = 0; moment < 30; moment += 1)
          for (const how of ["abort", "quit"]) {
            const controller = new AbortController();
            let ended: Promise<void> | undefined;
            const end = (): void => {
              if (how === "abort") controller.abort();
              else ended = redlock.quit();
            };
            // That number of turns after the answer.
            const later = (turns: number): void => {
              if (turns === 0) end();
              else void Promise.resolve().then(() => later(turns - 1));
            };
            const through = (nodes: readonly LockNode[]) =>
              nodes.map((node) =>
                changed(node, {
                  ask: (question, place, sink) =>
                    node.ask(question, place, {
                      answered: (index, answer) => {
                        if (question.verb === "vote") later(moment);
                        void Promise.resolve().then(() => sink.answered(index, answer));
                      },
                    }),
                }),
              );
            const redlock = await bench.redlock({ reentrant, through });
            const { value, error } = await time.took(
              redlock.acquire("r", 2000, { signal: controller.signal }),
            );
            await ended;
            if (how === "abort" && value) assert.equal(value.state, "held");
            else if (value) assert.equal(value.signal.aborted || value.state === "held", true);
            else failed({ took: 0, error }, how === "abort" ? "ABORTED" : "CLOSED");
            if (how === "abort") await value?.release();
            await untilGone(bench, masters, "r");
          }
    },
    moments,
  ),
];

/** What README.md promises of calls that are refused, and rule 1.10 of docs/protocol.md for them. */
export const retrying: readonly Behaviour[] = [...attempts, ...errors, ...endings];
