import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { AbortError, ExecutionError, InvalidArgumentError, ResourceLockedError } from "../errors.ts";
import { Admission } from "../load/admission.ts";
import type { Sink } from "../protocol/node.ts";
import { Redlock } from "../redlock.ts";
import { Cancellation } from "../time/cancellation.ts";
import { refusal, settle, VirtualClient, type VirtualSetting, virtualSetting } from "../virtual-time.test.ts";
import { acquire } from "./acquire.ts";
import type { LocalQueues } from "./local-queues.ts";

// PROTOCOL 1.10, 12.10.

const still = { retryJitter: 0 };

function lockedByRival(count: number, options: object, ttl = Number.POSITIVE_INFINITY): VirtualSetting {
  const setting = virtualSetting(count, { ...still, ...options });
  for (const master of setting.masters) master.put("r", "rival", ttl);
  return setting;
}

/** When each vote was sent to the first master. */
function votesAt({ nodes }: VirtualSetting): number[] {
  return nodes[0]!.sent.filter(({ kind }) => kind === "vote").map(({ at }) => at);
}

describe("retryCount", () => {
  test.each([0, 1, 3])("%i is so many attempts after the first", async (retryCount) => {
    const setting = lockedByRival(3, { retryCount, retryDelay: 200 });
    const { error } = await setting.time.measure(setting.redlock.acquire("r", 1000));
    expect(error).toBeInstanceOf(ResourceLockedError);
    expect(votesAt(setting)).toEqual(Array.from({ length: retryCount + 1 }, (_, index) => index * 202));
    expect((error as ResourceLockedError).attempts).toHaveLength(retryCount + 1);
  });

  test("-1 goes on until the lock is there", async () => {
    const setting = lockedByRival(3, { retryCount: -1, retryDelay: 200 }, 60_000);
    const lock = await setting.time.run(setting.redlock.acquire("r", 1000));
    expect(setting.time.now()).toBeGreaterThan(60_000);
    expect(lock.state).toBe("held");
  });

  test("of many attempts the last 32 are kept", async () => {
    const setting = lockedByRival(3, { retryCount: 50, retryDelay: 1 });
    const { error } = await setting.time.measure(setting.redlock.acquire("r", 1000));
    expect((error as ResourceLockedError).attempts).toHaveLength(32);
  });

  test("the time between two attempts is the backoff's, which knows how many there were", async () => {
    const attempts: number[] = [];
    const drawn = new Set<number>();
    const backoff = ({ attempt, random }: { attempt: number; random: number }) => {
      expect(random).toBeGreaterThanOrEqual(0);
      expect(random).toBeLessThan(1);
      drawn.add(random);
      attempts.push(attempt);
      return attempt * 10;
    };
    const setting = lockedByRival(3, { retryCount: 3, backoff });
    await setting.time.measure(setting.redlock.acquire("r", 1000));
    expect(attempts.slice(0, 3)).toEqual([1, 2, 3]);
    expect(drawn.size).toBe(attempts.length);
    expect(votesAt(setting)).toEqual([0, 12, 34, 66]);
  });

  test("of one call, like retryDelay, replaces that of the constructor for this call", async () => {
    const setting = lockedByRival(3, { retryCount: 50, retryDelay: 5000 });
    const attemptsOf = async (options: object): Promise<number> => {
      const { error } = await setting.time.measure(setting.redlock.acquire("r", 1000, options));
      return (error as ResourceLockedError).attempts.length;
    };
    expect(await attemptsOf({ retryCount: 2, retryDelay: 1 })).toBe(3);
    expect(setting.time.now()).toBeLessThan(20);
    expect(await attemptsOf({ retryCount: 0 })).toBe(1);
    expect(await attemptsOf({ waitTimeout: 9000 })).toBe(3);
  });

  test("jitter spreads the waits over the whole of retryDelay give or take retryJitter", async () => {
    const setting = lockedByRival(3, { retryCount: 200, retryDelay: 200, retryJitter: 100 });
    await setting.time.measure(setting.redlock.acquire("r", 1000));
    const sent = votesAt(setting);
    const waits = sent.slice(1).map((at, index) => at - sent[index]! - 2);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(100);
    expect(Math.min(...waits)).toBeLessThan(110);
    expect(Math.max(...waits)).toBeLessThanOrEqual(300);
    expect(Math.max(...waits)).toBeGreaterThan(290);
  });
});

