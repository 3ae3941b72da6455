import type { LockNode } from "@quorlock/redlock/internal";
import { type Asked, ask, shown } from "./ask.ts";
import { type Context, claimOf, expectKey, long } from "./contract-case.ts";
import type { DriverMaker } from "./driver.ts";
import { expect, it } from "./framework.ts";
import { until } from "./until.ts";

// PROTOCOL 8.1, 8.5, 8.6.

/** The largest number that a node stores: larger ones would soon not be exact. */
const most = 2 ** 53 - 2 ** 20;

/** A claim that proposes a fencing token. */
function fenced(resources: number | readonly string[], proposal: number, token?: string) {
  return { ...claimOf(resources, long, token), proposal };
}

function yes(counter: number) {
  return { is: "yes", remaining: long, counter };
}

/** The counters stored for the resources: releases the locks of `claim`, then claims again to read them. */
async function storedAfter(node: LockNode, claim: Asked): Promise<number> {
  await ask(node).release(claim.resources, claim.token);
  const next = fenced(claim.resources, 1);
  const answer = await ask(node).vote(next);
  await ask(node).release(next.resources, next.token);
  if (answer.is !== "yes" || answer.counter === undefined) throw new Error(JSON.stringify(answer));
  return answer.counter;
}

/** Fencing counters of one master: PROTOCOL 8, as far as a master decides it. */
export function fencingCases(context: Context, { keepsCounters, queue }: DriverMaker): void {
  it("a claim without a proposal gets no counter", async () => {
    expect(await ask(context.node).vote(claimOf(1))).toEqual({ is: "yes", remaining: long });
  });

  if (!keepsCounters) {
    it("`keepsCounters` is false", () => {
      expect(context.node.keepsCounters ?? false).toBe(false);
    });
    return;
  }
  voteCases(context);
  extensionCases(context);
  exactnessCases(context);
  if (queue !== "none") queueCases(context);
  if (queue === "pushes") pushCases(context);
}

function voteCases(context: Context): void {
  it("a vote stores its proposal, and returns the previous counter", async () => {
    const { node } = context;
    expect(node.keepsCounters).toBe(true);
    const first = fenced(1, 1000);
    expect(await ask(node).vote(first)).toEqual({ ...yes(0), counter: expect.any(Number) });
    await expectKey(context, first.resources[0]!, first.token, long);
    expect(await storedAfter(node, first)).toBe(1000);
  });

  it("a larger stored counter stays", async () => {
    const { node } = context;
    const first = fenced(1, 5000);
    await ask(node).vote(first);
    await ask(node).release(first.resources, first.token);
    const second = fenced(first.resources, 4000);
    expect(await ask(node).vote(second)).toEqual(yes(5000));
    expect(await storedAfter(node, second)).toBe(5000);
  });

  it("a refused vote stores nothing", async () => {
    const { node } = context;
    const holder = fenced(1, 1000);
    await ask(node).vote(holder);
    expect(await ask(node).vote(fenced(holder.resources, 9000))).toMatchObject({
      is: "no",
      owner: shown(holder.token),
    });
    expect(await storedAfter(node, holder)).toBe(1000);
  });

  it("a repeated vote finds its own proposal", async () => {
    const claim = fenced(1, 1000);
    await ask(context.node).vote(claim);
    expect(await ask(context.node).vote(claim)).toEqual(yes(1000));
  });

  it("a vote for several resources returns the largest counter, and raises all", async () => {
    const { node } = context;
    const [one, other, third] = claimOf(3).resources as [string, string, string];
    for (const [resource, proposal] of [
      [one, 3000],
      [other, 7000],
    ] as const) {
      const claim = fenced([resource], proposal);
      await ask(node).vote(claim);
      await ask(node).release([resource], claim.token);
    }
    const all = fenced([one, other, third], 5000);
    expect(await ask(node).vote(all)).toEqual(yes(7000));
    await ask(node).release(all.resources, all.token);
    for (const resource of all.resources) expect(await storedAfter(node, fenced([resource], 1))).toBe(7000);
  });

  it("each of many concurrent votes gets its own counter", async () => {
    const { node } = context;
    const claims = [10, 20, 30].map((proposal) => fenced(1, 1000 + proposal));
    await Promise.all([...claims.map((claim) => ask(node).vote(claim)), ask(node).vote(claimOf(1))]);
    expect(await Promise.all(claims.map((claim) => ask(node).vote(claim)))).toEqual(
      [1010, 1020, 1030].map(yes),
    );
  });
}

