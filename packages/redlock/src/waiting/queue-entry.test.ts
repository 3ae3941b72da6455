import { describe, expect, test } from "vitest";
import { type Client, type NodeError, Redlock, type RedlockOptions } from "../index.ts";
import { MasterClock } from "../protocol/master-clock.ts";
import type { Answer, LockNode, OnPush, Question, Sink } from "../protocol/node.ts";
import { refusal, type TestClaim, VirtualMachine, VirtualTime } from "../virtual-time.test.ts";

// PROTOCOL 2.5, 2.13, 2.14, 7.2, 7.7, 7.8, 7.10, 7.11, 7.12, 8.2.

const ttl = 1000;
/** A quarter of the ttl: the time between two rounds of an entry. */
const heartbeat = ttl / 4;
const nodeTimeout = 50;
const roundTrip = 2;
/** By the wall clock of the virtual machine, when its time begins. */
const machineTime = 1_700_000_000_000;

interface Sent extends Pick<TestClaim, "resources" | "token" | "proposal"> {
  readonly ticket: number;
  readonly entryTtl: number;
  readonly at: number;
}

/** A master with a queue. Another client holds the lock, until the test answers or grants otherwise. */
class QueuedMaster implements LockNode {
  readonly name = "master";
  readonly client = {};
  readonly keepsCounters = true;
  readonly entries: Sent[] = [];
  /** Whether it stores a fencing token. */
  stores = true;
  /** The token of each release, with its time, once there was an entry. */
  readonly releases: { readonly at: number; readonly token: string }[] = [];
  /** The proposals that a second round has stored. */
  readonly stored: (number | undefined)[] = [];
  answering: (entry: Sent) => Answer | "silence" = () => refusal("rival.1", Number.POSITIVE_INFINITY);
  delay = roundTrip;
  #onPush: OnPush = () => {};
  #onChange = (): void => {};
  readonly queue = {
    isListening: true,
    listen: (_channel: string, onPush: OnPush, onChange: () => void) => {
      this.#onPush = onPush;
      this.#onChange = onChange;
      return Promise.resolve();
    },
  };
  readonly clock: MasterClock;
  readonly #machine: VirtualMachine;

  constructor(machine: VirtualMachine) {
    this.#machine = machine;
    this.clock = new MasterClock(machine);
  }

