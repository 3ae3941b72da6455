import {
  InvalidArgumentError,
  type Lock,
  Redlock,
  ResourceLockedError,
  type Runtime,
  systemRuntime,
} from "@quorlock/redlock";
import { type Question, RedisNode, type Sink } from "@quorlock/redlock/internal";
import { withoutScripts } from "@quorlock/redlock/without-scripts";
import { Redis } from "ioredis";
import { describe, expect, it } from "vitest";
// The package makes nodes of clients and exports no function for it: one of these loses its key.
import { connectionOf } from "../../../packages/redlock/src/adapters/client-libraries.ts";
import { Fleet, fresh, rejection } from "../fleet/fleet.ts";
import { WireTap } from "../fleet/wire-tap.ts";

// PROTOCOL 8.7.

const fleet = Fleet.forTests(3);

const ttl = 30_000;
const hour = 3_600_000;

/** A client whose clock is off. */
function withClockAt(offset: number): Runtime {
  return { ...systemRuntime, wall: () => systemRuntime.wall() + offset };
}

function counterKey(resource: string): string {
  return `quorlock:fence:${resource}`;
}

/** The token of one more lock, of a client like that. */
async function tokenOf(resources: string | string[], offset = 0): Promise<number> {
  const { redlock } = fleet.open({ fencing: true, runtime: withClockAt(offset) });
  const lock = await redlock.acquire(resources, ttl);
  await settled(lock);
  const { attempts } = await lock.release();
  await Promise.all(attempts);
  return lock.fencingToken!;
}

/** Until all have answered: what comes later would be there for the next one to find. */
async function settled(lock: Lock): Promise<void> {
  await Promise.all(lock.attempts);
}

/** The commands that each master was sent for `work`. */
async function commandsFor(work: () => Promise<unknown>): Promise<string[][]> {
  const taps = await Promise.all(fleet.admins.map((admin) => WireTap.on(admin)));
  try {
    await work();
    const commands = await Promise.all(taps.map((tap) => tap.commands()));
    return commands.map((ofMaster) => ofMaster.map(({ words }) => words[0]!));
  } finally {
    for (const tap of taps) await tap[Symbol.asyncDispose]();
  }
}

describe("one round", () => {
  it("is what an uncontended lock takes, of one resource and of several", async () => {
    const { redlock } = await fleet.openWarm({ fencing: true });
    for (const resources of [fresh(), [fresh(), fresh()]]) {
      const commands = await commandsFor(async () => settled(await redlock.acquire(resources, ttl)));
      expect(commands).toEqual([["EVALSHA"], ["EVALSHA"], ["EVALSHA"]]);
    }
  });
});

describe("the next token is larger", () => {
  it("for a clock that is an hour behind: then a second round stores it", async () => {
    const resource = fresh();
    const first = await tokenOf(resource);
    const { redlock } = await fleet.openWarm({ fencing: true, runtime: withClockAt(-hour) });
    let lock: Lock | undefined;
    const commands = await commandsFor(async () => {
      lock = await redlock.acquire(resource, ttl);
      await settled(lock);
    });
    expect(lock!.fencingToken).toBe(first + 1);
    for (const ofMaster of commands) expect(ofMaster).toEqual(["EVALSHA", "EVALSHA"]);
    await lock!.release();
    expect(await tokenOf(resource, -hour)).toBe(first + 2);
    expect(await tokenOf(resource)).toBeGreaterThan(first + 2);
  });

  it("when the counters are gone, and with them a clock that was ahead", async () => {
    const resource = fresh();
    const first = await tokenOf(resource, hour);
    // As a day later: of what is stored for the resource nothing is left, and the past is over.
    for (const admin of fleet.admins) await admin.del(counterKey(resource), "quorlock:floor:past");
    expect(await tokenOf(resource)).toBeGreaterThan(first);
    for (const admin of fleet.admins) expect(await admin.pttl("quorlock:floor")).toBe(-1);
    const left = await fleet.admins[0]!.pttl(counterKey(resource));
    expect(left).toBeGreaterThan(23 * hour);
  });
});

