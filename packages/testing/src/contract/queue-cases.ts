import { randomBytes } from "node:crypto";
import type { Answer, LockNode, OnPush } from "@quorlock/redlock/internal";
import { type Asked, ask, shown } from "./ask.ts";
import { type Context, claimOf, expectKey, long, slack } from "./contract-case.ts";
import type { DriverMaker } from "./driver.ts";
import { describe, expect, it } from "./framework.ts";
import { until } from "./until.ts";

// PROTOCOL 2.17, 7.1, 7.3, 7.4, 7.6, 7.15.

/** A waiter with its own node. */
interface Waiter {
  readonly id: string;
  readonly node: LockNode;
  readonly channel: string;
  /** The received messages: tokens of grants, and wakes. */
  readonly heard: string[];
  /** The next tickets that came with the grants. */
  readonly next: (number | undefined)[];
  /** The number of times that it subscribed. */
  listening: number;
  token(round: number): string;
  /** Enqueues, or renews its entry. Smaller tickets are served first. */
  enqueue(resources: readonly string[], options?: Partial<Asked> & { round?: number }): Promise<Answer>;
  leave(resources: readonly string[], round?: number): Promise<Answer>;
}

async function waiterAt(node: LockNode, ticket: number, listens = true): Promise<Waiter> {
  const id = randomBytes(8).toString("hex");
  const token = (round: number): string => `${id}.${round}`;
  const waiter: Waiter = {
    id,
    node,
    channel: `quorlock:inbox:${id}`,
    heard: [],
    next: [],
    listening: 0,
    token,
    enqueue: (resources, { round = 1, ...options } = {}) =>
      ask(node).enqueue({ ...claimOf(resources, long, token(round)), ticket, entryTtl: long, ...options }),
    leave: (resources, round = 1) => ask(node).release(resources, token(round)),
  };
  const hear: OnPush = (push) => {
    const message = push.is === "timed" ? push.vote : push;
    waiter.heard.push(message.is === "grant" ? message.token : `wake ${message.token}`);
    if (message.is === "grant") waiter.next.push(message.nextTicket);
  };
  const begin = (): void => {
    if (node.queue!.isListening) waiter.listening += 1;
  };
  if (listens) await ask(node).listen(waiter.channel, hear, begin);
  return waiter;
}

/** `count` waiters, the first with the smallest ticket. */
function waiters(context: Context, count: number): Promise<Waiter[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => waiterAt(context.connect(), 1000 + index)));
}

/** The ticket queue of one master: PROTOCOL 7, as far as a master decides it. */
export function queueCases(context: Context, queue: DriverMaker["queue"]): void {
  if (queue === "none") {
    it("there is none", () => expect(context.node.queue).toBeUndefined());
    return;
  }
  describe("a queue entry", () => enqueueCases(context));
  describe("the next round", () => roundCases(context));
  describe("for several resources", () => severalCases(context));
  describe("leaving", () => leaveCases(context));
  if (queue === "pushes") describe("a grant to a subscribed waiter", () => pushCases(context));
  else {
    it("no client can subscribe", async () => {
      const [waiter] = await waiters(context, 1);
      expect(waiter!.node.queue!.isListening).toBe(false);
      expect(waiter!.listening).toBe(0);
    });
  }
}

async function queueLength(context: Context, resource: string): Promise<number> {
  return ((await ask(context.node).inspect(resource)) as { queueLength: number }).queueLength;
}

