import assert from "node:assert/strict";
import { inspect } from "node:util";
import type { LockNode } from "@quorlock/redlock";
import { type Behaviour, behaviour, type Master, type OpenOptions } from "./bench.ts";
import {
  changed,
  endsBeforeItsKeys,
  failed,
  held,
  lasted,
  lifetimesOn,
  occupy,
  untilGone,
  untilVoted,
  untilVotes,
  valuesOf,
  votesFor,
  within,
} from "./looking.ts";

/** Nodes whose answers a case passes on itself: again, or for another place. */
function answering(
  change: (place: number, give: (place: number) => void) => void,
): NonNullable<OpenOptions["through"]> {
  return (nodes) =>
    nodes.map((node) =>
      changed(node, {
        ask: (question, index, sink) =>
          node.ask(question, index, {
            answered: (place, answer) => change(place, (other) => sink.answered(other, answer)),
          }),
      }),
    );
}

/** Nodes that tell their client of no grant. */
function hearingNothing(nodes: readonly LockNode[]): readonly LockNode[] {
  return nodes.map((node) => {
    const { queue } = node;
    if (!queue) return node;
    const listen: typeof queue.listen = (channel, _, onChange) => queue.listen(channel, () => {}, onChange);
    return changed(node, { queue: changed(queue, { listen }) });
  });
}

/** Nodes whose answers a case looks at. */
function telling(answers: unknown[]): NonNullable<OpenOptions["through"]> {
  return (nodes) =>
    nodes.map((node) =>
      changed(node, {
        ask: (question, index, sink) =>
          node.ask(question, index, {
            answered: (place, answer) => {
              answers.push(answer);
              sink.answered(place, answer);
            },
          }),
      }),
    );
}