describe("a wait for a key that is known to expire", () => {
  test("lasts no longer than the key", async () => {
    const setting = lockedByRival(3, { retryCount: 1, retryDelay: 5000 }, 300);
    const lock = await setting.time.run(setting.redlock.acquire("r", 1000));
    expect(lock.state).toBe("held");
    const [, second] = votesAt(setting);
    expect(second).toBeGreaterThan(300);
    expect(second).toBeLessThanOrEqual(300 + 10);
  });

  test("lasts until a quorum is free, not until all are", async () => {
    const setting = virtualSetting(3, { ...still, retryCount: 1, retryDelay: 5000 });
    for (const [index, ttl] of [200, 300, 9000].entries()) setting.masters[index]!.put("r", "rival", ttl);
    await setting.time.run(setting.redlock.acquire("r", 1000));
    expect(votesAt(setting)[1]).toBeLessThanOrEqual(310);
  });

  test("is spread a little, so that those who wait do not all ask at the same moment", async () => {
    const seen = new Set<number>();
    for (let seed = 1; seed <= 20; seed += 1) {
      const { time, masters } = virtualSetting(3);
      for (const master of masters) master.put("r", "rival", 300);
      const client = new VirtualClient(masters, { ...still, retryCount: 1, retryDelay: 5000 }, seed);
      await time.run(client.redlock.acquire("r", 1000));
      seen.add(client.nodes[0]!.sent[1]!.at);
    }
    expect(seen.size).toBeGreaterThan(3);
  });

  test("is the backoff's if the key has no expiry: a held lock is not requested again quickly", async () => {
    const setting = lockedByRival(3, { retryCount: 1, retryDelay: 5000 });
    await setting.time.measure(setting.redlock.acquire("r", 1000));
    expect(votesAt(setting)).toEqual([0, 5002]);
  });

  test("is the backoff's where no quorum can be reached", async () => {
    const setting = lockedByRival(3, { retryCount: 1, retryDelay: 5000 }, 300);
    setting.nodes[1]!.cut();
    setting.nodes[2]!.cut();
    await setting.time.measure(setting.redlock.acquire("r", 1000));
    expect(votesAt(setting)[1]).toBeGreaterThanOrEqual(5000);
  });
});

async function attemptsWith(remaining: number, options: object): Promise<number> {
  const setting = virtualSetting(1, { ...still, ...options });
  // Another client takes it again and again, each time for as long.
  setting.nodes[0]!.answering = ({ kind }) => (kind === "vote" ? refusal("rival", remaining) : undefined);
  await setting.time.measure(setting.redlock.acquire("r", 1000));
  return votesAt(setting).length;
}

describe("a pause that is cut short because the key expires sooner", () => {
  test("counts for the part of it that was waited", async () => {
    // Pauses of 501 to 506 ms instead of 1000: two retries are four of those.
    expect(await attemptsWith(500, { retryCount: 2, retryDelay: 1000 })).toBe(1 + 4);
  });

  test("counts for a tenth at least, so short locks are not asked for without end", async () => {
    const attempts = await attemptsWith(1, { retryCount: 2, retryDelay: 1000 });
    expect(attempts).toBeGreaterThanOrEqual(1 + 20);
    expect(attempts).toBeLessThanOrEqual(1 + 21);
  });

  test("counts for a whole one where it was not cut short, and where it is none", async () => {
    expect(await attemptsWith(5000, { retryCount: 3, retryDelay: 1000 })).toBe(1 + 3);
    expect(await attemptsWith(5000, { retryCount: 3, retryDelay: 0 })).toBe(1 + 3);
  });
});

