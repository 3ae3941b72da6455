import { ResourceLockedError } from "@quorlock/redlock";
import { ReadWriteLock } from "@quorlock/redlock/read-write-lock";
import { Semaphore } from "@quorlock/redlock/semaphore";
import { describe, expect, test } from "vitest";
import { type SimulateOptions, simulate } from "./simulate.ts";
import type { ClientContext } from "./simulate-options.ts";

// Programs of users, each wrong and right: the verdict on each, and what its story says.

class Account {
  balance = 1000;
  booked = 0;

  read(): number {
    return this.balance;
  }

  write(balance: number): void {
    this.balance = balance;
    this.booked += 1;
  }
}

type Code = (context: ClientContext<Account>) => Promise<unknown>;

function trial(client: Code, options: Partial<SimulateOptions<Account>> = {}) {
  const invariant = ({ balance, booked }: Account): boolean => balance === 1000 - booked;
  return simulate({ resource: () => new Account(), invariant, client, ...options });
}

/** Reads, works, and writes, unless the signal says that the lock is over. */
async function withdraw({ resource, pause }: ClientContext<Account>, signal?: AbortSignal, work = 0) {
  const balance = await resource.read();
  if (work > 0) await pause(work);
  signal?.throwIfAborted();
  await resource.write(balance - 1);
}

const programs: ReadonlyArray<
  readonly [
    string,
    {
      readonly wrong: Code;
      readonly right: Code;
      readonly story: RegExp;
      readonly advice: string;
      readonly seeds?: number;
    },
  ]
> = [
  [
    "a withdrawal that ignores the signal",
    {
      async wrong(context) {
        await using _ = await context.redlock.acquire("account", 1000);
        await withdraw(context);
      },
      async right(context) {
        await using lock = await context.redlock.acquire("account", 1000);
        await withdraw(context, lock.signal);
      },
      story:
        /frozen for [\d,]+ ms: client (\d)\n[\s\S]*client \1 is told that its lock on "account" is over \(expired\)\n.*client \1 runs write\(\d+\)[^\n]* after its lock on "account" was over/,
      advice: "throw if lock.signal is aborted",
    },
  ],
  [
    "a result of tryAcquire that is not looked at",
    {
      async wrong(context) {
        const lock = await context.redlock.tryAcquire("account", 1000);
        await withdraw(context, lock?.signal);
        await lock?.release();
      },
      async right(context) {
        const lock = await context.redlock.tryAcquire("account", 1000);
        await using held = lock;
        if (held) await withdraw(context, held.signal);
      },
      story:
        /client (\d) gets no lock on "account" \(locked\)\n[\s\S]*client \1 runs write\(\d+\) at the resource {2}<-- it holds no lock/,
      advice: "tryAcquire resolves to null",
      // It holds its lock for a short time.
      seeds: 60,
    },
  ],
  [
    "a lock that is released before the write is done",
    {
      async wrong(context) {
        await using lock = await context.redlock.acquire("account", 1000);
        const balance = await context.resource.read();
        lock.signal.throwIfAborted();
        void context.resource.write(balance - 1);
      },
      async right(context) {
        await using lock = await context.redlock.acquire("account", 1000);
        await withdraw(context, lock.signal);
      },
      story:
        /client (\d) releases "account"\n[\s\S]*client \1 runs write\(\d+\) at the resource {2}<-- it has released "account" before that arrives/,
      advice: "Await the work before the release",
    },
  ],
  [
    "work that takes longer than the lease",
    {
      async wrong(context) {
        await using _ = await context.redlock.acquire("account", 1000);
        await withdraw(context, undefined, 1500);
      },
      right: (context) => context.redlock.using("account", 1000, (signal) => withdraw(context, signal, 1500)),
      story:
        /client (\d) runs write\(\d+\)[^\n]* after its lock on "account" was over; client \d holds "account" now/,
      advice: "hold it by using",
    },
  ],
  [
    "a read before the lock is held",
    {
      async wrong({ redlock, resource }) {
        const balance = await resource.read();
        await using lock = await redlock.acquire("account", 1000);
        lock.signal.throwIfAborted();
        await resource.write(balance - 1);
      },
      async right(context) {
        await using lock = await context.redlock.acquire("account", 1000);
        await withdraw(context, lock.signal);
      },
      story:
        /client (\d) runs read\(\) at the resource, and gets \d+ {2}<-- it holds no lock\n[\s\S]*client \1 runs write/,
      advice: "calls read without a lock",
    },
  ],
];

describe.each(programs)("%s", (_, { wrong, right, story, advice, seeds = 10 }) => {
  test("is violated, and its story says by what", async () => {
    const result = await trial(wrong);
    expect(result.verdict).toBe("violated");
    expect(result.story.join("\n")).toMatch(story);
    expect(result.story.at(-1)).toContain(advice);
    expect(result.report).toContain(result.story.join("\n"));
    const picture = await result.picture();
    expect(picture).toContain(`<text class="heading" x="24" y="36">Seed ${result.seed}</text>`);
    expect(picture).toMatch(/<circle class="alarm".*>(read|write)</);
  });

  test("done right is safe with a lock, and needs a fencing token", async () => {
    const { verdict, fencing } = await trial(right, { seeds });
    expect([verdict, fencing.verdict]).toEqual(["ok", "needs a fencing token"]);
  });
});

