import type { Lock, Redlock } from "@quorlock/redlock";
import { Stalls, startProxy, type Proxy as TcpProxy } from "@quorlock/testbed";
import { expect } from "vitest";
import { until } from "../contract/until.ts";
import { type Fleet, fresh, type Opened } from "../integration/fleet/fleet.ts";
import type { Target } from "./connection-faults.ts";
import { driftFactor, nodeTimeout, reconnectDelay, recoveryLimit, ttl } from "./terms.ts";

/** How well things went, over all cases of a file. */
const recoveries: number[] = [];
const notices: number[] = [];

/** One case: shared masters, its own proxies before them, and a Redlock that is connected over these. */
export class Fixture implements AsyncDisposable {
  readonly targets: readonly Target[];
  readonly redlock: Redlock;
  readonly resource: string = fresh("fault");
  /** The stalls of this process are subtracted: it is both the observer and the client. */
  readonly #stalls: Stalls = new Stalls();
  readonly #fleet: Fleet;
  readonly #opened: Opened;
  readonly #proxies: readonly TcpProxy[];

  static async start(fleet: Fleet): Promise<Fixture> {
    const proxies = await Promise.all(fleet.masters.map((master) => startProxy(master)));
    const client = { retryStrategy: () => reconnectDelay };
    const opened = fleet.open({ on: proxies, client, nodeTimeout, driftFactor });
    // A case is about connections that stand; on a busy machine the first vote may come before they do.
    const isWarm = () =>
      fleet.warmUp(opened).then(
        () => true,
        () => false,
      );
    await until("every master votes", isWarm);
    return new Fixture(fleet, opened, proxies);
  }

  private constructor(fleet: Fleet, opened: Opened, proxies: readonly TcpProxy[]) {
    this.#fleet = fleet;
    this.#opened = opened;
    this.#proxies = proxies;
    this.redlock = opened.redlock;
    this.targets = proxies.map((proxy, index) => ({ proxy, master: fleet.masters[index]! }));
  }

  /** A lock that all masters have voted for. */
  async acquire(): Promise<Lock> {
    const lock = await this.redlock.acquire(this.resource, ttl);
    await this.voted(lock);
    return lock;
  }

  async voted(lock: Lock): Promise<void> {
    await Promise.all(lock.attempts);
    expect(await this.#fleet.values(this.resource)).toEqual(this.targets.map(() => lock.value));
  }

  /** The moment before which no majority can be won by another, by what the masters say themselves. */
  async keptUntil(): Promise<number> {
    const asked = performance.now();
    const lifetimes = await this.#fleet.lifetimes(this.resource);
    const spare = lifetimes.length - Math.floor(lifetimes.length / 2);
    return asked + [...lifetimes].sort((a, b) => a - b)[spare - 1]!;
  }

  /** Nothing stays locked: no key lives longer than was asked for, and each is taken back long before that. */
  async nothingStays(longest: number = ttl): Promise<void> {
    for (const left of await this.#fleet.lifetimes(this.resource)) expect(left).toBeLessThanOrEqual(longest);
    const isGone = async () => (await this.#fleet.values(this.resource)).every((value) => value === null);
    const stalled = this.#stalls.total;
    const began = performance.now();
    await until("the key is gone everywhere", isGone, 2 * ttl);
    expect(performance.now() - began - (this.#stalls.total - stalled)).toBeLessThan(ttl / 2);
  }

  /** All is well again: the next lock comes soon. */
  async recovers(): Promise<void> {
    const stalled = this.#stalls.total;
    const began = performance.now();
    const lock = await this.redlock.acquire(fresh("next"), ttl, {
      retryCount: -1,
      retryDelay: 10,
      retryJitter: 5,
    });
    const took = performance.now() - began - (this.#stalls.total - stalled);
    expect(took).toBeLessThan(recoveryLimit);
    recoveries.push(took);
    await lock.release();
  }

  /** The holder was told while the masters still kept its lock. */
  wasTold(toldAt: number, keptUntil: number): void {
    expect(toldAt - this.#stalls.longest).toBeLessThan(keptUntil);
    notices.push(keptUntil - toldAt);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stalls[Symbol.dispose]();
    for (const client of this.#opened.clients) client.disconnect();
    await Promise.all(this.#proxies.map((proxy) => proxy.stop()));
  }
}

/** Resolves with the moment in which the signal aborts. */
export function aborted(signal: AbortSignal): Promise<number> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(performance.now()));
  });
}

/** Prints what was measured, for those who wonder how close it was. */
export function sayWhatWasMeasured(moment: string): void {
  const slowest = Math.round(Math.max(...recoveries));
  const told = notices.length > 0 ? `; told ${notices.length} times, at the closest` : "";
  const closest = notices.length > 0 ? ` ${Math.round(Math.min(...notices))} ms early` : "";
  console.log(
    `${moment}: recovered ${recoveries.length} times, the slowest in ${slowest} ms of ${recoveryLimit}${told}${closest}`,
  );
}
