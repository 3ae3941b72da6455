import {
  type ExecutionStats,
  type Lock,
  type NodeError,
  Redlock,
  type RedlockOptions,
} from "@quorlock/redlock";
import {
  batchScript,
  claimScript,
  enqueueScript,
  guardedClaimScript,
  guardedLeaveScript,
  leaveScript,
  releaseBatchScript,
  releaseScript,
  voteBatchScript,
} from "@quorlock/redlock/internal";
import { withoutScripts } from "@quorlock/redlock/without-scripts";
import { type Master, type Masters, type MastersOptions, Stalls, startMasters } from "@quorlock/testbed";
import { Redis, type RedisOptions } from "ioredis";
import { afterAll, afterEach, beforeAll } from "vitest";
import { until } from "../../contract/until.ts";
import { openClient } from "./library.ts";

/** A Redlock under test, with its own clients. */
export interface Opened {
  readonly redlock: Redlock;
  /** The user's clients, with the defaults of their library: offline queue and resending are on. */
  readonly clients: readonly Redis[];
  /** The events of `error` so far. */
  readonly errors: readonly NodeError[];
}

export interface OpenOptions extends RedlockOptions {
  /** The masters to use. Default: all. */
  readonly on?: readonly Pick<Master, "host" | "port">[];
  readonly client?: RedisOptions;
  /** Of another version of ioredis. */
  readonly Client?: typeof Redis;
  /** `false`: the masters are asked without scripts. */
  readonly scripts?: boolean;
}

/** For tests that are not about silent masters: these answer, but the machine may be busy. Milliseconds. */
const patience = 900;

/** Real masters, and everything that the tests of one file open on them. */
export class Fleet {
  #started: Masters | undefined;
  #admins: readonly Redis[] = [];
  readonly #opened: Opened[] = [];

  static async start(count: number, options?: MastersOptions): Promise<Fleet> {
    const fleet = new Fleet();
    await fleet.#start(count, options);
    return fleet;
  }