/** Each of its calls is under a lock. */
const underLocks: ReadonlyArray<readonly [string, Code, RegExp]> = [
  [
    "a lock with two names",
    (context) =>
      context.redlock.using(context.index === 0 ? "account" : "Account", 1000, (signal) =>
        withdraw(context, signal),
      ),
    /client 0 holds "account" [\s\S]*under "[aA]ccount", and client \d under "[aA]ccount" at the same time, which do not exclude/,
  ],
  [
    "a write under a read lock",
    (context) =>
      new ReadWriteLock(context.redlock, "account").usingRead(1000, (signal) => withdraw(context, signal)),
    /at the same time: these are read locks/,
  ],
  [
    "a semaphore that lets two in",
    (context) =>
      new Semaphore(context.redlock, "account", 2).using(1000, (signal) => withdraw(context, signal)),
    /holds permit [01] of "account"[\s\S]*: a semaphore excludes nobody while it has permits/,
  ],
  [
    "a value of an earlier round",
    (() => {
      const known: number[] = [];
      return async ({ redlock, resource, index, round }) => {
        await using lock = await redlock.acquire("account", 1000);
        const balance = round === 0 ? await resource.read() : known[index]!;
        lock.signal.throwIfAborted();
        known[index] = balance - 1;
        await resource.write(balance - 1);
      };
    })(),
    /client (\d) runs write[^<]*client (\d) holds "account" [^<]*client \2 runs write[^<]*no other client was at work then\. Under the lock, read again/,
  ],
  [
    "work that the next round does not wait for, and another lock within",
    async (context) => {
      await using _ = await context.redlock.acquire("account", 1000);
      await context.redlock.using("statistics", 1000, () => context.pause(1));
      await Promise.race([withdraw(context, undefined, 200), context.pause(100)]);
    },
    /holds "account"[^<]*<-- it has released "account" before[\s\S]*releases its lock before write is done/,
  ],
];

test.each(underLocks)("%s is told as such", async (_, client, story) => {
  const result = await trial(client, { faults: [], seeds: 3 });
  expect(result.story.join("\n")).toMatch(story);
});