function enqueueCases(context: Context): void {
  it("votes where the key is free and the queue empty, and leaves no entry behind", async () => {
    const [waiter] = await waiters(context, 1);
    const { resources } = claimOf(2);
    expect(await waiter!.enqueue(resources)).toEqual({ is: "yes", remaining: long });
    for (const resource of resources) {
      await expectKey(context, resource, waiter!.token(1), long);
      expect(await queueLength(context, resource)).toBe(0);
    }
  });

  it("is made when the claim is refused, which returns the owner and the largest ticket", async () => {
    const [first, second] = (await waiters(context, 2)) as [Waiter, Waiter];
    const [resource] = claimOf(1).resources as [string];
    await context.master.set(resource, "another-client", 30_000);
    const refusal = { is: "no", resource, owner: shown("another-client"), remaining: expect.any(Number) };
    expect(await second.enqueue([resource])).toEqual({ ...refusal, latestTicket: 1001 });
    expect(await first.enqueue([resource])).toEqual({ ...refusal, latestTicket: 1001 });
    expect(await queueLength(context, resource)).toBe(2);
    expect(await context.master.place(resource, first.id)).toBeGreaterThan(long - slack);
    await expectKey(context, resource, "another-client", 30_000);
  });

  it("that is granted returns the smallest ticket that waits behind it for any of its keys, and none if none does", async () => {
    const [first, second, third] = (await waiters(context, 3)) as [Waiter, Waiter, Waiter];
    const [one, other] = claimOf(2).resources as [string, string];
    for (const resource of [one, other]) await context.master.set(resource, "another-client", long);
    await third.enqueue([one]);
    await second.enqueue([other]);
    await first.enqueue([one, other]);
    for (const resource of [one, other]) await context.master.remove(resource);
    expect(await first.enqueue([one, other], { round: 2 })).toEqual({
      is: "yes",
      remaining: long,
      nextTicket: 1001,
    });
    await first.leave([one, other], 2);
    expect(await second.enqueue([other], { round: 2 })).toEqual({ is: "yes", remaining: long });
  });

  it("accepts a ticket in microseconds", async () => {
    const [waiter] = await waiters(context, 1);
    const [resource] = claimOf(1).resources as [string];
    await context.master.set(resource, "another-client", long);
    const ticket = 1_767_225_600_123_456;
    expect(await waiter!.enqueue([resource], { ticket })).toMatchObject({ is: "no", latestTicket: ticket });
  });

  it("gets no vote for a free key while a smaller ticket waits for it", async () => {
    const [first, second] = (await waiters(context, 2)) as [Waiter, Waiter];
    const [resource] = claimOf(1).resources as [string];
    await context.master.set(resource, "another-client", long);
    await first.enqueue([resource]);
    await context.master.remove(resource);
    expect(await second.enqueue([resource])).toMatchObject({ is: "no", owner: shown(first.token(1)) });
    expect(await context.master.get(resource)).toBe(first.token(1));
  });

  it("is ordered by the waiter's name if tickets are equal", async () => {
    const pair = await waiters(context, 2);
    const [resource] = claimOf(1).resources as [string];
    const [first, second] = pair.toSorted((one, other) => (one.id < other.id ? -1 : 1)) as [Waiter, Waiter];
    await context.master.set(resource, "another-client", long);
    await second.enqueue([resource], { ticket: 5 });
    await first.enqueue([resource], { ticket: 5 });
    await ask(context.node).release([resource], "another-client");
    expect(await context.master.get(resource)).toBe(first.token(1));
  });

  it("expires when its time is over, and not before", async () => {
    const [dead, alive] = (await waiters(context, 2)) as [Waiter, Waiter];
    const [resource] = claimOf(1).resources as [string];
    await context.master.set(resource, "another-client", long);
    await alive.enqueue([resource]);
    await dead.enqueue([resource], { entryTtl: 60 });
    await until("the place is gone", async () => (await context.master.place(resource, dead.id)) === -2);
    expect(await context.master.place(resource, alive.id)).toBeGreaterThan(long - slack);
    await ask(context.node).release([resource], "another-client");
    expect(await context.master.get(resource)).toBe(alive.token(1));
  });

  it("blocks no other waiter once it has died: the next one gets the vote", async () => {
    const [dead, alive] = (await waiters(context, 2)) as [Waiter, Waiter];
    const [resource] = claimOf(1).resources as [string];
    await context.master.set(resource, "another-client", long);
    await dead.enqueue([resource], { entryTtl: 60 });
    await context.master.remove(resource);
    await until("the place is gone", async () => (await context.master.place(resource, dead.id)) === -2);
    expect(await alive.enqueue([resource])).toEqual({ is: "yes", remaining: long });
  });

  it("of a waiter without a subscription has the key reserved for as long as the entry lives", async () => {
    const [waiter] = await waiters(context, 1);
    const deaf = await waiterAt(context.connect(), 1, false);
    const [resource] = claimOf(1).resources as [string];
    await context.master.set(resource, "another-client", 2 * long);
    await deaf.enqueue([resource], { entryTtl: 20_000 });
    await waiter!.enqueue([resource]);
    expect(await ask(context.node).release([resource], "another-client")).toEqual({ is: "done" });
    await expectKey(context, resource, deaf.token(1), 20_000);
    expect(await ask(context.node).vote(claimOf([resource]))).toMatchObject({
      is: "no",
      owner: shown(deaf.token(1)),
    });
    expect(await deaf.enqueue([resource], { round: 2 })).toMatchObject({ is: "yes" });
    await expectKey(context, resource, deaf.token(2), long);
    expect(await queueLength(context, resource)).toBe(1);
  });
}

