import { type Proxy as FaultProxy, Stalls } from "@quorlock/testbed";
import { type Case, type Verdict, verdict } from "../case.ts";
import type { Fixture } from "../fixture.ts";
import { Hold } from "../hold.ts";
import type { Subject } from "../libraries/subject.ts";
import { outcomeOf } from "../outcome.ts";

interface Loss {
  readonly begun: number;
  readonly notifiedAt: number | undefined;
  /** When a majority of masters no longer kept the key. */
  readonly free: number | undefined;
  /** The stalls of this process before the lock was held, and the longest one after that, ms. */
  readonly late: number;
}

interface Holder {
  readonly hold: Hold;
  readonly token: string;
  /** The stalls of this process until it was held, ms. */
  readonly delay: number;
}

async function begin(fixture: Fixture, subject: Subject, ttl: number): Promise<Holder> {
  using stalls = new Stalls();
  const hold = await Hold.begin(subject, fixture.resource, ttl);
  const delay = stalls.total;
  const token = (await fixture.tokens()).find((owner) => owner !== undefined);
  if (token === undefined) throw new Error("a lock is held, but no master has a key");
  return { hold, token, delay };
}

/** Watches a held lock until its holder was notified, or for `limit` ms, and whether others could hold meanwhile. */
async function watched(fixture: Fixture, { hold, token, delay }: Holder, limit: number): Promise<Loss> {
  using stalls = new Stalls();
  const freed = fixture.untilFree(token, limit);
  const notifiedAt = await hold.notifiedAt(limit);
  const late = delay + stalls.longest;
  // A majority whose keys live on can only be waited for as long as the keys could live.
  return { begun: hold.begun, notifiedAt, free: await freed, late };
}

function wordsOf({ begun, notifiedAt, free, late }: Loss): string {
  const at = (time: number | undefined) =>
    time === undefined ? "never" : `at ${Math.round(time - begun)} ms`;
  return `notified ${at(notifiedAt)}, others could hold ${at(free)}, timers up to ${Math.round(late)} ms late`;
}

/**
 * The demand of every row here. A holder can only be notified where its event loop is free (PROTOCOL 1.6), so the
 * time by which a plain timer of the same process was late is not held against the library.
 */
function judged(loss: Loss, deadline: number, earliest = 0): Verdict {
  const { begun, notifiedAt, free, late } = loss;
  const at = notifiedAt === undefined ? Number.POSITIVE_INFINITY : notifiedAt - begun;
  return verdict(wordsOf(loss), {
    [`notified before ${deadline} ms`]: at < deadline + late,
    "notified before others could hold":
      notifiedAt !== undefined && (free === undefined || notifiedAt < free + late),
    [`not notified before ${earliest} ms`]: at >= earliest,
  });
}

/** A lock of `ttl` ms on a separate path, kept extended until something happens to it. */
interface Situation {
  readonly row: number;
  readonly situation: string;
  readonly bound: string;
  readonly ttl: number;
  /** How long the holder is watched, ms. */
  readonly limit: number;
  /** The accident, once the lock is held. */
  readonly happens: (fixture: Fixture, path: readonly FaultProxy[]) => unknown;
  readonly judge: (loss: Loss) => Verdict;
}

function lossCase({ row, situation, bound, ttl, limit, happens, judge }: Situation): Case {
  return {
    row,
    situation,
    bound,
    mostlyWaits: true,
    async run(fixture) {
      const path = await fixture.path();
      const subject = await fixture.open(path);
      const holder = await begin(fixture, subject, ttl);
      await happens(fixture, path);
      const loss = await watched(fixture, holder, limit);
      await holder.hold.end(2000);
      return judge(loss);
    },
  };
}

const cuts: ReadonlyArray<readonly [string, (proxy: FaultProxy) => Promise<void>]> = [
  [
    "silently",
    async (proxy) => {
      proxy.dropRequests();
      proxy.dropReplies();
    },
  ],
  [
    "by refused connections",
    async (proxy) => {
      await proxy.refuse();
      proxy.reset();
    },
  ],
];

const cutOff = cuts.map(([how, cutOne]) =>
  lossCase({
    row: 7,
    situation: `holder cut off (${how}) from a majority is notified at its deadline`,
    bound:
      "notified before 3000 ms, the ttl, counted from before the request: from then on others can hold. Not " +
      "before 2500 ms: the lock is held until its deadline, and the cut may heal",
    ttl: 3000,
    limit: 9000,
    happens: (_, path) => Promise.all(path.slice(0, 2).map(cutOne)),
    judge: (loss) => judged(loss, 3000, 2500),
  }),
);

/** The keys were taken by force, so that they are free says nothing here. */
const judgedByTime = (loss: Loss): Verdict => judged({ ...loss, free: undefined }, 1000);