describe("a lock's token", () => {
  it("is the lock's for as long as it lasts, here and where it is resumed, and in a routine", async () => {
    const { redlock } = fleet.open({ fencing: true, reentrant: true });
    const resource = fresh();
    await redlock.using(resource, ttl, async (_, lock) => {
      const token = lock.fencingToken!;
      expect(Number.isSafeInteger(token)).toBe(true);
      await lock.extend(ttl);
      expect(lock.fencingToken).toBe(token);
      await redlock.using(resource, ttl, async (_signal, inner) => {
        expect(inner.fencingToken).toBe(token);
      });
      const other = fleet.open().redlock;
      const detached = await lock.detach();
      expect(detached.fencingToken).toBe(token);
      const again = await other.resume(JSON.parse(JSON.stringify(detached))).detach();
      expect(again).toEqual(detached);
      const resumed = other.resume(again);
      expect(resumed.fencingToken).toBe(token);
      await resumed.release();
    });
    await fleet.untilGone(resource);
  });

  it("is none without the option, when detached as well", async () => {
    const lock = await fleet.open().redlock.acquire(fresh(), ttl);
    expect(lock.fencingToken).toBeUndefined();
    expect(await lock.detach()).not.toHaveProperty("fencingToken");
  });

  it.each([0, -1, 1.5, 2 ** 53, "7", Number.NaN])("is not resumed from %j", (fencingToken) => {
    const { redlock } = fleet.open({ fencing: true });
    const detached = { resources: ["r"], value: "v", ttl, fencingToken: fencingToken as number };
    expect(() => redlock.resume(detached)).toThrow("fencingToken");
  });
});

describe("waiting", () => {
  it.each([
    ["in the queue", {}],
    ["in the queue, with clocks that differ", { skew: hour }],
    ["asking again", { queue: false }],
  ] as const)("%s: tokens come in the order of the holds", async (_, options) => {
    const { skew = 0, ...redlockOptions } = { queue: true, ...options } as { skew?: number; queue: boolean };
    const resource = fresh();
    const tokens: number[] = [];
    const work = async (index: number): Promise<void> => {
      const runtime = withClockAt(index % 2 ? -skew : 0);
      const { redlock } = fleet.open({ fencing: true, runtime, retryDelay: 5, ...redlockOptions });
      for (let round = 0; round < 12; round += 1) {
        await redlock.using(resource, ttl, { retryCount: -1 }, async (_signal, lock) => {
          tokens.push(lock.fencingToken!);
        });
      }
    };
    // Two of each process: what is passed on within it has its own token as well.
    await Promise.all([0, 1, 2].flatMap((index) => [work(index), work(index)]));
    expect(tokens).toHaveLength(72);
    expect(tokens).toEqual([...new Set(tokens)].toSorted((one, other) => one - other));
  });
});

describe("a second round that fails", () => {
  it.each([
    [1, "it is granted by the others"],
    [2, "it is no lock, and nothing of it stays"],
  ])("where %i of 3 have lost the key: %s", async (count) => {
    const resource = fresh();
    await tokenOf(resource, 20 * hour);
    let lost = 0;
    /** Between the rounds the key goes, as if it had expired. */
    class LosingNode extends RedisNode {
      override ask(question: Question, place: number, sink: Sink): void {
        const extend = () => super.ask(question, place, sink);
        const isSecond = question.verb === "extend" && question.proposal !== undefined;
        if (!isSecond || lost === count) extend();
        else {
          lost += 1;
          const place = fleet.masters.findIndex(({ host, port }) => this.name === `${host}:${port}`);
          void fleet.admins[place]!.del(resource).then(extend);
        }
      }
    }
    const { clients } = await fleet.openWarm();
    const nodes = clients.map((client) => new LosingNode(connectionOf(client)));
    const acquiring = new Redlock(nodes, { fencing: true, retryCount: 0 }).acquire(resource, ttl);
    if (count === 1) expect((await acquiring).fencingToken).toBeGreaterThan(0);
    else {
      expect(await rejection(acquiring)).not.toBeInstanceOf(ResourceLockedError);
      await fleet.untilGone(resource);
    }
    expect(lost).toBe(count);
  });
});

it("fencing is refused without scripts", () => {
  const client = new Redis({ lazyConnect: true });
  expect(() => new Redlock(withoutScripts([client]), { fencing: true })).toThrow(InvalidArgumentError);
  client.disconnect();
});