describe("waitTimeout", () => {
  test("replaces retryCount, and the last attempt is made right at the limit", async () => {
    const setting = lockedByRival(3, { retryCount: 0, waitTimeout: 1000, retryDelay: 300 });
    const { took, error } = await setting.time.measure(setting.redlock.acquire("r", 1000));
    expect(error).toBeInstanceOf(ResourceLockedError);
    expect(votesAt(setting)).toEqual([0, 302, 604, 906, 1000]);
    expect(took).toBeLessThanOrEqual(1000 + 50);
  });

  test.each([999_999, Number.POSITIVE_INFINITY])(
    "a lock that is free at the limit is taken, with a backoff of %s",
    async (pause) => {
      const setting = lockedByRival(3, { waitTimeout: 1000, backoff: () => pause }, 995);
      const lock = await setting.time.run(setting.redlock.acquire("r", 1000));
      expect(lock.state).toBe("held");
    },
  );

  test.each([
    ["without end waits without end", Number.POSITIVE_INFINITY],
    ["longer than any timer's delay is kept as well", 2 ** 40],
  ])("%s", async (_, waitTimeout) => {
    const setting = lockedByRival(3, { waitTimeout }, 60_000);
    expect((await setting.time.run(setting.redlock.acquire("r", 1000))).state).toBe("held");
  });

  test("leaves no timer behind", async () => {
    const setting = virtualSetting(3, { ...still, waitTimeout: 60_000 });
    const lock = await setting.time.run(setting.redlock.acquire("r", 1000));
    await setting.time.run(lock.release());
    await setting.time.advance(5);
    expect(setting.machine.timers.size).toBe(0);
  });

  test("of 0 is one attempt", async () => {
    const setting = lockedByRival(3, { waitTimeout: 0 });
    await setting.time.measure(setting.redlock.acquire("r", 1000));
    expect(votesAt(setting)).toEqual([0]);
  });

  test("no attempt begins later, though the one before it took long", async () => {
    const setting = virtualSetting(3, { ...still, waitTimeout: 100, retryDelay: 10, nodeTimeout: 60 });
    setting.masters[0]!.put("r", "rival");
    setting.nodes[1]!.hang();
    const { took } = await setting.time.measure(setting.redlock.acquire("r", 1000));
    for (const at of votesAt(setting)) expect(at).toBeLessThanOrEqual(100);
    // The last round may take its time, and so may the rollback behind it.
    expect(took).toBeLessThanOrEqual(100 + 2 * 60);
  });

  test("no vote that rivals split is taken again later", async () => {
    const setting = virtualSetting(2, { ...still, waitTimeout: 100, retryDelay: 60 });
    setting.masters[0]!.put("r", "rival");
    await setting.time.measure(setting.redlock.acquire("r", 1000));
    for (const at of votesAt(setting)) expect(at).toBeLessThanOrEqual(100);
  });

  test("an earlier refusal is reported, even if the call is not admitted again before the limit", async () => {
    const setting = lockedByRival(3, {
      waitTimeout: 100,
      retryDelay: 50,
      nodeTimeout: 80,
      acquireConcurrency: 1,
    });
    const acquiring = setting.redlock.acquire("r", 1000);
    acquiring.catch(() => {});
    await setting.time.advance(60);
    for (const node of setting.nodes) node.hang();
    const blocking = setting.redlock.acquire("other", 1000);
    blocking.catch(() => {});
    const { error } = await setting.time.measure(acquiring);
    expect(setting.time.now()).toBeLessThanOrEqual(101);
    expect(error).toBeInstanceOf(ResourceLockedError);
    await setting.time.measure(blocking);
  });

  test("no attempt that waits for its place begins later", async () => {
    const setting = virtualSetting(3, { ...still, waitTimeout: 100, nodeTimeout: 80, acquireConcurrency: 1 });
    for (const node of setting.nodes) node.hang();
    const waiting = Array.from({ length: 10 }, () => setting.redlock.acquire("r", 1000));
    const { took } = await setting.time.measure(Promise.allSettled(waiting));
    expect(took).toBeLessThanOrEqual(100 + 2 * 80);
    for (const at of votesAt(setting)) expect(at).toBeLessThanOrEqual(100);
  });
});

/** Rivals on the first two of three masters that ask again and again, each time with a new token. */
function withLiveRivals(until: number, options: object): VirtualSetting {
  const setting = virtualSetting(3, { ...still, ...options });
  let asked = 0;
  for (const node of setting.nodes.slice(0, 2)) {
    node.answering = ({ kind, at }) => {
      asked += 1;
      return kind === "vote" && at < until ? refusal(`rival ${asked}`, 1000) : undefined;
    };
  }
  return setting;
}