test("a token that reads do not show needs another one, and one that they show is safe", async () => {
  class Fenced extends Account {
    #seen = 0;

    admit(token: number): void {
      if (token < this.#seen) throw new ResourceLockedError("account", 0, []);
      this.#seen = token;
    }

    readBy(token: number): number {
      this.admit(token);
      return this.read();
    }

    writeBy(token: number, balance: number): void {
      this.admit(token);
      this.write(balance);
    }
  }
  const verdictOf = async (isShown: boolean) => {
    const { fencing } = await simulate({
      resource: () => new Fenced(),
      invariant: ({ balance, booked }) => balance === 1000 - booked,
      settings: { fencing: true, waitTimeout: 10_000 },
      seeds: 20,
      async client({ redlock, resource, pause }) {
        await using lock = await redlock.acquire("account", 1000);
        const token = lock.fencingToken!;
        const balance = await (isShown ? resource.readBy(token) : resource.read());
        await pause(100);
        lock.signal.throwIfAborted();
        await resource.writeBy(token, balance - 1).catch(() => {});
      },
    });
    return fencing.verdict;
  };
  expect(await verdictOf(false)).toBe("needs a fencing token");
  expect(await verdictOf(true)).toBe("safe");
});

test("a timer outside the simulation is suspected where code never ends", async () => {
  const { story } = await trial(() => new Promise((resolve) => setTimeout(resolve, 1)), { seeds: 1 });
  expect(story.at(-1)).toContain("setTimeout instead of pause?");
});

test("a message that is sent under a lock is not so late that the next holder comes before it", async () => {
  const { verdict } = await trial(
    async ({ redlock, resource, pause }) => {
      await using lock = await redlock.acquire("account", 1000);
      const balance = await resource.read();
      await pause(Math.max(1, lock.remaining() - 20));
      lock.signal.throwIfAborted();
      await resource.write(balance - 1);
    },
    { faults: [], masters: 1, rounds: 30, seeds: 3, settings: { nodeTimeout: 250 } },
  );
  expect(verdict).toBe("ok");
});

/** Locks one, and under it the other. */
const nested = async ({ redlock, resource, pause }: ClientContext<Account>, one: string, other: string) => {
  await redlock.using(one, 1000, async () => {
    await pause(5);
    await redlock.using(other, 1000, () => resource.read());
  });
};

const works = ({ redlock, pause }: ClientContext<Account>): Promise<void> =>
  redlock.using("a", 1000, () => pause(3000));

describe("waiting", () => {
  test("locks in two orders are a deadlock, with who waits for whom and for what", async () => {
    const result = await trial((context) =>
      context.index === 0 ? nested(context, "a", "b") : nested(context, "b", "a"),
    );
    expect(result.violation).toMatch(
      /^deadlock at [\d.]+ ms: client 0 holds "a" and waits for "b", which client (\d) holds; client \1 holds "b" and waits for "a", which client 0 holds$/,
    );
    expect(result.story.at(-1)).toContain("acquire([a, b])");
    const inOrder = await trial((context) => nested(context, "a", "b"), { seeds: 10 });
    expect(inOrder).toMatchObject({ verdict: "ok", fencing: { verdict: "safe" } });
  });

  test.each(["b", "a"])(
    "callers of one process wait for each other, and one for itself: %s",
    async (other) => {
      const { violation } = await trial(
        (context) => Promise.all([nested(context, "a", other), nested(context, other, "a")]),
        { clients: 1 },
      );
      expect(violation).toMatch(
        /deadlock .* client 0 holds "a".* and waits for "[ab]", which it holds itself/,
      );
    },
  );

  test("a caller that waits while another of its process works is no deadlock", async () => {
    const { verdict } = await trial((context) => Promise.all([works(context), works(context)]), {
      clients: 1,
      seeds: 3,
    });
    expect(verdict).toBe("ok");
  });

  test("who gives up in time and tries again has no deadlock", async () => {
    const orders = [
      ["a", "b"],
      ["b", "a"],
    ] as const;
    const { verdict } = await trial(
      async ({ redlock, resource, index, random }) => {
        const [one, other] = orders[index % 2]!;
        for (let isDone = false; !isDone; ) {
          isDone = await redlock.using(one, 1000, async () => {
            const options = { waitTimeout: 50 + 100 * random() };
            return redlock
              .using(other, 1000, options, () => resource.read())
              .then(
                () => true,
                (error: unknown) => {
                  if (!(error instanceof ResourceLockedError)) throw error;
                  return false;
                },
              );
          });
        }
      },
      { seeds: 10 },
    );
    expect(verdict).toBe("ok");
  });

  test("a client that polls while others stand in the queue starves", async () => {
    const result = await trial(
      async ({ redlock, resource, index, pause }) => {
        let lock = index === 0 ? null : await redlock.acquire("a", 1000);
        while (!lock) {
          await pause(20);
          lock = await redlock.tryAcquire("a", 1000);
        }
        await resource.read();
        await lock.release();
      },
      { rounds: 100, clients: 4, limits: { starvation: 20 } },
    );
    expect(result.violation).toMatch(
      /starvation .*client 0 has asked for "a" for \d+ ms: 20 calls of others/,
    );
    expect(result.story.at(-1)).toContain("keeps a place in the queue");
  });

  test.each<[string, Code, RegExp, string]>([
    [
      "readers that want to write",
      ({ redlock, resource }) => {
        const lock = new ReadWriteLock(redlock, "a");
        return lock.usingRead(1000, () => lock.usingWrite(1000, () => resource.read()));
      },
      /client 0 holds "a" and waits for "a", which it holds itself and client \d holds/,
      "a reader does not become a writer",
    ],
    [
      "permits that are taken one by one",
      ({ redlock, resource, pause }) => {
        const pool = new Semaphore(redlock, "pool", 2);
        return pool.using(1000, async () => {
          await pause(5);
          await pool.using(1000, () => resource.read());
        });
      },
      /client 0 holds permit \d of "pool" and waits for the first place in the queue of "pool", which/,
      "the option permits",
    ],
  ])("%s are a deadlock", async (_, client, violation, advice) => {
    const result = await trial(client, { faults: [], seeds: 1 });
    expect(result.violation).toMatch(violation);
    expect(result.story.at(-1)).toContain(advice);
  });

  test("a client that is killed while it waits does not starve", async () => {
    const { verdict } = await trial(
      ({ redlock, resource, index, pause }) =>
        redlock.using("a", 1000, async () => {
          if (index > 0) await pause(20);
          return await resource.read();
        }),
      { rounds: 150, limits: { starvation: 20 }, seeds: 1, faults: [{ at: 50, kind: "kill", clients: [0] }] },
    );
    expect(verdict).toBe("ok");
  });

  test("a nodeTimeout below the round trip is named", async () => {
    const { report } = await trial(
      async ({ redlock }) => {
        await using _ = await redlock.acquire("a", 1000, { nodeTimeout: 1, waitTimeout: 100 });
      },
      { seeds: 10 },
    );
    const { report: unsaid } = await trial((context) =>
      context.redlock.using("a", 1000, (signal) => withdraw(context, signal)),
    );
    expect(unsaid).not.toContain("nodeTimeout");
    expect(report).toMatch(
      /nodeTimeout is below the round trip in \d+ of 10 runs: \d+ calls that no fault disturbed found no quorum/,
    );
  });
});