function roundCases(context: Context): void {
  it("keeps its keys where it is the first, and renews them (PROTOCOL 2.12, 7.8)", async () => {
    const [first, second] = (await waiters(context, 2)) as [Waiter, Waiter];
    const [resource] = claimOf(1).resources as [string];
    await first.enqueue([resource], { ttl: 20_000 });
    await second.enqueue([resource]);
    expect(await first.enqueue([resource], { round: 2 })).toMatchObject({ is: "yes" });
    await expectKey(context, resource, first.token(2), long);
    expect(first.heard).toEqual([]);
    expect(await queueLength(context, resource)).toBe(1);
  });

  it("never shortens the keys that it keeps (PROTOCOL 2.11)", async () => {
    const [first, second] = (await waiters(context, 2)) as [Waiter, Waiter];
    const [resource] = claimOf(1).resources as [string];
    await first.enqueue([resource]);
    expect(await first.enqueue([resource], { round: 2, ttl: 1000 })).toMatchObject({ is: "yes" });
    await expectKey(context, resource, first.token(2), long);
    await second.enqueue([resource]);
    expect(await first.enqueue([resource], { round: 3, ttl: 1000 })).toMatchObject({ is: "yes" });
    await expectKey(context, resource, first.token(3), long);
  });

  it("gives its keys to a waiter ahead of it, and keeps its entry: in one step", async () => {
    const [first, second] = (await waiters(context, 2)) as [Waiter, Waiter];
    const [resource] = claimOf(1).resources as [string];
    await second.enqueue([resource]);
    expect(await first.enqueue([resource])).toMatchObject({ is: "no", owner: shown(second.token(1)) });
    const yielded = await second.enqueue([resource], { round: 2 });
    expect(yielded).toMatchObject({ is: "no", owner: shown(first.token(1)), latestTicket: 1001 });
    expect(await context.master.get(resource)).toBe(first.token(1));
    expect(await context.master.place(resource, second.id)).toBeGreaterThan(0);
  });

  it("is not changed by an older round: neither by its entry nor by its leave (PROTOCOL 2.13, 7.10)", async () => {
    const [first, second] = (await waiters(context, 2)) as [Waiter, Waiter];
    const [resource] = claimOf(1).resources as [string];
    await second.enqueue([resource], { round: 10 });
    await first.enqueue([resource]);
    expect(await second.enqueue([resource], { round: 9 })).toMatchObject({
      is: "no",
      owner: shown(second.token(10)),
    });
    expect(await second.leave([resource], 9)).toEqual({ is: "missed" });
    await expectKey(context, resource, second.token(10), long);
    const extension = { ...claimOf([resource], long, second.token(9)) };
    expect(await ask(context.node).extend(extension, true)).toMatchObject({ is: "no" });
    expect(await ask(context.node).vote(extension)).toMatchObject({ is: "no" });
  });
}