describe("votes that rivals split", () => {
  test("are taken again quickly, with no attempt used up", async () => {
    const setting = withLiveRivals(25, { retryCount: 0, retryDelay: 5000 });
    const lock = await setting.time.run(setting.redlock.acquire("r", 1000));
    expect(lock.state).toBe("held");
    expect(setting.time.now()).toBeLessThan(200);
  });

  test("are taken again a limited number of times, within a bounded time", async () => {
    const setting = withLiveRivals(Number.POSITIVE_INFINITY, { retryCount: 0 });
    const { took, error } = await setting.time.measure(setting.redlock.acquire("r", 1000));
    expect(error).toBeInstanceOf(ResourceLockedError);
    expect(votesAt(setting)).toHaveLength(9);
    expect(took).toBeLessThan(9 * 200);
  });

  test("count as one attempt with those that follow at once", async () => {
    const setting = lockedByRival(2, { retryCount: 10, retryDelay: 200 });
    setting.masters[0]!.put("r", "another rival", Number.POSITIVE_INFINITY);
    const { error } = await setting.time.measure(setting.redlock.acquire("r", 1000));
    expect(votesAt(setting)).toHaveLength(44);
    expect((error as ResourceLockedError).attempts).toHaveLength(11);
  });

  test("a rival that refuses four times with the same token is a lock, and waited for like one", async () => {
    const setting = virtualSetting(3, { ...still, retryCount: 1, retryDelay: 5000 });
    setting.masters[0]!.put("r", "left behind a", 400);
    setting.masters[1]!.put("r", "left behind b", 400);
    const lock = await setting.time.run(setting.redlock.acquire("r", 1000));
    expect(lock.state).toBe("held");
    const [, , , again, last, ...more] = votesAt(setting);
    expect(again).toBeLessThan(50);
    expect(last).toBeGreaterThan(400);
    expect(more).toEqual([]);
  });

  test("three rivals at once: one wins within a few round trips", async () => {
    for (let seed = 1; seed <= 15; seed += 1) {
      const { time, masters } = virtualSetting(3);
      const rivals = [0, 1, 2].map((place) => {
        const rival = new VirtualClient(masters, still, seed * 10 + place);
        // Each is nearest to its own master.
        for (const [index, node] of rival.nodes.entries()) node.toMaster = index === place ? 1 : 5;
        return rival;
      });
      const results = Promise.allSettled(rivals.map(({ redlock }) => redlock.acquire("r", 60_000)));
      const settled = await time.run(results);
      expect(settled.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      expect(time.now()).toBeLessThan(500);
    }
  });

  test("are won while the rollbacks of rivals take longer than a retry", async () => {
    const setting = virtualSetting(3, { ...still, retryCount: 0 });
    setting.masters[0]!.put("r", "rolled back late a", 12);
    setting.masters[1]!.put("r", "rolled back late b", 12);
    const lock = await setting.time.run(setting.redlock.acquire("r", 1000));
    expect(lock.state).toBe("held");
  });

  test("waits for the last answer if that shows whether the votes were split", async () => {
    const setting = withLiveRivals(40, { retryCount: 0 });
    setting.nodes[2]!.fromMaster = 40;
    const acquiring = setting.redlock.acquire("r", 1000);
    await setting.time.advance(39);
    expect(votesAt(setting)).toHaveLength(1);
    expect(setting.nodes[2]!.kinds).toEqual(["vote", "release"]);
    await expect(setting.time.run(acquiring)).resolves.toMatchObject({ state: "held" });
  });
});

test.each([
  ["gives no number", () => Number.NaN, InvalidArgumentError],
  ["throws", failingBackoff, "no backoff"],
] as const)(
  "a backoff that %s ends the waiting with its error, and leaves no key",
  async (_, backoff, error) => {
    const setting = virtualSetting(3, { ...still, retryCount: 5, backoff });
    for (const master of setting.masters.slice(1)) master.put("r", "rival");
    await expect(setting.time.run(setting.redlock.acquire("r", 1000))).rejects.toThrow(error);
    await setting.time.advance(10);
    expect(votesAt(setting)).toHaveLength(1);
    expect(setting.masters[0]!.owner("r")).toBeUndefined();
  },
);

describe("what a failure says", () => {
  test("held by another: the error has the resource, the maximum remaining time and the votes", async () => {
    const setting = lockedByRival(3, {}, 800);
    const { error } = await setting.time.measure(setting.redlock.acquire("r", 1000));
    expect(error).toBeInstanceOf(ResourceLockedError);
    const { resource, remaining, attempts } = error as ResourceLockedError;
    expect([resource, remaining]).toEqual(["r", 799]);
    const stats = await setting.time.run(attempts[0]!);
    expect(stats).toMatchObject({ membershipSize: 3, quorumSize: 2 });
    expect([...stats.votesAgainst.keys()]).toEqual(setting.nodes.map(({ client }) => client));
    expect([...stats.votesAgainst.values()][0]).toBeInstanceOf(ResourceLockedError);
  });

  test("no quorum: what each master said, by name", async () => {
    const setting = virtualSetting(3, { nodeTimeout: 50 });
    setting.nodes[0]!.cut();
    setting.nodes[1]!.hang();
    const { error } = await setting.time.measure(setting.redlock.acquire("r", 1000));
    expect(error).toBeInstanceOf(ExecutionError);
    expect(error).not.toBeInstanceOf(ResourceLockedError);
    expect((error as Error).message).toMatch(
      /^No quorum: master-0: UNREACHABLE; master-1: TIMEOUT; master-2\b.*\byes \[NO_QUORUM\]$/,
    );
  });

  test("a yes that arrived too late to count is not reported as one", async () => {
    const setting = virtualSetting(3, { nodeTimeout: 50 });
    setting.nodes[0]!.fromMaster = 70;
    setting.nodes[1]!.fromMaster = 70;
    setting.nodes[2]!.hang();
    const { error } = await setting.time.measure(setting.redlock.acquire("r", 1000));
    expect((error as Error).message).not.toMatch(/\byes\b/);
  });

  test("the stats are there once every master has answered or timed out", async () => {
    const { time, nodes, redlock } = virtualSetting(3, { nodeTimeout: 50 });
    nodes[1]!.fromMaster = 20;
    nodes[2]!.hang();
    const lock = await time.run(redlock.acquire("r", 1000));
    const { took } = await time.measure(lock.attempts[0]!);
    expect(time.now()).toBe(50);
    expect(took).toBe(50 - 21);
    const stats = await lock.attempts[0]!;
    expect([...stats.votesFor]).toEqual([nodes[0]!.client, nodes[1]!.client]);
    expect([...stats.votesAgainst]).toMatchObject([[nodes[2]!.client, { reason: "TIMEOUT" }]]);
  });
});

/** Every call that waits for a lock. */
const calls = {
  acquire: ({ redlock }: VirtualSetting, signal: AbortSignal) => redlock.acquire("r", 1000, { signal }),
  tryAcquire: ({ redlock }: VirtualSetting, signal: AbortSignal) => redlock.tryAcquire("r", 1000, { signal }),
  using: ({ redlock }: VirtualSetting, signal: AbortSignal) =>
    redlock.using("r", 1000, { signal }, () => expect.unreachable("the routine runs")),
};
const names = Object.keys(calls) as Array<keyof typeof calls>;

async function aborted(setting: VirtualSetting, after: number, call: keyof typeof calls = "acquire") {
  const controller = new AbortController();
  const calling = calls[call](setting, controller.signal);
  calling.catch(() => {});
  await setting.time.advance(after);
  controller.abort("enough");
  const begun = setting.time.now();
  const { took, error } = await setting.time.measure(calling);
  expect(error).toBeInstanceOf(AbortError);
  expect(error).toMatchObject({ code: "ABORTED", cause: "enough" });
  expect(setting.time.now() - begun).toBe(took);
  expect(getEventListeners(controller.signal, "abort")).toEqual([]);
  return { took };
}

describe("cancellation", () => {
  test.each(names)("of %s before anything is sent sends nothing, and keeps the reason", async (name) => {
    const setting = virtualSetting(3);
    const signal = AbortSignal.abort("enough");
    await expect(calls[name](setting, signal)).rejects.toMatchObject({ code: "ABORTED", cause: "enough" });
    expect(setting.nodes.flatMap(({ sent }) => sent)).toEqual([]);
    expect(setting.machine.timers.size).toBe(0);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  test.each(names)("of %s while the votes are under way rolls them back and waits for that", async (name) => {
    const setting = virtualSetting(3);
    expect((await aborted(setting, 1, name)).took).toBe(2);
    for (const node of setting.nodes) expect(node.kinds).toEqual(["vote", "release"]);
    for (const master of setting.masters) expect(master.owner("r")).toBeUndefined();
  });

  test("with hung masters settles within one master's time", async () => {
    const setting = virtualSetting(3, { nodeTimeout: 50 });
    for (const node of setting.nodes) node.hang();
    expect((await aborted(setting, 10)).took).toBe(50);
  });

  test("while it is not yet known whether votes were split", async () => {
    const setting = virtualSetting(3, { nodeTimeout: 50, retryCount: 5 });
    setting.masters[0]!.put("r", "rival a");
    setting.masters[1]!.put("r", "rival b");
    setting.nodes[2]!.fromMaster = 40;
    expect((await aborted(setting, 10)).took).toBeLessThanOrEqual(50);
    expect(votesAt(setting)).toHaveLength(1);
  });

  test.each(["acquire", "using"] as const)("of %s between two attempts settles at once", async (name) => {
    const setting = lockedByRival(3, { retryCount: -1, retryDelay: 10_000 });
    expect((await aborted(setting, 500, name)).took).toBe(0);
    expect(setting.machine.timers.size).toBe(0);
    await setting.time.advance(20_000);
    expect(votesAt(setting)).toEqual([0]);
  });

  test("in whatever moment leaves no key behind, unless the lock was granted", async () => {
    for (let moment = 0; moment < 25; moment += 1) {
      const { time, nodes, masters, redlock } = virtualSetting(1);
      const controller = new AbortController();
      const askNode = nodes[0]!.ask.bind(nodes[0]);
      nodes[0]!.ask = (question, place, sink) => {
        const answered: Sink["answered"] = (_, answer) => {
          let turns = Promise.resolve();
          for (let turn = 0; turn < moment; turn += 1) turns = turns.then(() => {});
          void turns.then(() => controller.abort());
          // The first of the moments is before it is heard.
          void Promise.resolve().then(() => sink.answered(place, answer));
        };
        askNode(question, place, question.verb === "vote" ? { answered } : sink);
      };
      const outcome = await time.run(
        redlock.acquire("r", 1000, { signal: controller.signal }).catch((error: unknown) => error),
      );
      if (outcome instanceof AbortError) {
        await time.advance(5);
        expect(masters[0]!.owner("r")).toBeUndefined();
      } else {
        expect(outcome).toMatchObject({ state: "held", value: masters[0]!.owner("r") });
      }
    }
  });

  test("before a split vote is taken again settles at once", async () => {
    const setting = virtualSetting(3, { retryDelay: 5000 });
    setting.masters[0]!.put("r", "rival a");
    setting.masters[1]!.put("r", "rival b");
    for (const node of setting.nodes) node.toMaster = 200;
    const options = { signal: undefined as AbortSignal | undefined, nodeTimeout: 400 };
    const controller = new AbortController();
    options.signal = controller.signal;
    const acquiring = setting.redlock.acquire("r", 2000, options);
    acquiring.catch(() => {});
    await setting.time.advance(202);
    const sent = votesAt(setting).length;
    controller.abort();
    const { took } = await setting.time.measure(acquiring);
    expect(took).toBeLessThanOrEqual(201);
    expect(votesAt(setting)).toHaveLength(sent);
  });

  test.each(names)(
    "of %s while it waits for its place settles at once, and its place is not used",
    async (name) => {
      const setting = virtualSetting(3, { acquireConcurrency: 1, nodeTimeout: 90 });
      for (const node of setting.nodes) node.hang();
      const first = setting.redlock.acquire("other", 1000);
      first.catch(() => {});
      await settle();
      expect((await aborted(setting, 10, name)).took).toBe(0);
      await setting.time.measure(first);
      for (const node of setting.nodes)
        expect(node.sent.map(({ resources }) => resources[0])).not.toContain("r");
    },
  );

  test("after the lock was granted changes nothing", async () => {
    const setting = virtualSetting(3);
    const controller = new AbortController();
    const lock = await setting.time.run(setting.redlock.acquire("r", 1000, { signal: controller.signal }));
    controller.abort();
    expect(lock.state).toBe("held");
    expect(lock.signal.aborted).toBe(false);
  });

  test("leaves no listener on the caller's signal", async () => {
    const setting = virtualSetting(3);
    const { signal } = new AbortController();
    await setting.time.run(setting.redlock.acquire("r", 1000, { signal }));
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});

describe("acquireConcurrency", () => {
  test("bounds the rounds in flight, not those who wait between two attempts", async () => {
    const setting = virtualSetting(3, { ...still, acquireConcurrency: 2, retryCount: 1, retryDelay: 1000 });
    for (const master of setting.masters) master.put("taken", "rival");
    const taken = Array.from({ length: 4 }, () => setting.redlock.acquire("taken", 1000));
    for (const one of taken) one.catch(() => {});
    const free = setting.redlock.acquire("free", 1000);
    // Two at a time, 2 ms each, and all four wait when the last one is asked.
    expect(await setting.time.measure(free)).toMatchObject({ error: undefined });
    expect(setting.time.now()).toBeLessThanOrEqual(10);
    const votes = setting.nodes[0]!.sent.filter(({ kind }) => kind === "vote");
    for (const at of new Set(votes.map((vote) => vote.at))) {
      expect(votes.filter((vote) => vote.at === at).length).toBeLessThanOrEqual(2);
    }
    await setting.time.measure(Promise.allSettled(taken));
  });

  test("what was refused to others meanwhile is not voted for, where there is a queue to wait in", async () => {
    const setting = lockedByRival(3, { retryCount: -1 });
    const inside = Redlock.internalsOf(setting.redlock);
    const { runtime, clock, timers } = inside.context;
    const context = {
      ...inside.context,
      admission: new Admission(runtime, clock, timers, new Set(), 1),
    };
    let isContended = false;
    const queues = {
      isContended: () => isContended,
      onRefused: () => {
        isContended = true;
      },
      wait: async () => ({}),
      clock: { latestCall: 0 },
    } as unknown as LocalQueues;
    const request = { resources: ["r"], ttl: 1000, settings: inside.settingsFor(undefined) };
    const contests = Array.from({ length: 5 }, () =>
      acquire({ context, request, cancellation: new Cancellation(), queues }),
    );
    for (const contest of await setting.time.run(Promise.all(contests))) {
      expect(contest).toMatchObject({ contended: true });
    }
    // The second one begins when the first is notified.
    expect(votesAt(setting)).toHaveLength(2);
  });

  test("extend, verify and release never wait behind it", async () => {
    const setting = virtualSetting(3, { acquireConcurrency: 1, nodeTimeout: 90 });
    const lock = await setting.time.run(setting.redlock.acquire("mine", 1000));
    const stuck = setting.redlock.acquire("r", 1000);
    stuck.catch(() => {});
    for (const node of setting.nodes)
      node.answering = ({ kind }) => (kind === "vote" ? "silence" : undefined);
    await settle();
    expect(await setting.time.measure(lock.extend(1000))).toMatchObject({ took: 2, error: undefined });
    expect(await setting.time.measure(lock.verify())).toMatchObject({ took: 2, error: undefined });
    expect(await setting.time.measure(lock.release())).toMatchObject({ took: 2, error: undefined });
    await setting.time.measure(stuck);
  });
});

/** A call of "other" is the only one admitted for `nodeTimeout` ms, because no master answers it. */
function withOthersAdmitted(nodeTimeout: number, options: object = {}): VirtualSetting {
  const setting = virtualSetting(3, { ...still, acquireConcurrency: 1, retryCount: 0, ...options });
  for (const node of setting.nodes) {
    node.answering = ({ kind, resources }) =>
      kind === "vote" && resources[0] === "other" ? "silence" : undefined;
  }
  setting.redlock.acquire("other", 60_000, { nodeTimeout }).catch(() => {});
  return setting;
}

describe("a call that waits for admission", () => {
  test("is refused within its nodeTimeout if it never retries", async () => {
    const setting = withOthersAdmitted(4000);
    const options = { nodeTimeout: 200 };
    const { took, error } = await setting.time.measure(setting.redlock.tryAcquire("r", 60_000, options));
    expect(error).toBeInstanceOf(ExecutionError);
    expect((error as Error).message).toMatch(/^Timed out waiting for admission: 1 may ask/);
    expect(took).toBe(150);
  });

  test("has that time for admission and its round together if it never retries", async () => {
    const setting = withOthersAdmitted(120);
    for (const node of setting.nodes) node.hang();
    const options = { nodeTimeout: 200 };
    const { took, error } = await setting.time.measure(setting.redlock.tryAcquire("r", 60_000, options));
    expect((error as Error).message).toMatch(/^No quorum: master-0: TIMEOUT/);
    // The rollback of an unanswered vote is not waited for.
    expect(took).toBe(200);
  });

  test("is refused without a nodeTimeout after half a second, whatever the ttl", async () => {
    for (const ttl of [1000, 10_000, 60_000]) {
      const setting = withOthersAdmitted(4000);
      const { took } = await setting.time.measure(setting.redlock.acquire("r", ttl));
      expect(took).toBe(500);
    }
  });

  test("waits on without a nodeTimeout while masters answer other calls, for two seconds at most", async () => {
    const setting = virtualSetting(3, { ...still, acquireConcurrency: 1, retryCount: 0 });
    for (const node of setting.nodes) node.toMaster = 39;
    const ended: number[] = [];
    const calls = Array.from({ length: 60 }, (_, index) =>
      setting.redlock.tryAcquire(`r${index}`, 1000).finally(() => ended.push(setting.time.now())),
    );
    const results = await setting.time.run(Promise.allSettled(calls));
    // A round takes 40 ms.
    expect(results.map(({ status }) => status)).toEqual(
      results.map((_, index) => (index < 50 ? "fulfilled" : "rejected")),
    );
    expect(Math.max(...ended)).toBe(2000);
  });

  test("is refused without a nodeTimeout half a second after the last answer", async () => {
    const setting = virtualSetting(3, { ...still, acquireConcurrency: 1, retryCount: 0 });
    for (const node of setting.nodes) {
      node.toMaster = 299;
      node.answering = ({ kind, resources }) =>
        kind === "vote" && resources[0] === "other" ? "silence" : undefined;
    }
    const answered = setting.redlock.tryAcquire("r", 60_000);
    setting.redlock.tryAcquire("other", 60_000, { nodeTimeout: 6000 }).catch(() => {});
    const { took, error } = await setting.time.measure(setting.redlock.tryAcquire("next", 60_000));
    expect((await answered)!.state).toBe("held");
    expect((error as Error).message).toMatch(/^Timed out waiting for admission: 1 may ask/);
    expect(took).toBe(300 + 500);
  });

  test("has without a nodeTimeout the default of its ttl for its round besides", async () => {
    for (const [ttl, roundTime] of [
      [1000, 50],
      [10_000, 500],
    ] as const) {
      const setting = withOthersAdmitted(490);
      for (const node of setting.nodes) node.hang();
      const { took, error } = await setting.time.measure(setting.redlock.tryAcquire("r", ttl));
      expect((error as Error).message).toMatch(/^No quorum: master-0: TIMEOUT/);
      expect(took).toBe(490 + roundTime);
    }
  });

  test("has a quarter of that time for a round that begins late if it never retries", async () => {
    const setting = withOthersAdmitted(149);
    const options = { nodeTimeout: 200 };
    const lock = await setting.time.run(setting.redlock.tryAcquire("r", 60_000, options));
    expect(lock!.state).toBe("held");
    expect(setting.time.now()).toBeLessThan(155);
  });

  test("has the time that its retries would take", async () => {
    const setting = withOthersAdmitted(4000);
    const options = { nodeTimeout: 200, retryCount: 3, retryDelay: 100 };
    const { took } = await setting.time.measure(setting.redlock.acquire("r", 60_000, options));
    expect(took).toBe(150 + 3 * 100);
  });

  test("has the time that its backoff would take, and the first retry is still the first", async () => {
    const asked: number[] = [];
    const backoff = ({ attempt }: { attempt: number }) => {
      asked.push(attempt);
      return attempt * 100;
    };
    const setting = withOthersAdmitted(250);
    for (const master of setting.masters) master.put("r", "rival");
    const options = { nodeTimeout: 200, retryCount: 3, backoff };
    await setting.time.measure(setting.redlock.acquire("r", 60_000, options));
    expect(asked).toEqual([1, 2, 3, 1, 2, 3]);
    // 100 ms of 250 were more than its time for admission: half of the mean pause, so the three retries are two and a half.
    expect(votesAt(setting).slice(1)).toEqual([250, 352, 554, 856]);
  });

  test("counts a long wait as retries", async () => {
    const setting = withOthersAdmitted(350);
    for (const master of setting.masters) master.put("r", "rival");
    const options = { nodeTimeout: 200, retryCount: 3, retryDelay: 100 };
    await setting.time.measure(setting.redlock.acquire("r", 60_000, options));
    // 200 ms of 350 are two of three retries.
    expect(votesAt(setting).slice(1)).toEqual([350, 452]);
  });

  test("gets its time once more after the event loop was blocked", async () => {
    const setting = withOthersAdmitted(450);
    const options = { nodeTimeout: 400 };
    const waiting = setting.redlock.tryAcquire("r", 60_000, options);
    setting.machine.block(400);
    const lock = await setting.time.run(waiting);
    expect(lock!.state).toBe("held");
    const next = withOthersAdmitted(4000);
    const refused = next.redlock.tryAcquire("r", 60_000, options);
    next.machine.block(400);
    expect((await next.time.measure(refused)).took).toBeLessThanOrEqual(400 + 300);
  });

  test("is admitted in a burst of 2,000, whatever the settings", async () => {
    const setting = virtualSetting(3);
    const calls = Array.from({ length: 2000 }, (_, index) =>
      index % 2 ? setting.redlock.tryAcquire(`r${index}`, 1000) : setting.redlock.acquire(`r${index}`, 1000),
    );
    for (const lock of await setting.time.run(Promise.all(calls))) expect(lock).not.toBeNull();
  });
});

function failingBackoff(): never {
  throw new Error("no backoff");
}

describe("the next call is admitted", () => {
  test("after an exception in the attempt", async () => {
    const setting = virtualSetting(3, { ...still, acquireConcurrency: 1, retryCount: 0 });
    const { machine, redlock, time } = setting;
    const randomBytes = machine.randomBytes.bind(machine);
    machine.randomBytes = () => {
      throw new Error("no randomness");
    };
    await expect(redlock.acquire("r", 1000)).rejects.toThrow("no randomness");
    machine.randomBytes = randomBytes;
    expect((await time.run(redlock.acquire("r", 1000))).state).toBe("held");
  });

  test("after an exception in the backoff of a call that waits", async () => {
    const setting = withOthersAdmitted(100);
    const failing = setting.redlock.acquire("r", 60_000, { retryCount: 3, backoff: failingBackoff });
    await expect(failing).rejects.toThrow("no backoff");
    const options = { nodeTimeout: 200 };
    expect((await setting.time.run(setting.redlock.tryAcquire("r", 60_000, options)))!.state).toBe("held");
  });

  test("after an exception between the admission and the attempt", async () => {
    const setting = virtualSetting(3, { retryCount: 3 });
    const inside = Redlock.internalsOf(setting.redlock);
    const { runtime, clock, timers } = inside.context;
    const admission = new Admission(runtime, clock, timers, new Set(), 1);
    let asked = 0;
    const queues = {
      isContended: () => {
        asked += 1;
        if (asked === 3) throw new Error("no clock");
        return false;
      },
      clock: { latestCall: 0 },
    } as unknown as LocalQueues;
    const context = { ...inside.context, admission };
    const request = { resources: ["r"], ttl: 1000, settings: inside.settingsFor(undefined) };
    expect(admission.enter()).toBe(true);
    const failing = acquire({ context, request, cancellation: new Cancellation(), queues });
    failing.catch(() => {});
    await settle();
    admission.leave();
    await expect(failing).rejects.toThrow("no clock");
    expect(admission.enter()).toBe(true);
  });
});