function extensionCases(context: Context): void {
  it("an extension stores a token where the key still has its own token", async () => {
    const { node } = context;
    const claim = fenced(1, 1000);
    await ask(node).vote(claim);
    expect(await ask(node).extend({ ...claim, proposal: 1500 }, false)).toEqual(yes(1000));
    expect(await storedAfter(node, claim)).toBe(1500);
  });

  it("it stores nothing where the key is free, or another client's", async () => {
    const { node } = context;
    const gone = fenced(1, 1000);
    await ask(node).vote(gone);
    await ask(node).release(gone.resources, gone.token);
    expect(await ask(node).extend({ ...gone, proposal: 9000 }, false)).toMatchObject({ is: "no" });
    const holder = fenced(gone.resources, 1);
    expect(await ask(node).vote(holder)).toEqual(yes(1000));
    expect(await ask(node).extend({ ...gone, proposal: 9000 }, false)).toMatchObject({ is: "no" });
    expect(await storedAfter(node, holder)).toBe(1000);
  });
}

function exactnessCases(context: Context): void {
  for (const proposal of [1_700_000_000_123_457, 4_503_599_627_370_497, most - 1]) {
    it(`${proposal} is exact`, async () => {
      const claim = fenced(1, proposal);
      await ask(context.node).vote(claim);
      expect(await storedAfter(context.node, claim)).toBe(proposal);
    });
  }

  it("a proposal near 2^53 is refused, and no key is set", async () => {
    const claim = fenced(1, most);
    expect(await ask(context.node).vote(claim)).toMatchObject({ is: "fault", sent: true });
    expect(await context.master.get(claim.resources[0]!)).toBeNull();
  });
}

/** A vote that may wait. */
function entryFor(claim: Asked) {
  return { ...claim, ticket: 1, entryTtl: long };
}

function queueCases(context: Context): void {
  it("a queue entry that is granted at once stores its proposal", async () => {
    const claim = fenced(1, 1000, "w1.1");
    expect(await ask(context.node).enqueue(entryFor(claim))).toMatchObject({ counter: expect.any(Number) });
    expect(await storedAfter(context.node, claim)).toBe(1000);
  });

  it("a key that is only reserved stores nothing until the waiter's next round", async () => {
    const { node } = context;
    const holder = fenced(1, 1000);
    await ask(node).vote(holder);
    const waiter = fenced(holder.resources, 1200, "w3.1");
    // It listens nowhere.
    await ask(node).enqueue(entryFor(waiter));
    await ask(node).release(holder.resources, holder.token);
    expect(await context.master.get(holder.resources[0]!)).toBe("w3.1");
    const next = fenced(holder.resources, 1200, "w3.2");
    expect(await ask(node).enqueue(entryFor(next))).toEqual(yes(1000));
  });
}

function pushCases(context: Context): void {
  it("a grant stores the waiter's proposal, and sends it the previous counter", async () => {
    const { node } = context;
    const heard: unknown[] = [];
    await ask(node).listen("quorlock:inbox:fenced", (push) => void heard.push(push));
    const holder = fenced(1, 1000);
    await ask(node).vote(holder);
    const waiter = fenced(holder.resources, 1200, "w2.7");
    expect(await ask(node).enqueue(entryFor(waiter))).toMatchObject({ is: "no" });
    await ask(node).release(holder.resources, holder.token);
    await until("it is told", () => heard.length > 0);
    expect(heard).toEqual([
      { is: "grant", token: "w2.7", counter: 1000, nextTicket: Number.POSITIVE_INFINITY },
    ]);
    expect(await storedAfter(node, waiter)).toBe(1200);
  });
}