function severalCases(context: Context): void {
  it("votes for none if one is held, and reserves the free ones", async () => {
    const [waiter] = await waiters(context, 1);
    const [free, taken] = claimOf(2).resources as [string, string];
    await context.master.set(taken, "another-client", long);
    expect(await waiter!.enqueue([free, taken], { entryTtl: 20_000 })).toMatchObject({
      is: "no",
      resource: taken,
      owner: shown("another-client"),
    });
    await expectKey(context, free, waiter!.token(1), 20_000);
    for (const resource of [free, taken]) expect(await queueLength(context, resource)).toBe(1);
  });

  it("votes for all when the last one is released, though it enqueued later for that one", async () => {
    const [wide, narrow] = (await waiters(context, 2)) as [Waiter, Waiter];
    const [one, other] = claimOf(2).resources as [string, string];
    for (const resource of [one, other]) await context.master.set(resource, "another-client", long);
    await narrow.enqueue([other]);
    await wide.enqueue([one, other]);
    await ask(context.node).release([one], "another-client");
    expect(await context.master.get(one)).toBe(wide.token(1));
    await ask(context.node).release([other], "another-client");
    for (const resource of [one, other]) expect(await context.master.get(resource)).toBe(wide.token(1));
    expect(await wide.enqueue([one, other], { round: 2 })).toMatchObject({ is: "yes" });
    for (const resource of [one, other]) await expectKey(context, resource, wide.token(2), long);
    expect(await queueLength(context, other)).toBe(1);
  });

  it("does not overtake a smaller ticket for any of them", async () => {
    const [narrow, wide] = (await waiters(context, 2)) as [Waiter, Waiter];
    const [one, other] = claimOf(2).resources as [string, string];
    await context.master.set(other, "another-client", long);
    await wide.enqueue([one, other]);
    await narrow.enqueue([other]);
    await ask(context.node).release([other], "another-client");
    expect(await context.master.get(other)).toBe(narrow.token(1));
    expect(await wide.enqueue([one, other], { round: 2 })).toMatchObject({ is: "no", resource: other });
    await narrow.leave([other]);
    expect(await wide.enqueue([one, other], { round: 3 })).toMatchObject({ is: "yes" });
    for (const resource of [one, other]) await expectKey(context, resource, wide.token(3), long);
  });

  it("gets keys that are released together, together", async () => {
    const [waiter] = await waiters(context, 1);
    const { resources } = claimOf(3);
    for (const resource of resources) await context.master.set(resource, "another-client", long);
    await waiter!.enqueue(resources);
    expect(await ask(context.node).release(resources, "another-client")).toEqual({ is: "done" });
    for (const resource of resources) expect(await context.master.get(resource)).toBe(waiter!.token(1));
  });
}

function leaveCases(context: Context): void {
  it("removes every entry, and passes on reserved and granted keys", async () => {
    const [first, second, third] = (await waiters(context, 3)) as [Waiter, Waiter, Waiter];
    const [free, taken] = claimOf(2).resources as [string, string];
    await context.master.set(taken, "another-client", long);
    await first.enqueue([free, taken]);
    await second.enqueue([free]);
    await third.enqueue([taken]);
    expect(await first.leave([free, taken])).toEqual({ is: "missed" });
    expect(await context.master.get(free)).toBe(second.token(1));
    expect(await context.master.get(taken)).toBe("another-client");
    expect(await context.master.place(taken, first.id)).toBe(-2);
    await ask(context.node).release([taken], "another-client");
    expect(await context.master.get(taken)).toBe(third.token(1));
  });

  it("of a waiter for several lets the next one have them all", async () => {
    const [first, second] = (await waiters(context, 2)) as [Waiter, Waiter];
    const [one, other] = claimOf(2).resources as [string, string];
    await context.master.set(other, "another-client", long);
    await first.enqueue([one, other]);
    await second.enqueue([one, other]);
    await context.master.remove(other);
    await first.leave([one, other]);
    for (const resource of [one, other]) expect(await context.master.get(resource)).not.toBe(first.token(1));
    expect(await second.enqueue([one, other], { round: 2 })).toMatchObject({ is: "yes" });
  });

  it("deletes the key where the queue is empty, or all its waiters have died", async () => {
    const [first, dead] = (await waiters(context, 2)) as [Waiter, Waiter];
    const [resource] = claimOf(1).resources as [string];
    await first.enqueue([resource]);
    await dead.enqueue([resource], { entryTtl: 60 });
    await until("the place is gone", async () => (await context.master.place(resource, dead.id)) === -2);
    expect(await first.leave([resource])).toEqual({ is: "done" });
    expect(await ask(context.node).inspect(resource)).toEqual({
      is: "state",
      owner: undefined,
      remaining: 0,
      queueLength: 0,
    });
  });

  it("releases keys of an earlier round of the same waiter (PROTOCOL 2.13)", async () => {
    const [waiter] = await waiters(context, 1);
    const [resource] = claimOf(1).resources as [string];
    await waiter!.enqueue([resource], { round: 9 });
    expect(await waiter!.leave([resource], 10)).toEqual({ is: "done" });
    expect(await context.master.get(resource)).toBeNull();
  });

  it("does not release a foreign key, nor that of a waiter with the same prefix", async () => {
    const [resource] = claimOf(1).resources as [string];
    await context.master.set(resource, "another-client.1", long);
    for (const token of ["another-clien.2", "another-client", "another-client.x.2", ".2"]) {
      expect(await ask(context.node).release([resource], token)).toEqual({ is: "missed" });
    }
    await expectKey(context, resource, "another-client.1", long);
  });
}

