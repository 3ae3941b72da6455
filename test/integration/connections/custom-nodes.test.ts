import { Redlock, type RedlockOptions } from "@quorlock/redlock";
import {
  type LockNode,
  type LockQueue,
  type Question,
  RedisNode,
  type Sink,
} from "@quorlock/redlock/internal";
import { Redis } from "ioredis";
import { describe, expect, it, onTestFinished } from "vitest";
// The package makes connections of clients by itself and has no name for it.
import { connectionOf } from "../../../packages/redlock/src/adapters/client-libraries.ts";
import { Fleet, fresh } from "../fleet/fleet.ts";

// Nodes that users have written or wrapped. A rejection or an exception that nothing catches fails the run.

const fleet = Fleet.forTests(3);
const ttl = 30_000;

/** A master of the user's own, by a node of this library. */
class Wrapped implements LockNode {
  readonly inner: RedisNode;
  readonly name: string;
  readonly client: object;
  readonly keepsCounters = true;
  readonly queue: LockQueue | undefined;

  constructor(client: Redis) {
    this.inner = new RedisNode(connectionOf(client));
    this.name = this.inner.name;
    this.client = client;
    this.queue = this.inner.queue;
  }

  ask(question: Question, place: number, sink: Sink): void {
    this.inner.ask(question, place, sink);
  }

  watchGuard(guard: Parameters<RedisNode["watchGuard"]>[0]): void {
    this.inner.watchGuard(guard);
  }

  onReady(listener: () => void): () => void {
    return this.inner.onReady(listener);
  }

  close(): Promise<void> {
    return this.inner.close();
  }

  disconnect(): void {
    this.inner.disconnect();
  }
}

class Throwing extends Wrapped {
  override ask(): void {
    throw new Error("out of order");
  }
}

/** Its command goes out, and its answer comes. */
class ThrowingLater extends Wrapped {
  override ask(question: Question, place: number, sink: Sink): void {
    super.ask(question, place, sink);
    throw new Error("out of order");
  }
}

class Forgetful extends Wrapped {
  override ask(question: Question, _: number, sink: Sink): void {
    this.inner.ask(question, undefined as unknown as number, sink);
  }
}

class Deaf extends Throwing {
  override readonly queue: LockQueue = {
    isListening: false,
    listen: () => {
      throw new Error("no subscription");
    },
  };
}

class Rejecting extends Throwing {
  override readonly queue: LockQueue = {
    isListening: false,
    listen: () => Promise.reject(new Error("no subscription")),
  };
}

function opened(makers: ReadonlyArray<(client: Redis) => LockNode>, options: RedlockOptions = {}): Redlock {
  const clients = fleet.masters.map(({ host, port }) => new Redis(port, host));
  const nodes = clients.map((client, index) => makers[index]!(client));
  const redlock = new Redlock(nodes, { nodeTimeout: 900, waitTimeout: 20_000, retryDelay: 50, ...options });
  onTestFinished(async () => {
    await redlock.quit();
    for (const client of clients) client.disconnect();
  });
  return redlock;
}

const right = (client: Redis): LockNode => new Wrapped(client);
const forgetful = (client: Redis): LockNode => new Forgetful(client);

describe.each([
  ["throws", (client: Redis) => new Throwing(client)],
  ["throws after it has sent", (client: Redis) => new ThrowingLater(client)],
  ["does not pass on its place", forgetful],
  ["throws when it is to subscribe", (client: Redis) => new Deaf(client)],
  ["rejects when it is to subscribe", (client: Redis) => new Rejecting(client)],
])("one of three nodes that %s", (_, wrong) => {
  it.each([{ fencing: true }, { restartGuard: { maxTtl: 60_000, durable: true } }])(
    "counts as a master that does not answer: %j",
    async (options) => {
      await fleet.empty();
      const [redlock, other] = [
        opened([right, wrong, right], options),
        opened([right, right, right], options),
      ];
      if ("restartGuard" in options) await other.initialize();
      const resource = fresh("custom");
      const held = await fleet.hold(resource, ttl, other);
      const waiting = redlock.acquire(resource, ttl);
      await fleet.untilWaiting(resource, 1, [fleet.admins[0]!, fleet.admins[2]!]);
      await held.release();
      const lock = await waiting;
      expect(await lock.verify()).toBe(true);
      await lock.extend(ttl);
      await lock.release();
      await using next = await redlock.acquire(resource, ttl);
      expect(next.state).toBe("held");
    },
  );
});

it("acquire rejects in time if no node passes on its place", async () => {
  const redlock = opened([forgetful, forgetful, forgetful], { nodeTimeout: 100 });
  await expect(redlock.tryAcquire(fresh(), ttl)).rejects.toThrow("No quorum");
});