/** Section 2 of docs/protocol.md. */
export const acquire: readonly Behaviour[] = [
  behaviour("2.1", "Each attempt has a token of its own", async (bench) => {
    const { masters } = bench;
    const redlock = await bench.redlock();
    // It has to refuse, so no attempt ends before it was asked.
    const tap = await masters[2]!.tap();
    await occupy(masters.slice(2), "r");
    for (let attempt = 0; attempt < 3; attempt += 1) assert.equal(await redlock.tryAcquire("r", 1000), null);
    const tokens = (await tap.commands()).filter(([name]) => name === "SET").map(([, , token]) => token);
    assert.equal(tokens.length, 3);
    assert.equal(new Set(tokens).size, 3);
  }),

  behaviour("2.2", "All masters are asked at once", async (bench) => {
    const { time, faults, masters } = bench;
    const redlock = await bench.redlock();
    await faults.slow(redlock, masters, 40, "requests");
    const { took, value } = await time.took(redlock.acquire("r", 2000));
    lasted(bench, took, 40, 42, "the round");
    await untilVoted(bench, masters, value!);
  }),

  behaviour("2.2", "A master whose connection is lost counts as unreachable at once", async (bench) => {
    const { time, faults, masters } = bench;
    const redlock = await bench.redlock();
    await faults.kill(masters.slice(0, 3));
    await time.pass(20);
    const outcome = await time.took(redlock.acquire("r", 2000));
    failed(outcome, "NO_QUORUM");
    lasted(bench, outcome.took, 0, 10, "the call");
    assert.equal(outcome.error.message.match(/: UNREACHABLE/g).length, 3);
    await faults.restart(masters.slice(0, 3));
    // Nothing was kept, to be sent now.
    await time.pass(500);
    assert.deepEqual(await valuesOf(masters, "r"), [null, null, null, null, null]);
  }),

  behaviour("2.2", "A vote sets a key that is free, and none that another client has", async (bench) => {
    const { masters } = bench;
    await occupy(masters, "r");
    assert.equal(await (await bench.redlock()).tryAcquire("r", 2000), null);
    for (const value of await valuesOf(masters, "r")) assert.equal(value, "another client");
  }),

  behaviour("2.3", "A lock is granted as soon as a majority has voted", async (bench) => {
    const { time, faults, masters } = bench;
    const redlock = await bench.redlock();
    await faults.hang(masters.slice(0, 2));
    const { took, value } = await time.took(redlock.acquire("r", 2000));
    lasted(bench, took, 0, 2, "the call");
    assert.equal(value?.state, "held");
    await faults.resume(masters);
  }),

  behaviour("2.3", "A call is refused as soon as a majority cannot be had", async (bench) => {
    const { time, faults, masters } = bench;
    const redlock = await bench.redlock();
    await occupy(masters.slice(0, 3), "r");
    await faults.hang(masters.slice(3));
    const { took, value } = await time.took(redlock.tryAcquire("r", 2000));
    assert.equal(value, null);
    lasted(bench, took, 0, 2, "the call");
    await faults.resume(masters);
  }),

  behaviour(
    "2.3",
    "Half of the masters are no majority",
    async (bench) => {
      const { masters } = bench;
      await occupy(masters.slice(0, 2), "r");
      assert.equal(await (await bench.redlock()).tryAcquire("r", 2000), null);
      await bench.faults.lose(masters.slice(0, 1), "r");
      assert.equal((await (await bench.redlock()).acquire("r", 2000)).state, "held");
    },
    { masters: 4 },
  ),

  behaviour("2.4", "The time of a lock counts from the call, not from the answers", async (bench) => {
    const { time, faults, masters } = bench;
    const redlock = await bench.redlock();
    await faults.slow(redlock, masters, 150, "replies");
    const { took, value } = await time.took(redlock.acquire("r", 2000));
    lasted(bench, took, 150, 160, "the call");
    const remaining = value!.remaining();
    within(bench, remaining, 1978 - took, 1978 - 150, "what remains");
    await endsBeforeItsKeys(bench, value!);
  }),

  behaviour("2.4", "A lock that was waited for has its time still, and can be extended", async (bench) => {
    const { masters } = bench;
    const redlock = await bench.redlock();
    await occupy(masters, "r", 1500);
    const lock = await redlock.acquire("r", 1000, { waitTimeout: 6000 });
    within(bench, lock.remaining(), 950, 988, "what remains");
    await lock.extend(1000);
    within(bench, lock.remaining(), 950, 988, "what remains");
  }),

  behaviour(
    "2.5",
    "Votes that come too late for a lock to remain are a failure, and are taken back",
    async (bench) => {
      const { time, faults, masters } = bench;
      const redlock = await bench.redlock({ minimumValidity: 1900 });
      await faults.slow(redlock, masters, 150, "replies");
      failed(await time.took(redlock.acquire("r", 2000)), "NO_QUORUM");
      await faults.slow(redlock, masters, 0);
      await untilGone(bench, masters, "r");
      within(bench, (await redlock.acquire("r", 2000)).remaining(), 1900, 2000, "what remains");
    },
  ),

  behaviour(
    "2.5",
    "A blocked process gets no lock that has ended meanwhile",
    async (bench) => {
      const { time, faults, masters } = bench;
      const redlock = await bench.redlock({ nodeTimeout: 900 });
      await faults.cut(redlock, masters, "replies");
      const acquiring = time.took(redlock.acquire("r", 1000));
      await time.until("all have voted", async () => !(await valuesOf(masters, "r")).includes(null));
      await faults.heal(redlock, masters);
      await faults.block(redlock, 1500);
      failed(await acquiring, "NO_QUORUM");
      await untilGone(bench, masters, "r");
    },
    { notOn: { "without scripts": "an operation takes several round trips" } },
  ),

  behaviour(
    "2.5",
    "A waiter that is handed votes with too little time left votes once more",
    async (bench) => {
      const { time } = bench;
      const { lock } = await held(bench, 20_000);
      const waiter = await bench.redlock();
      const waiting = time.took(waiter.acquire("r", 4000, { waitTimeout: 60_000, minimumValidity: 3600 }));
      await time.pass(850);
      await lock.release();
      const { took, value } = await waiting;
      lasted(bench, took, 850, 860, "the wait");
      within(bench, value!.remaining(), 3600, 4000, "what remains");
    },
    { notOn: { "without scripts": "it keeps no queue" } },
  ),

  behaviour(
    "2.5",
    "Calls that demand more than a lock can have delay another waiter once each",
    async (bench) => {
      const { time, faults, masters } = bench;
      const { lock } = await held(bench, 20_000);
      const slow = await Promise.all(
        Array.from({ length: 3 }, () =>
          bench.redlock({ waitTimeout: 60_000, retryDelay: 10, retryJitter: 0 }),
        ),
      );
      const other = await bench.redlock({ waitTimeout: 60_000 });
      for (const redlock of slow) {
        await faults.slow(redlock, masters, 100, "replies");
        void redlock.acquire("r", 4000, { minimumValidity: 3900 }).catch(() => {});
      }
      await time.pass(500);
      const waiting = time.took(other.acquire("r", 4000));
      await time.pass(500);
      await lock.release();
      lasted(bench, (await waiting).took, 500, 2500, "the wait");
      await Promise.all(slow.map((redlock) => redlock.quit()));
    },
  ),

  behaviour("2.6", "A failed attempt leaves no key", async (bench) => {
    const { masters } = bench;
    await occupy(masters.slice(2), "r");
    assert.equal(await (await bench.redlock()).tryAcquire("r", 60_000), null);
    await untilGone(bench, masters.slice(0, 2), "r");
  }),

  behaviour(
    "2.6",
    "Masters that have voted without an answer are cleaned as well",
    async (bench) => {
      const { time, faults, masters } = bench;
      const redlock = await bench.redlock();
      await faults.cut(redlock, masters, "replies");
      failed(await time.took(redlock.acquire("r", 60_000)), "NO_QUORUM");
      await untilGone(bench, masters, "r");
    },
    { notOn: { "without scripts": "an operation takes several round trips" } },
  ),
  behaviour("2.6", "A master that hung, or was out of reach, is cleaned when it is back", async (bench) => {
    const { time, faults, masters } = bench;
    const redlock = await bench.redlock();
    const [hung, away] = [masters.slice(0, 2), masters.slice(2, 4)];
    await faults.hang(hung);
    await faults.cut(redlock, away, "replies");
    failed(await time.took(redlock.acquire("r", 60_000)), "NO_QUORUM");
    await faults.reset(redlock, away);
    await time.pass(300);
    await faults.resume(hung);
    await faults.heal(redlock, away);
    await untilGone(bench, masters, "r");
  }),

  behaviour(
    "2.6",
    "A master that missed the vote, and had the key of an extension, is cleaned when it is back",
    async (bench) => {
      const { time, faults, masters } = bench;
      const redlock = await bench.redlock();
      const last = masters.slice(2);
      await faults.kill(last);
      await time.pass(20);
      const lock = await redlock.acquire("r", 60_000);
      await faults.restart(last);
      await time.until("it has the key", async () => {
        await lock.extend(60_000);
        return (await valuesOf(last, "r"))[0] === lock.value;
      });
      await faults.cut(redlock, last);
      await faults.reset(redlock, last);
      await time.pass(20);
      await lock.release();
      await faults.heal(redlock, last);
      await untilGone(bench, masters, "r");
    },
    { masters: 3 },
  ),

  behaviour(
    "2.6",
    "A master that was never asked is sent no delete",
    async (bench) => {
      const { time, faults, masters } = bench;
      const redlock = await bench.redlock();
      await occupy(masters.slice(1), "r");
      await faults.kill(masters.slice(0, 1));
      await time.pass(20);
      assert.equal(await redlock.tryAcquire("r", 60_000), null);
      await (await redlock.acquire("s", 60_000)).release();
      await faults.restart(masters.slice(0, 1));
      const tap = await masters[0]!.tap();
      await time.pass(2500);
      assert.deepEqual(await tap.commands(), []);
    },
    { notOn: { real: "it would wait for nothing to come" } },
  ),

  behaviour(
    "2.7",
    "A waiter counts a key that was granted to it, though it never heard of the grant",
    async (bench) => {
      const { time } = bench;
      const [holder, waiter] = [await bench.redlock(), await bench.redlock({ through: hearingNothing })];
      const lock = await holder.acquire("r", 10_000);
      const waiting = time.took(waiter.acquire("r", 10_000, { waitTimeout: 10_000 }));
      await time.pass(300);
      await lock.release();
      const { value, took } = await waiting;
      assert.equal(value?.state, "held");
      lasted(bench, took, 300, 2500, "the wait");
    },
  ),

  behaviour(
    "2.8",
    "A server that is in the list twice votes once",
    async (bench) => {
      const [first, second] = bench.masters;
      await occupy([second!], "r");
      const twice = await bench.redlock({ isCold: true, on: [first!, first!, second!] });
      const reasons: string[] = [];
      twice.on("error", ({ reason }) => reasons.push(reason));
      failed(await bench.time.took(twice.acquire("r", 2000)), "RESOURCE_LOCKED");
      assert.ok(reasons.includes("SAME_SERVER"), `reported: ${reasons.join(", ")}`);
      await bench.faults.lose([second!], "r");
      assert.equal((await twice.acquire("r", 2000)).state, "held");
    },
    { masters: 2 },
  ),

  behaviour(
    "2.8",
    "An address that comes to the server of another does not vote, which is told once, until it leads elsewhere",
    async (bench) => {
      const { faults, masters, time } = bench;
      const [first, second, third] = masters as [Master, Master, Master];
      const redlock = await bench.redlock();
      const told: string[] = [];
      redlock.on("error", ({ reason, message }) => {
        if (reason === "SAME_SERVER") told.push(message);
      });
      const move = async (to: Master): Promise<void> => {
        await faults.lead(redlock, first, to);
        await faults.reset(redlock, [first]);
      };
      assert.equal(await votesFor(redlock), 3);
      for (const [count, to] of [second, third, second].entries()) {
        await move(to);
        await time.until("it is told", () => told.length === count + 1);
        assert.match(told[count]!, new RegExp(`master 0 .* and master ${masters.indexOf(to)} `));
        assert.equal(await votesFor(redlock), 2);
      }
      assert.equal(told.length, 3);
      await move(first);
      await untilVotes(bench, redlock, 3);
    },
    { masters: 3 },
  ),

  behaviour("2.9", "A server to which an address has moved is known again, and votes once", async (bench) => {
    const { time, faults, masters } = bench;
    const redlock = await bench.redlock();
    await faults.lead(redlock, masters[1]!, masters[0]!);
    await faults.reset(redlock, masters.slice(1, 2));
    await occupy(masters.slice(3), "r");
    await time.pass(300);
    // The first server by two addresses and the third are two of five.
    assert.equal(await redlock.tryAcquire("r", 2000).catch(() => null), null);
    await faults.lose(masters.slice(3), "r");
    assert.equal((await redlock.acquire("r", 2000)).state, "held");
  }),

  behaviour(
    "2.9",
    "A server that is too busy to say which one it is does not vote",
    async (bench) => {
      const { time, faults, masters } = bench;
      const redlock = await bench.redlock();
      await faults.busy(masters.slice(0, 1), true);
      await faults.lead(redlock, masters[1]!, masters[0]!);
      await faults.reset(redlock, masters.slice(1, 2));
      await time.pass(60);
      await faults.busy(masters.slice(0, 1), false);
      await occupy(masters.slice(3), "r");
      assert.equal(await redlock.tryAcquire("r", 2000).catch(() => null), null);
    },
    { notOn: { real: "no script runs for long here: test/contract has a busy master" } },
  ),

  behaviour(
    "2.10",
    "A server that changes places with another counts once in a lease",
    async (bench) => {
      const { time, faults, masters } = bench;
      const [first, second, third] = masters;
      await occupy([third!], "r");
      const redlock = await bench.redlock();
      const lock = await redlock.acquire("r", 2000);
      // The first server keeps the key for longer than the second.
      await faults.cut(redlock, [second!], "requests");
      await time.took(lock.extend(4000));
      await faults.lead(redlock, first!, second!);
      await faults.lead(redlock, second!, first!);
      await faults.reset(redlock, [first!, second!]);
      await faults.heal(redlock, [second!]);
      await time.pass(200);
      // Only the first server answers now, by the other address.
      await faults.cut(redlock, [first!]);
      await time.took(lock.extend(6000));
      await endsBeforeItsKeys(bench, lock);
    },
    { masters: 3 },
  ),

  behaviour(
    "2.10",
    "A claim that waited for its connection is not sent to a server that has voted",
    async (bench) => {
      const { faults, masters } = bench;
      const [first, second, third] = masters;
      await occupy([third!], "r");
      const redlock = await bench.redlock({ isCold: true, leads: new Map([[second!, first!]]) });
      await faults.slow(redlock, [second!], 50);
      assert.equal(await redlock.tryAcquire("r", 2000).catch(() => null), null);
    },
    { masters: 3 },
  ),

  behaviour(
    "2.11",
    "No extension shortens the life of a key",
    async (bench) => {
      const { masters } = bench;
      const { lock } = await held(bench, 30_000);
      await lock.extend(1000);
      for (const left of await lifetimesOn(masters, "r")) within(bench, left, 29_000, 30_000, "what is left");
      within(bench, lock.remaining(), 28_000, 30_000, "what remains");
    },
    { masters: 1 },
  ),

  behaviour(
    "2.12",
    "A yes means that the key lives for the ttl from then on",
    async (bench) => {
      const { time, masters } = bench;
      const { lock } = await held(bench, 2000);
      await time.pass(1500);
      await lock.extend(2000);
      await time.until("all have extended", async () =>
        (await lifetimesOn(masters, "r")).every((left) => left > 1800),
      );
      await endsBeforeItsKeys(bench, lock);
    },
    { masters: 1 },
  ),

  behaviour(
    "2.13",
    "Each round of a waiter has a token of its own",
    async (bench) => {
      const { time, masters } = bench;
      const [free, ...others] = masters;
      await occupy(others, "r");
      const seen = new Set<string | null>();
      const waiting = time.took((await bench.redlock()).acquire("r", 2000, { waitTimeout: 2200 }));
      for (const end = time.now() + 2000; time.now() < end; ) {
        seen.add((await valuesOf([free!], "r"))[0]!);
        await time.pass(20);
      }
      failed(await waiting, "RESOURCE_LOCKED");
      const rounds = [...seen].flatMap((token) => /^(.*)\.(\d+)$/.exec(token ?? "")?.slice(1, 3) ?? []);
      assert.equal(new Set(rounds.filter((_, index) => index % 2 === 0)).size, 1);
      assert.ok(new Set(rounds.filter((_, index) => index % 2 === 1)).size >= 3, [...seen].join(" "));
    },
    { masters: 3, notOn: { "without scripts": "it keeps no queue" } },
  ),
  behaviour(
    "2.13",
    "A command of an earlier round that arrives late touches no vote of a later one",
    async (bench) => {
      const { time, faults, masters } = bench;
      const { lock } = await held(bench, 20_000);
      const waiter = await bench.redlock();
      const waiting = waiter.acquire("r", 8000, { waitTimeout: 60_000 });
      await time.pass(600);
      const tap = await masters[0]!.tap();
      // A round is on its way while its connections end: it arrives when a later one has been granted.
      await faults.slow(waiter, masters, 100, "requests");
      await time.pass(500);
      await faults.reset(waiter, masters, 1500);
      await faults.slow(waiter, masters, 0);
      await lock.release();
      const next = await waiting;
      const [before] = await valuesOf(masters, "r");
      const seen = (await tap.commands()).length;
      await time.until("it has arrived", async () => (await tap.commands()).length > seen);
      await time.pass(20);
      assert.equal((await valuesOf(masters, "r"))[0], before);
      assert.equal(await next.verify(), true);
    },
    { masters: 3, notOn: { real: "no test lets a packet overtake another" } },
  ),

  behaviour(
    "2.14",
    "A yes that comes after its round does not count in the next",
    async (bench) => {
      const { time, faults, masters } = bench;
      const [first, second] = masters;
      const waiter = await bench.redlock();
      // It outlasts all that follows, and the waiter is granted the lock when it is over.
      await held(bench, 6000);
      const waiting = time.took(waiter.acquire("r", 4000, { waitTimeout: 60_000 }));
      await time.pass(100);
      // The next round gets a vote of the first master, whose answer takes longer than the second between two rounds.
      const tap = await first!.tap();
      await faults.slow(waiter, [first!], 1300, "replies");
      await faults.lose([first!], "r");
      await time.until("a round has come", async () => (await tap.commands()).length > 0);
      await faults.cut(waiter, [first!], "requests");
      await faults.lose([second!], "r");
      await time.pass(2500);
      await faults.heal(waiter, [first!]);
      const { value } = await waiting;
      await endsBeforeItsKeys(bench, value!);
    },
    { masters: 3, notOn: { "without scripts": "it keeps no queue" } },
  ),
  behaviour(
    "2.14",
    "A grant that comes after its round does not count in the next",
    async (bench) => {
      const { time, faults, masters } = bench;
      const waiter = await bench.redlock({ nodeTimeout: 900 });
      const { lock } = await held(bench, 20_000);
      const waiting = time.took(waiter.acquire("r", 4000, { waitTimeout: 60_000 }));
      await time.pass(100);
      const tap = await masters[0]!.tap();
      await faults.slow(waiter, masters, 500, "replies");
      await time.until("a round has come", async () => (await tap.commands()).length > 0);
      // The next one begins a second after the answers, and never arrives; the grants do half a second after they were sent.
      await time.pass(1300);
      await lock.release();
      await faults.cut(waiter, masters, "requests");
      const sound = waiting.then(async ({ value, error }) => {
        assert.equal(error, undefined);
        await endsBeforeItsKeys(bench, value!);
      });
      await time.pass(1000);
      await faults.heal(waiter, masters);
      await sound;
    },
    { masters: 3, notOn: { "without scripts": "it keeps no queue" } },
  ),
  behaviour(
    "2.14",
    "An answer for one place counts once",
    async (bench) => {
      const { time, faults, masters } = bench;
      const through = answering((place, give) => {
        for (const _ of masters) give(place);
      });
      const { redlock, lock } = await held(bench, 2000, { through });
      await faults.hang(masters.slice(2));
      failed(await time.took(lock.extend(2000)), "NO_QUORUM");
      assert.equal(lock.state, "unknown");
      failed(await time.took(redlock.acquire("s", 2000)), "NO_QUORUM");
      assert.equal((await lock.release()).outcome, "partial");
      await faults.resume(masters);
    },
    { notOn: { real: "adapters of the package number their answers" } },
  ),

  behaviour(
    "2.14",
    "An answer for a place that nobody has does not count",
    async (bench) => {
      const { masters } = bench;
      await occupy(masters.slice(2), "r");
      const through = answering((place, give) => {
        give(place);
        give(place + masters.length);
      });
      assert.equal(await (await bench.redlock({ through })).tryAcquire("r", 2000).catch(() => null), null);
    },
    { notOn: { real: "adapters of the package number their answers" } },
  ),

  behaviour(
    "2.15",
    "A lock is lost in the turn in which its clients leave the database",
    async (bench) => {
      const { faults, masters, time } = bench;
      const { redlock, lock } = await held(bench);
      const other = await redlock.acquire("s", 2000);
      await faults.select(redlock, masters.slice(0, 1), 1);
      await time.until("it is lost", () => lock.state === "lost");
      assert.equal(lock.signal.reason.reason, "DATABASE");
      assert.equal(other.state, "lost");
      failed(await time.took(lock.extend(2000)), "LOCK_LOST");
    },
    {
      masters: 1,
      notOn: { "a Cluster": "it has one database", "node-redis": "it does not report a select" },
    },
  ),
  behaviour(
    "2.17",
    "Neither a refusal nor an inspection shows the whole token of an owner",
    async (bench) => {
      const { time } = bench;
      const { lock } = await held(bench);
      const answers: unknown[] = [];
      const other = await bench.redlock({ through: telling(answers) });
      const refusal = await time.took(other.acquire("r", 2000));
      failed(refusal, "RESOURCE_LOCKED");
      const seenThere = await other.inspect("r");
      const shown = JSON.stringify([String(refusal.error), refusal.error, seenThere, answers]);
      assert.ok(!shown.includes(lock.value.slice(0, 12)), shown);
      const [seen] = await other.inspect("r");
      assert.equal(seen!.owner?.slice(0, 8), lock.value.slice(0, 8));
    },
    { masters: 1 },
  ),

  behaviour(
    "2.17",
    "A lock that is logged shows its resources and its state, and no token",
    async (bench) => {
      const { lock } = await held(bench);
      for (const shown of [JSON.stringify({ lock }), inspect({ lock }, { depth: 20, showHidden: true })]) {
        assert.ok(/resources.*"?r"?.*state.*held/s.test(shown), shown);
        assert.ok(!shown.includes(lock.value.slice(0, 12)), shown);
      }
    },
    { masters: 1 },
  ),
];