/** Replies come, and none of them extends. */
const refusedExtensions: readonly Case[] = [
  lossCase({
    row: 8,
    situation: "every extension is answered with an error: the holder is notified at the deadline",
    bound: "notified before 1000 ms, the ttl, with any number of retries: then others can hold",
    ttl: 1000,
    limit: 6000,
    happens: (fixture) => fixture.spoil([0, 1]),
    judge: judgedByTime,
  }),
  lossCase({
    row: 8,
    situation: "another client took a majority of the keys: the holder is notified before its deadline",
    bound:
      "notified before 1000 ms, the ttl: an extension is due before that, and a refusal by a majority is final",
    ttl: 1000,
    limit: 6000,
    happens: (fixture) => fixture.occupy([0, 1], 30_000),
    judge: judgedByTime,
  }),
];

const ttl = 30_000;

const hungWhileExtending: readonly Case[] = [
  lossCase({
    row: 9,
    situation: "one of three masters hangs while a lock of 30 s is kept extended: the lock stays held",
    bound:
      "not notified, and a majority keeps the key, for 32 s: two masters of three are a quorum for extensions as well",
    ttl,
    limit: 32_000,
    happens: (_, path) => path[0]!.hold("requests"),
    judge: (loss) =>
      verdict(wordsOf(loss), {
        "not notified": loss.notifiedAt === undefined,
        "kept by a majority": loss.free === undefined,
      }),
  }),
  lossCase({
    row: 9,
    situation:
      "a majority hangs while a lock of 30 s is kept extended: the holder is notified before others can hold",
    bound: "notified before 30,000 ms, the ttl, counted from before the request",
    ttl,
    limit: 40_000,
    happens: (_, path) => path.slice(0, 2).map((proxy) => proxy.hold("requests")),
    judge: (loss) => judged(loss, ttl, 25_000),
  }),
  {
    row: 9,
    situation: "the last extension was answered late: the lease counts from before its send",
    bound:
      "notified before a majority gives up the key, 3000 ms after the extension arrived. Its replies come 120 ms late, " +
      "far more than drift (32 ms) and notice (10 ms) together: counted from the reply it would be too late",
    mostlyWaits: true,
    async run(fixture) {
      const path = await fixture.path();
      const subject = await fixture.open(path);
      const holder = await begin(fixture, subject, 3000);
      for (const proxy of path) proxy.delay(120, "replies");
      // One way, extension and answer: the next to pass is the first extension.
      const extended = await outcomeOf(async () => {
        await Promise.all(path.map((proxy) => proxy.nextReply()));
        await Promise.all(path.map((proxy) => proxy.when(({ replies }) => replies.held === 0)));
      }, 4000);
      for (const proxy of path) proxy.hold("requests");
      const loss = await watched(fixture, holder, 9000);
      await holder.hold.end(2000);
      const result = judged(loss, Number.POSITIVE_INFINITY);
      const past = loss.notifiedAt !== undefined && loss.notifiedAt - loss.begun > 3000;
      return verdict(result.observed, {
        "an extension was answered": extended.kind === "resolved",
        "extended by it": past,
        safe: result.conforms,
      });
    },
  },
];

const stepBack = 60_000;

const clockSteps: readonly Case[] = [
  {
    row: 17,
    situation: "the wall clock steps back 60 s while holding: a lock without extension ends in time",
    bound:
      "remaining is 0 when a majority has given up the key (ttl 1000), read at once thereafter: the monotonic clock " +
      "went on",
    mostlyWaits: true,
    async run(fixture) {
      let offset = 0;
      const systemNow = Date.now.bind(Date);
      const subject = await fixture.open(undefined, { wallClock: () => systemNow() + offset });
      const held = await subject.acquire(fixture.resource, 1000);
      offset = -stepBack;
      const free = await fixture.untilFree(held.token, 3000);
      const left = held.remaining();
      return verdict(`${Math.round(left)} ms remaining when others could hold`, {
        "the keys expired": free !== undefined,
        "nothing remains": left <= 0,
      });
    },
  },
  {
    row: 17,
    situation: "the wall clock steps back 60 s and extensions fail: the holder is notified at its deadline",
    bound: "notified before 1000 ms, the ttl, from before the request",
    mostlyWaits: true,
    async run(fixture) {
      let offset = 0;
      const systemNow = Date.now.bind(Date);
      const subject = await fixture.open(undefined, { wallClock: () => systemNow() + offset });
      const holder = await begin(fixture, subject, 1000);
      offset = -stepBack;
      await fixture.spoil([0, 1]);
      const loss = await watched(fixture, holder, 6000);
      await holder.hold.end(2000);
      return judgedByTime(loss);
    },
  },
];

/** A holder knows in time that it holds no more. */
export const loss: readonly Case[] = [...hungWhileExtending, ...cutOff, ...refusedExtensions, ...clockSteps];
