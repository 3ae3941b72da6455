import { describe, expect, test } from "vitest";
import type { NodeError } from "../errors.ts";
import { Lock } from "../holding/lock.ts";
import type { ActiveLease } from "../protocol/context.ts";
import type { Fault, LockNode } from "../protocol/node.ts";
import { Redlock } from "../redlock.ts";
import {
  VirtualMachine,
  VirtualMaster,
  VirtualNode,
  VirtualTime,
  virtualSetting,
} from "../virtual-time.test.ts";
import { DistinctMasters } from "./distinct-masters.ts";

// PROTOCOL 2.8, 2.10: a server votes once, through whichever master of the list.

/** Masters that lead to servers, as far as these have a name. */
function leading(...servers: readonly (string | undefined)[]) {
  const present = [...servers];
  const listeners: Array<() => void> = [];
  const refused: (Fault | undefined)[] = [];
  const errors: NodeError[] = [];
  const moves: string[] = [];
  const nodes = servers.map((_, index) => ({
    name: `master-${index}`,
    client: listeners,
    server: {
      get ids() {
        return present[index]?.split("+") ?? [];
      },
      refuseVotes: (refusal: Fault | undefined) => {
        refused[index] = refusal;
      },
    },
    onReady: (listener: () => void) => {
      listeners[index] = listener;
      return () => {};
    },
  }));
  const lease = { votes: { move: (before: number, index: number) => moves.push(`${before}>${index}`) } };
  const leases = new Set([lease]) as unknown as ReadonlySet<ActiveLease>;
  const distinct = new DistinctMasters(nodes as unknown as LockNode[], leases, { count: 0 }, (error) => {
    if (distinct.isNew(error)) errors.push(error);
  });
  return {
    distinct,
    errors,
    moves,
    /** The masters that vote. */
    get voters() {
      return nodes.flatMap((_, index) => (refused[index] ? [] : [index]));
    },
    connect(index: number, server: string | undefined) {
      present[index] = server;
      listeners[index]!();
    },
  };
}

/** Reports are made in a later turn. */
const later = () => Promise.resolve();

describe("masters that are one server", () => {
  test("the one that has been there for longer goes on voting, in whichever order they are listed", async () => {
    const masters = leading(undefined, "b", "c");
    masters.connect(0, "b");
    await later();
    expect(masters.voters).toEqual([1, 2]);
    // While it is away its server is still its own: it may be connected again before it is found out.
    masters.connect(1, "b");
    await later();
    expect(masters.voters).toEqual([1, 2]);
    expect(masters.errors).toHaveLength(1);
  });

  test("one that comes to a server that another one has left takes its vote over", () => {
    const masters = leading("a", "b", "c");
    masters.connect(0, "d");
    expect(masters.moves).toEqual([]);
    masters.connect(1, "a");
    expect(masters.voters).toEqual([0, 1, 2]);
    expect(masters.moves).toEqual(["0>1"]);
  });

  test("two that exchange their servers vote both in the end", () => {
    const masters = leading("a", "b", "c");
    masters.connect(0, "b");
    expect(masters.voters).toEqual([1, 2]);
    masters.connect(1, "a");
    expect(masters.voters).toEqual([0, 1, 2]);
    expect(masters.moves.toSorted()).toEqual(["0>1", "1>0"]);
  });

  test("of two Clusters one common server is enough", async () => {
    const masters = leading("h:1+h:2", "h:3+h:2", "c");
    await later();
    expect(masters.voters).toEqual([0, 2]);
    expect(masters.errors[0]!.message).toContain("h:2");
  });
});

async function held() {
  const { redlock, time } = virtualSetting(3);
  const lock = await time.run(redlock.acquire("r", 1000));
  await time.advance(100);
  return { lock, lease: Lock.leaseOf(lock), now: time.now() };
}

describe("a lease", () => {
  test("counts the vote of a server once that has another way", async () => {
    const { lock, lease } = await held();
    const before = lock.remaining();
    lease.votes.move(0, 1);
    expect(lock.remaining()).toBe(before);
    const [, until] = lease.votes.deadlines;
    // With the old vote beside it, two of three would stand for longer.
    lease.renew(until! + 100, 0, 2, 0);
    lease.votes.move(0, 1);
    lease.renew(until! + 500, 1, 2, 0);
    expect(lease.votes.deadlines).toEqual([Number.NEGATIVE_INFINITY, until! + 500, until]);
    expect(lock.remaining()).toBe(before);
  });

  test("goes on when two masters have exchanged their servers and have both said yes again", async () => {
    const { lock, lease } = await held();
    const [, until] = lease.votes.deadlines;
    lease.votes.move(0, 1);
    lease.votes.move(1, 0);
    lease.renew(until! + 500, 1, 2, 0);
    lease.renew(until! + 500, 0, 2, 0);
    expect(lease.votes.deadlines).toEqual([until! + 500, until! + 500, until]);
    expect(lock.state).toBe("held");
  });

  test("counts it once also where it has moved twice before it was asked again", async () => {
    const { lease } = await held();
    const [, until] = lease.votes.deadlines;
    lease.votes.move(0, 1);
    lease.votes.move(1, 2);
    lease.renew(until! + 500, 2, 2, 0);
    expect(lease.votes.deadlines.slice(0, 2)).toEqual([Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY]);
  });
});

test("a resumed lock that is not confirmed yet counts a server once, by whichever address", async () => {
  const time = new VirtualTime();
  const machine = new VirtualMachine(time);
  const [server, other] = [new VirtualMaster(time), new VirtualMaster(time)];
  const ids = ["a", "b", "c"];
  // The address of master 1 will lead to the server of master 0.
  const nodes = [server, server, other].map((master, index) => {
    const node = new VirtualNode(`master-${index}`, machine, master);
    return Object.defineProperty(node, "server", {
      value: {
        get ids() {
          return [ids[index]];
        },
        refuseVotes: () => {},
      },
    });
  });
  const redlock = new Redlock(nodes, { runtime: machine, retryCount: 0 });
  redlock.on("error", () => {});
  const [value, ttl] = ["0123456789abcdef0123456789abcdef", 30_000];
  server.put("r", value, ttl);
  nodes[1]!.cut();
  nodes[2]!.cut();
  const lock = redlock.resume({ resources: ["r"], value, ttl });
  await expect(time.run(lock.verify())).rejects.toMatchObject({ code: "NO_QUORUM" });
  ids[0] = "d";
  nodes[0]!.restore();
  nodes[0]!.hang();
  ids[1] = "a";
  nodes[1]!.restore();
  await expect(time.run(lock.verify())).rejects.toMatchObject({ code: "NO_QUORUM" });
  expect(lock.remaining()).toBe(0);
});