  ask({ verb, keys, words, ttl: asked, proposal, entry }: Question, place: number, sink: Sink): void {
    const at = this.#machine.now();
    let answer: Answer | "silence" = refusal("rival.1", Number.POSITIVE_INFINITY);
    if (verb === "time") {
      const [sent, time] = [this.clock.now(), this.#machine.wall()];
      this.#machine.receive(() => sink.answered(place, this.clock.observe(sent, time)), this.delay);
      return;
    } else if (verb === "release" || verb === "delete") {
      if (this.entries.length > 0) this.releases.push({ at, token: words[0]! });
      answer = { is: "done" };
    } else if (verb === "enqueue") {
      const { ticket, ttl: entryTtl } = entry!;
      const sent = { resources: keys, token: words[0]!, ticket, entryTtl, proposal, at };
      this.entries.push(sent);
      answer = this.answering(sent);
    } else if (verb === "extend") {
      this.stored.push(proposal);
      if (this.stores) answer = { is: "yes", remaining: asked, counter: 0 };
    }
    if (answer !== "silence") this.#machine.receive(() => sink.answered(place, answer), this.delay);
  }

  get latest(): Sent {
    return this.entries.at(-1)!;
  }

  grant(counter?: number, token = this.latest.token): void {
    this.#onPush({ is: "grant", token, counter, nextTicket: 0 });
  }

  wake(): void {
    this.#onPush({ is: "wake", token: this.latest.token });
  }

  /** The subscription was lost and is back. */
  listenAgain(): void {
    this.#onChange();
  }

  onReady(): () => void {
    return () => {};
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  disconnect(): void {}
}

/** An acquire that has been refused, and whose first entry a quorum has answered. */
async function waiting(
  options: RedlockOptions = {},
  prepare: (all: readonly QueuedMaster[]) => void = () => {},
) {
  const time = new VirtualTime();
  const machine = new VirtualMachine(time);
  const masters = [0, 1, 2].map(() => new QueuedMaster(machine)) as [
    QueuedMaster,
    QueuedMaster,
    QueuedMaster,
  ];
  prepare(masters);
  const clients: readonly Client[] = masters;
  const redlock = new Redlock(clients, {
    runtime: machine,
    waitTimeout: 20_000,
    nodeTimeout,
    retryJitter: 0,
    ...options,
  });
  redlock.on("error", () => {});
  const outcome: { lock?: Awaited<ReturnType<Redlock["acquire"]>>; error?: unknown } = {};
  const acquiring = redlock.acquire("r", ttl).then(
    (lock) => {
      outcome.lock = lock;
    },
    (error: unknown) => {
      outcome.error = error;
    },
  );
  await time.advance(3 * roundTrip);
  return { time, machine, masters, redlock, outcome, acquiring };
}

const yes: Answer = { is: "yes", remaining: ttl };
const fault: Answer = {
  is: "fault",
  error: Object.assign(new Error("down"), { reason: "UNREACHABLE" }) as NodeError,
  sent: true,
};

/** The times between the entries. */
function pauses({ entries }: QueuedMaster): number[] {
  return pausesOf(entries);
}

function pausesOf(entries: readonly Sent[]): number[] {
  return entries.slice(1).map(({ at }, index) => at - entries[index]!.at);
}

describe("the lock", () => {
  test("is granted by a quorum of pushes, and is valid from the send of their round", async () => {
    const { time, machine, masters, outcome } = await waiting();
    await time.advance(100);
    masters[0].grant();
    await time.advance(0);
    expect(outcome.lock).toBeUndefined();
    masters[1].grant();
    await time.advance(0);
    const { at } = masters[0].latest;
    const left = outcome.lock!.expiration - machine.wall();
    expect(left).toBeLessThanOrEqual(ttl - (time.now() - at));
    expect(left).toBeGreaterThan(ttl - (time.now() - at) - 0.01 * ttl - 4);
  });

  test("is granted by a push and an answer together", async () => {
    const { time, masters, outcome } = await waiting();
    masters[0].grant();
    masters[1].answering = () => yes;
    masters[0].answering = () => yes;
    await time.advance(heartbeat + 2 * roundTrip);
    expect(outcome.lock?.state).toBe("held");
    expect(masters[2].entries).toHaveLength(2);
  });

  test("is not granted by pushes to the token of an earlier round", async () => {
    const { time, masters, outcome } = await waiting();
    const { token } = masters[0].latest;
    await time.advance(heartbeat + roundTrip);
    expect(masters[0].latest.token).not.toBe(token);
    for (const master of masters) master.grant(undefined, token);
    await time.advance(roundTrip);
    expect(outcome.lock).toBeUndefined();
  });

  test("is not granted by two pushes of one master", async () => {
    const { time, masters, outcome } = await waiting();
    masters[0].grant();
    masters[0].grant();
    await time.advance(roundTrip);
    expect(outcome.lock).toBeUndefined();
  });

  test("keeps a grant that comes after the quorum", async () => {
    const { time, masters, outcome } = await waiting();
    masters[0].grant();
    masters[1].grant();
    await time.advance(0);
    expect(outcome.lock!.state).toBe("held");
    masters[2].grant();
    // A grant to a former waiter is rolled back.
    expect(masters[2].releases).toEqual([]);
  });

  test("is renewed by another round before it is used, if less than half of the ttl is left of late grants", async () => {
    const short = 400;
    const { time, masters, redlock } = await waiting();
    const acquiring = redlock.acquire("s", short);
    await time.advance(220);
    for (const master of masters) master.answering = () => yes;
    const { length } = masters[0].entries;
    masters[0].grant();
    masters[1].grant();
    await time.advance(0);
    const [renewal] = masters[0].entries.slice(length);
    expect(renewal!.at).toBe(time.now());
    const lock = await time.run(acquiring);
    expect(lock.expiration).toBeGreaterThan(machineTime + renewal!.at + short - 10);
  });
});

describe("an entry", () => {
  test.each([
    [ttl, heartbeat],
    [400, 250],
    [2000, 500],
    [10_000, 1000],
  ])("of a ttl of %i ms is renewed each %i ms, and outlives two lost renewals", async (asked, expected) => {
    const { time, masters, redlock } = await waiting();
    const { error } = await time.measure(redlock.acquire("s", asked, { waitTimeout: 3.5 * expected }));
    expect(error).toMatchObject({ name: "ResourceLockedError" });
    const entries = masters[0].entries.filter(({ resources }) => resources.includes("s"));
    expect(new Set(entries.map(({ entryTtl }) => entryTtl))).toEqual(new Set([3 * expected + nodeTimeout]));
    // One round trip passes until a quorum has answered.
    expect(pausesOf(entries)).toEqual([expected + roundTrip, expected + roundTrip, expected + roundTrip]);
  });

  test("has a token of its own in each round, and one ticket", async () => {
    const { time, masters } = await waiting();
    await time.advance(4 * heartbeat);
    const { entries } = masters[0];
    expect(entries.length).toBeGreaterThanOrEqual(4);
    expect(new Set(entries.map(({ token }) => token)).size).toBe(entries.length);
    expect(new Set(entries.map(({ ticket }) => ticket)).size).toBe(1);
  });

  test("is renewed a heartbeat after a quorum has answered, although a master hangs", async () => {
    const { time, masters } = await waiting({ nodeTimeout: 200 }, (all) => {
      all[2]!.answering = () => "silence";
    });
    await time.advance(4 * heartbeat);
    expect(new Set(pauses(masters[0]))).toEqual(new Set([heartbeat + roundTrip]));
  });

  test("is renewed at once when a subscription is back, and not before a quorum has answered", async () => {
    const { time, masters } = await waiting();
    await time.advance(100);
    masters[1].listenAgain();
    expect(masters[0].entries).toHaveLength(2);
    // The second round is under way.
    masters[1].listenAgain();
    expect(masters[0].entries).toHaveLength(2);
    await time.advance(roundTrip);
    expect(masters[0].entries).toHaveLength(3);
  });

  test("asks again after the backoff while a subscription does not work", async () => {
    const { time, masters } = await waiting({ retryDelay: 70 }, (all) => {
      all[1]!.queue.isListening = false;
    });
    await time.advance(300);
    expect(new Set(pauses(masters[0]))).toEqual(new Set([70 + roundTrip]));
  });

  test("asks again after the backoff if the owner is no waiter, which does not notify it", async () => {
    const { time, masters } = await waiting({ retryDelay: 70 }, (all) => {
      for (const master of all) master.answering = () => refusal("redlock-5", Number.POSITIVE_INFINITY);
    });
    await time.advance(300);
    expect(new Set(pauses(masters[0]))).toEqual(new Set([70 + roundTrip]));
  });

  test("asks again as soon as the keys of a quorum have expired", async () => {
    const { time, masters } = await waiting({}, (all) => {
      for (const [index, master] of all.entries())
        master.answering = () => refusal("rival.1", 40 * (index + 1));
    });
    await time.advance(heartbeat / 2);
    const [pause] = pauses(masters[0]);
    expect(pause).toBeGreaterThan(80);
    expect(pause).toBeLessThanOrEqual(80 + 6 + roundTrip);
  });

  test("that leaves is removed from all queues, and later grants to it are rolled back", async () => {
    const { time, masters, outcome } = await waiting({ waitTimeout: 100 });
    await time.advance(100);
    expect(outcome.error).toMatchObject({ name: "ResourceLockedError" });
    for (const master of masters)
      expect(master.releases.map(({ token }) => token)).toEqual([master.latest.token]);
    masters[1].grant();
    expect(masters.map(({ releases }) => releases.length)).toEqual([1, 2, 1]);
    expect(masters[1].releases[1]!.token).toBe(masters[1].latest.token);
    await time.advance(2 * heartbeat);
    expect(masters[0].entries).toHaveLength(1);
  });
});

describe("a wake", () => {
  test("of a quorum begins another round at once", async () => {
    const { time, masters } = await waiting();
    await time.advance(20);
    masters[0].wake();
    masters[0].wake();
    expect(masters[0].entries).toHaveLength(1);
    masters[1].wake();
    expect(masters[0].entries).toHaveLength(2);
  });

  test("counts beside a vote", async () => {
    const { time, masters } = await waiting();
    await time.advance(20);
    masters[0].grant();
    masters[1].wake();
    expect(masters[0].entries).toHaveLength(2);
  });

  test("of one master alone begins one after a nodeTimeout", async () => {
    const { time, masters } = await waiting();
    await time.advance(20);
    const woken = time.now();
    masters[0].wake();
    await time.advance(heartbeat / 2);
    expect(masters[0].entries.map(({ at }) => at - woken).slice(1)).toEqual([nodeTimeout]);
  });
});

describe("votes without a quorum", () => {
  test("are given up by another round as soon as every master has answered, and only once in a row", async () => {
    const { time, masters } = await waiting({}, (all) => {
      all[0]!.answering = () => yes;
    });
    await time.advance(heartbeat - 10);
    // The round that yields is sent in the turn of the last answer; the next one after a nodeTimeout, since a vote is there.
    const [first, second] = pauses(masters[1]);
    expect(first).toBe(roundTrip);
    expect(second).toBeGreaterThanOrEqual(nodeTimeout);
  });

  test("that are pushed lead to another round within a nodeTimeout", async () => {
    const { time, masters } = await waiting();
    await time.advance(20);
    const granted = time.now();
    masters[0].grant();
    await time.advance(heartbeat / 2);
    expect(masters[1].entries.map(({ at }) => at - granted)[1]).toBe(nodeTimeout);
  });
});

describe("a waiter that reaches less than a quorum", () => {
  test("leaves all queues for the backoff, and keeps its ticket", async () => {
    const { time, masters } = await waiting({ retryDelay: 300 }, (all) => {
      for (const master of all.slice(1)) master.answering = () => fault;
    });
    const left = masters[0].releases.map(({ at, token }) => ({ at, token }));
    expect(left).toEqual([{ at: masters[0].latest.at + roundTrip, token: masters[0].latest.token }]);
    await time.advance(310);
    const [first, second] = masters[0].entries;
    // The pause follows the deletion.
    expect(second!.at - first!.at).toBe(300 + 2 * roundTrip);
    expect(second!.ticket).toBe(first!.ticket);
  });

  test("ends with the error of a backoff that throws", async () => {
    const failing = new Error("of the backoff");
    const { time, outcome } = await waiting(
      {
        backoff: () => {
          throw failing;
        },
      },
      (all) => {
        for (const master of all.slice(1)) master.answering = () => fault;
      },
    );
    await time.advance(nodeTimeout);
    expect(outcome.error).toBe(failing);
  });
});

function answerLate(all: readonly QueuedMaster[]): void {
  for (const master of all) {
    master.answering = () => {
      master.delay = 95;
      return { is: "yes", remaining: ttl };
    };
  }
}

describe("votes that answer at once, with less than minimumValidity left,", () => {
  const late = { minimumValidity: 900, nodeTimeout: 200, retryDelay: 100 };

  test("send the waiter into the backoff, behind calls that began meanwhile", async () => {
    const { time, masters, outcome } = await waiting(late, answerLate);
    await time.advance(500);
    expect(outcome.lock).toBeUndefined();
    const [first, second] = masters[0].entries;
    expect(masters[0].releases[0]!.token).toBe(first!.token);
    expect(second!.ticket - first!.ticket).toBeGreaterThanOrEqual(90_000);
    expect(second!.at - first!.at).toBeGreaterThanOrEqual(95 + 100);
  });
});

/** The masters name these tickets above that of the first entry, and none above those after it. */
function named(...tickets: number[]) {
  return (all: readonly QueuedMaster[]): void => {
    for (const [index, master] of all.entries()) {
      let count = 0;
      master.answering = (entry) => {
        count += 1;
        const latestTicket = count === 1 ? entry.ticket + tickets[index]! : entry.ticket;
        return { ...refusal("rival.1", Number.POSITIVE_INFINITY), latestTicket };
      };
    }
  };
}

describe("a ticket", () => {
  test("becomes larger than one that a quorum has named, if our time was behind", async () => {
    const { time, masters } = await waiting({}, named(60e6, 50e6, 70e6));
    await time.advance(roundTrip);
    const [first, second] = masters[0].entries;
    expect(second!.ticket).toBe(first!.ticket + 50e6 + 1);
    expect(second!.at - first!.at).toBe(roundTrip);
  });

  test("stays, whatever one master says", async () => {
    const { time, masters } = await waiting({}, named(0, 50e6, 0));
    await time.advance(2 * heartbeat);
    expect(new Set(masters[0].entries.map(({ ticket }) => ticket)).size).toBe(1);
  });
});

describe("the fencing token", () => {
  test("is the proposal if it is above the counters of a quorum", async () => {
    const { time, masters, outcome } = await waiting({ fencing: true });
    masters[0].grant(1);
    masters[1].grant(2);
    await time.advance(0);
    expect(outcome.lock!.fencingToken).toBe(masters[0].latest.proposal);
    expect(masters[0].stored).toEqual([]);
  });

  test("is larger than a counter above the proposal, and is stored by another round", async () => {
    const { time, masters, outcome } = await waiting({ fencing: true });
    const counter = masters[0].latest.proposal! + 1000;
    masters[0].grant(counter);
    masters[1].grant(1);
    await time.advance(0);
    expect(outcome.lock).toBeUndefined();
    await time.advance(roundTrip);
    expect(outcome.lock!.fencingToken).toBeGreaterThan(counter);
    expect(masters[0].stored).toEqual([outcome.lock!.fencingToken]);
  });

  test("that is stored too late sends the waiter into the backoff, behind calls that began meanwhile", async () => {
    const late = { fencing: true, minimumValidity: 500, nodeTimeout: 700, retryDelay: 100 };
    const { time, masters, outcome } = await waiting(late);
    for (const master of masters) master.delay = 550;
    masters[0].grant(masters[0].latest.proposal! + 1000);
    masters[1].grant(1);
    await time.advance(549);
    expect(masters[0].releases).toEqual([]);
    await time.advance(1);
    expect(masters.map(({ releases }) => releases.length)).toEqual([1, 1, 1]);
    await time.advance(700);
    const [first, second] = masters[0].entries;
    expect(second!.ticket - first!.ticket).toBeGreaterThanOrEqual(550_000);
    expect(outcome.lock).toBeUndefined();
  });

  test("that no quorum stores leads to another round at once", async () => {
    const { time, masters, outcome } = await waiting({ fencing: true });
    for (const master of masters) master.stores = false;
    masters[0].grant(masters[0].latest.proposal! + 1000);
    masters[1].grant(1);
    await time.advance(roundTrip);
    expect(outcome.lock).toBeUndefined();
    expect(masters.map(({ entries }) => entries.length)).toEqual([2, 2, 2]);
    expect(masters.map(({ releases }) => releases.length)).toEqual([0, 0, 0]);
  });

  test("is stored for nobody if the call is given up meanwhile", async () => {
    const { time, masters, outcome } = await waiting({ fencing: true, waitTimeout: 100 });
    for (const master of masters) master.delay = 40;
    await time.advance(70);
    masters[0].grant(masters[0].latest.proposal! + 1000);
    masters[1].grant(1);
    await time.advance(100);
    expect([outcome.lock, outcome.error]).toEqual([
      undefined,
      expect.objectContaining({ name: "ResourceLockedError" }),
    ]);
    expect(masters[0].releases[0]!.token).toBe(masters[0].latest.token);
  });
});

test.each([
  [1000, 1],
  [1001, 0],
])("a call for %i resources has %i entry: more would stop a master for too long", async (count, entries) => {
  const { time, masters, redlock } = await waiting();
  const before = masters[0].entries.length;
  const many = Array.from({ length: count }, (_, index) => `many:${index}`);
  await time.measure(redlock.acquire(many, ttl, { waitTimeout: 50 }));
  const own = masters[0].entries.slice(before).filter(({ resources }) => resources.length === count);
  expect(own).toHaveLength(entries);
});