  /**
   * For the tests of a file, or of one `describe`: it starts before the first of them and stops after the last, and
   * what one of them opens is closed when that one is over.
   */
  static forTests(count: number, options?: MastersOptions): Fleet {
    const fleet = new Fleet();
    beforeAll(() => fleet.#start(count, options));
    afterEach(() => fleet.closeAll());
    afterAll(() => fleet.stop());
    return fleet;
  }

  private constructor() {}

  async #start(count: number, options: MastersOptions = {}): Promise<void> {
    this.#started = await startMasters(count, { say: () => {}, ...options });
    this.#admins = this.masters.map(({ host, port }) => {
      const admin = new Redis(port, host);
      admin.on("error", () => {});
      return admin;
    });
  }

  /** None before it has started. */
  get masters(): readonly Master[] {
    return this.#started?.list ?? [];
  }

  /** Connections to look at the masters, and to change them, around the Redlocks under test. */
  get admins(): readonly Redis[] {
    return this.#admins;
  }

  open(options: OpenOptions = {}): Opened {
    const {
      on = this.masters,
      client: clientOptions = {},
      Client = Redis,
      scripts = true,
      ...rest
    } = options;
    const clients = on.map(({ host, port }) => openClient(host, port, clientOptions, Client));
    const redlock = new Redlock(scripts ? clients : withoutScripts(clients), {
      nodeTimeout: patience,
      // Tests count commands and keys: the record of an owner has tests of its own.
      owner: false,
      ...rest,
    });
    const errors: NodeError[] = [];
    redlock.on("error", (error) => {
      // (A master without INFO has a test of its own.)
      if (!error.message.includes("INFO tells no run_id")) errors.push(error);
    });
    const opened = { redlock, clients, errors };
    this.#opened.push(opened);
    return opened;
  }

  /**
   * Until every master has been connected to, has voted and has released: nothing of it is on its way any more. It takes
   * its time, however short the `nodeTimeout`, which is for the test behind it.
   */
  async warmUp({ redlock, clients }: { redlock: Redlock; clients: readonly object[] }): Promise<void> {
    await this.teachScripts();
    await untilConnected({ redlock });
    const lock = await redlock.acquire(fresh("warm-up"), 60_000, { nodeTimeout: 10_000 });
    const [stats] = await Promise.all(lock.attempts);
    const { attempts } = await lock.release();
    await Promise.all(attempts);
    if (stats!.votesFor.size < clients.length) throw new Error("a master did not vote in the warm-up");
  }

  /** A Redlock that {@link warmUp} has been done for. */
  async openWarm(options: OpenOptions = {}): Promise<Opened> {
    const opened = this.open(options);
    await this.warmUp(opened);
    return opened;
  }

  /** The value of a key on each of the masters, in their order. */
  values(resource: string, masters: readonly Master[] = this.masters): Promise<(string | null)[]> {
    return Promise.all(masters.map((master) => this.admin(master).get(resource)));
  }

  /** The time a key has left on each of the masters, ms; -2 for none. */
  lifetimes(resource: string, masters: readonly Master[] = this.masters): Promise<number[]> {
    return Promise.all(masters.map((master) => this.admin(master).pttl(resource)));
  }

  /** A master that knows the scripts needs one command where another one needs two. */
  async teachScripts(): Promise<void> {
    for (const admin of this.admins) {
      const scripts = [batchScript, claimScript, enqueueScript, leaveScript, releaseScript];
      scripts.push(guardedClaimScript, guardedLeaveScript, voteBatchScript, releaseBatchScript);
      for (const { source } of scripts) await admin.script("LOAD", source);
    }
  }

  admin(master: Master): Redis {
    return this.admins[this.masters.indexOf(master)]!;
  }

  /**
   * Acquires a lock that every master has voted for. After `acquire` alone, a waiter's vote may come to a master before
   * the holder's: then the waiter holds the key there, and waits in the queues of the others.
   */
  async hold(
    resource: string | string[],
    ttl: number,
    redlock: Redlock = this.open().redlock,
  ): Promise<Lock> {
    const lock = await redlock.acquire(resource, ttl);
    await this.untilHeld(lock);
    return lock;
  }

  /** Until every master has the lock's key: the last ones may be set a little after the grant. */
  async untilHeld({ resources, value }: Lock): Promise<void> {
    await Promise.all(
      resources.map((name) => this.untilAll(`${name} is held`, () => this.values(name), value)),
    );
  }

  /** Until the resource's queue has this number of entries on every master: waiters of one process have one. */
  async untilWaiting(resource: string, count = 1, admins: readonly Redis[] = this.admins): Promise<void> {
    const queue = `quorlock:queue:{${resource}}`;
    await this.untilAll(
      `${count} wait for ${resource}`,
      () => Promise.all(admins.map((admin) => admin.zcard(queue))),
      count,
    );
  }

  /** Until this number of clients is told of grants by each of the masters: the connections for that open and close late. */
  async untilListening(count: number): Promise<void> {
    const ask = () => Promise.all(this.admins.map((admin) => admin.pubsub("CHANNELS", "quorlock:inbox:*")));
    const listening = async () => (await ask()).map(({ length }) => length);
    await this.untilAll(`${count} listen`, listening, count);
  }

  /** Until each of the values is `wanted`; `what`: for the error. */
  async untilAll<T>(what: string, ask: () => Promise<T[]>, wanted: T): Promise<void> {
    let last: readonly T[] = [];
    await until(
      () => `${what} on every master, but: ${last.join(", ")}`,
      async () => {
        last = await ask();
        return last.every((one) => one === wanted);
      },
    );
  }

  /** Resolves when none of the masters has the key. */
  async untilGone(resource: string, masters: readonly Master[] = this.masters): Promise<void> {
    await this.untilAll(`${resource} is gone`, () => this.values(resource, masters), null);
  }

  /** Sets the key to another client's token. Without `ttl`: without expiry. */
  async occupy(
    resource: string,
    masters: readonly Master[] = this.masters,
    ttl?: number,
    owner = "another client",
  ): Promise<void> {
    for (const master of masters) {
      if (ttl === undefined) await this.admin(master).set(resource, owner);
      else await this.admin(master).set(resource, owner, "PX", ttl);
    }
  }

  async free(resource: string, masters: readonly Master[] = this.masters): Promise<void> {
    for (const master of masters) await this.admin(master).del(resource);
  }

  /** Ends what was opened, without waiting for anything: for `afterEach`. */
  closeAll(): void {
    for (const { clients } of this.#opened.splice(0)) for (const client of clients) client.disconnect();
  }

  /** Closes what was opened, and deletes all keys. */
  async empty(): Promise<void> {
    this.closeAll();
    await deleteAll(this.admins);
  }

  async stop(): Promise<void> {
    this.closeAll();
    for (const admin of this.admins) admin.disconnect();
    await this.#started?.stop();
  }
}

/**
 * Deletes all keys when the other connections are closed. On a busy machine a master may read a command of the test
 * before after its connection was closed, and execute it behind the deletion.
 */
export async function deleteAll(admins: readonly Redis[]): Promise<void> {
  for (const admin of admins) {
    let connections: readonly string[] = [];
    await until(
      () => `the connections of the test before are closed: ${connections.join("; ")}`,
      async () => {
        const list = String(await admin.call("CLIENT", "LIST", "TYPE", "normal"));
        connections = list.trim().split("\n");
        return connections.length === 1;
      },
    );
    await admin.flushall();
  }
}

/** Until the clients of the Redlock are connected to every master. */
export function untilConnected({ redlock }: Pick<Opened, "redlock">): Promise<void> {
  return until("every master answers", async () =>
    (await redlock.inspect("nothing")).every(({ unreachable }) => unreachable === undefined),
  );
}

/** Whether each of the clients' masters said yes, in their order. */
export function votesOf(clients: readonly object[], stats: ExecutionStats): boolean[] {
  return clients.map((client) => stats.votesFor.has(client));
}

let names = 0;

/** A resource that no other test uses. */
export function fresh(what = "resource"): string {
  names += 1;
  return `${what}-${names}`;
}

export interface Timed<T> {
  readonly result: T;
  /** By the clock, ms: for lower limits. */
  readonly took: number;
  /** The same without the time in which this process did not run: for upper limits, which hold on a busy machine too. */
  readonly net: number;
}

export async function timed<T>(work: () => Promise<T>): Promise<Timed<T>> {
  using stalls = new Stalls();
  const begun = performance.now();
  const result = await work();
  const took = performance.now() - begun;
  return { result, took, net: took - stalls.total };
}

/** The error that `work` rejects with; fails when it does not. */
export async function rejection(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    return error;
  }
  throw new Error("it was expected to reject, and resolved");
}