function pushCases(context: Context): void {
  it("sets the key to its vote for the whole ttl, and sends it the token", async () => {
    const [first, second] = (await waiters(context, 2)) as [Waiter, Waiter];
    const [resource] = claimOf(1).resources as [string];
    await context.master.set(resource, "another-client", 5000);
    await second.enqueue([resource]);
    await first.enqueue([resource], { entryTtl: 1000 });
    expect(await ask(context.node).release([resource], "another-client")).toEqual({ is: "done" });
    await expectKey(context, resource, first.token(1), long);
    await until("it is told", () => first.heard.length > 0);
    expect(await queueLength(context, resource)).toBe(1);
    await first.leave([resource]);
    await until("the next one is told", () => second.heard.length > 0);
    expect([first.heard, second.heard]).toEqual([[first.token(1)], [second.token(1)]]);
    expect(await queueLength(context, resource)).toBe(0);
  });

  it("comes with the next ticket in the queue, from a release and from another waiter's request", async () => {
    const all = (await waiters(context, 4)) as [Waiter, Waiter, Waiter, Waiter];
    const [first, second, third, last] = all;
    const [resource] = claimOf(1).resources as [string];
    await context.master.set(resource, "another-client", long);
    for (const waiter of all) await waiter.enqueue([resource]);
    await ask(context.node).release([resource], "another-client");
    await until("the first is told", () => first.heard.length > 0);
    await first.leave([resource]);
    await until("the second is told", () => second.heard.length > 0);
    await context.master.remove(resource);
    await last.enqueue([resource], { round: 2 });
    await until("the third is told", () => third.heard.length > 0);
    await third.leave([resource]);
    await until("the last is told", () => last.heard.length > 0);
    expect(all.map(({ next }) => next)).toEqual([[1001], [1002], [1003], [Number.POSITIVE_INFINITY]]);
  });

  it("reaches both of two waiters on one connection", async () => {
    const [first] = (await waiters(context, 1)) as [Waiter];
    const second = await waiterAt(first.node, 1001);
    expect(second.listening).toBe(1);
    for (const { channel } of [first, second]) expect(await context.master.listeners(channel)).toBe(1);
  });

  it("has the token of its last round", async () => {
    const [waiter] = await waiters(context, 1);
    const [resource] = claimOf(1).resources as [string];
    await context.master.set(resource, "another-client", long);
    for (const round of [1, 2, 3]) await waiter!.enqueue([resource], { round });
    await ask(context.node).release([resource], "another-client");
    await until("it is told", () => waiter!.heard.length > 0);
    expect(waiter!.heard).toEqual([waiter!.token(3)]);
    expect(await context.master.get(resource)).toBe(waiter!.token(3));
  });

  it("a waiter for several is woken by the key that blocked it, and requests all", async () => {
    const [waiter] = await waiters(context, 1);
    const [one, other, free] = claimOf(3).resources as [string, string, string];
    for (const resource of [one, other]) await context.master.set(resource, "another-client", long);
    const all = [free, one, other];
    expect(await waiter!.enqueue(all, { entryTtl: 20_000 })).toMatchObject({ is: "no", resource: one });
    // Not by a key that did not block it: that one is reserved.
    await ask(context.node).release([other], "another-client");
    await expectKey(context, other, waiter!.token(1), 20_000);
    await ask(context.node).release([one], "another-client");
    await until("it is woken", () => waiter!.heard.length > 0);
    expect(waiter!.heard).toEqual([`wake ${waiter!.token(1)}`]);
    for (const resource of all) await expectKey(context, resource, waiter!.token(1), 20_000);
    expect(await waiter!.enqueue(all, { round: 2 })).toEqual({ is: "yes", remaining: long });
    for (const resource of all) {
      await expectKey(context, resource, waiter!.token(2), long);
      expect(await queueLength(context, resource)).toBe(0);
    }
  });

  it("a release writes to no key but its own, whatever an entry contains", async () => {
    const [resource, strange] = claimOf(2).resources as [string, string];
    const [waiter] = await waiters(context, 1);
    await context.master.set(resource, "another-client", long);
    await context.master.set(strange, "left alone", long);
    await waiter!.enqueue([resource, strange]);
    expect(await ask(context.node).release([resource], "another-client")).toEqual({ is: "done" });
    await expectKey(context, strange, "left alone", long);
  });

  it("no key goes to a larger ticket, though it is free for a moment", async () => {
    const [narrow, wide] = (await waiters(context, 2)) as [Waiter, Waiter];
    const [one, other] = claimOf(2).resources as [string, string];
    for (const resource of [one, other]) await context.master.set(resource, "another-client", long);
    await narrow.enqueue([other]);
    await wide.enqueue([one, other]);
    // It expires, say.
    await context.master.remove(other);
    await ask(context.node).release([one], "another-client");
    expect(await context.master.get(one)).toBe(wide.token(1));
    expect(await context.master.get(other)).toBeNull();
    // It asks for both then, and learns that.
    await until("it is woken", () => wide.heard.length > 0);
    expect(await wide.enqueue([one, other], { round: 2 })).toMatchObject({
      is: "no",
      owner: shown(narrow.token(1)),
    });
    expect(await narrow.enqueue([other], { round: 2 })).toMatchObject({ is: "yes" });
  });

  it("skips a waiter that has disconnected", async () => {
    const [gone, next] = (await waiters(context, 2)) as [Waiter, Waiter];
    const [resource] = claimOf(1).resources as [string];
    await context.master.set(resource, "another-client", long);
    await gone.enqueue([resource]);
    await next.enqueue([resource]);
    gone.node.disconnect();
    await until(
      "the channel has no subscriber",
      async () => (await context.master.listeners(gone.channel)) === 0,
    );
    await ask(context.node).release([resource], "another-client");
    await until("the next one is told", () => next.heard.length > 0);
    expect(await context.master.get(resource)).toBe(next.token(1));
    expect(await context.master.place(resource, gone.id)).toBe(-2);
  });

  it("a waiter that gives up its vote grants it to the first, and gets no message itself", async () => {
    const [first, second] = (await waiters(context, 2)) as [Waiter, Waiter];
    const [resource] = claimOf(1).resources as [string];
    await second.enqueue([resource]);
    await first.enqueue([resource]);
    await second.enqueue([resource], { round: 2 });
    await until("the first is told", () => first.heard.length > 0);
    expect(second.heard).toEqual([]);
    await expectKey(context, resource, first.token(1), long);
  });

  it("stops with a lost connection, which `isListening` shows; then it subscribes again", async () => {
    const [waiter] = await waiters(context, 1);
    const { node } = waiter!;
    const [resource] = claimOf(1).resources as [string];
    await context.master.set(resource, "another-client", long);
    expect([node.queue!.isListening, waiter!.listening]).toEqual([true, 1]);
    await context.path.cut();
    await until("the loss is noticed", () => !node.queue!.isListening);
    await context.path.heal();
    // Its subscription may be made once more, when the user's client is back: a grant in between is not told.
    await until("it listens again", () => waiter!.listening >= 2 && node.queue!.isListening);
    await until("it is told", async () => {
      await context.master.set(resource, "another-client", long);
      await waiter!.enqueue([resource]);
      await ask(context.node).release([resource], "another-client");
      return waiter!.heard.length > 0;
    });
  });

  it("ends with the node", async () => {
    const [waiter] = await waiters(context, 1);
    await ask(waiter!.node).inspect("anything");
    const { connections } = context.path;
    await waiter!.node.close();
    await until("it is deaf", () => !waiter!.node.queue!.isListening);
    const isOver = (): boolean => context.path.connections <= connections - 2;
    await until("both connections are closed", isOver);
    const late = ask(waiter!.node).listen("quorlock:inbox:late");
    await late;
    await until("no other one stays", () => isOver() && !waiter!.node.queue!.isListening);
  });
}
