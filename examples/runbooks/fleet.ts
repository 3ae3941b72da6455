import { setTimeout as pause } from "node:timers/promises";
import { redlockOf } from "@quorlock/peers";
import { type Lock, Redlock, type RedlockOptions } from "@quorlock/redlock";
import { now } from "@quorlock/simulation/processes";
import { Redis } from "ioredis";
import { within } from "../fixture/fixture.ts";

/** The resource that all clients of a fleet lock in turn. */
export const resource = "invoice:42";
/** The ttl of these locks, ms: the longest of the fleet, so a runbook waits for it between two steps. */
export const ttl = 1000;

/** A lock as the checker sees it: whether its holder may act now. */
interface Held {
  isValid(): boolean;
}

/** One process of the application, with clients of its own. */
interface Member {
  /** Locks, works for a moment, releases; until it is stopped. Resolves when its connections are closed. */
  readonly ended: Promise<void>;
  stop(): void;
}

/**
 * The application during an operation on its masters: clients that lock one resource in turn, and a checker of their locks.
 * Every acquired lock is compared with all others: two valid at a time are an overlap.
 */
export class Fleet implements AsyncDisposable {
  readonly #members = new Map<string, Member>();
  readonly #held = new Set<Held>();
  readonly #listeners = new Set<() => void>();
  /** When each lock was granted, by the clock that all processes share. */
  readonly #grantedAt: number[] = [];
  /** The `error` and `clock` events of Quorlock's clients, as "master reason". */
  readonly reports: Set<string> = new Set();
  grants: number = 0;
  overlaps: number = 0;
  lost: number = 0;

  /** A client of Quorlock begins, over these masters. */
  begin(name: string, urls: readonly string[], options: RedlockOptions = {}): void {
    const redlock = new Redlock(clientsOf(urls), options);
    redlock.on("error", ({ node, reason }) => this.reports.add(`${node} ${reason}`));
    redlock.on("clock", ({ node, kind }) => this.reports.add(`${node} ${kind}`));
    redlock.on("lost", () => (this.lost += 1));
    const ending = new AbortController();
    const { signal } = ending;
    const act = (lock: Lock): Promise<void> => this.#work({ isValid: () => lock.remaining() > 0 });
    const ended = untilAborted(signal, () =>
      redlock.using(resource, ttl, { waitTimeout: 10 * ttl, signal }, (_, lock) => act(lock)),
    ).then(() => redlock.quit());
    this.#members.set(name, { ended, stop: () => ending.abort() });
  }

  /** A client of redlock 5 begins. */
  beginRedlock5(name: string, urls: readonly string[]): void {
    const clients = clientsOf(urls);
    const redlock = redlockOf("redlock").on(clients, { waitTimeout: 10 * ttl });
    redlock.onFault?.(() => {});
    const ending = new AbortController();
    const ended = untilAborted(ending.signal, async () => {
      const held = await redlock.acquire(resource, ttl);
      await this.#work(held);
      await redlock.release(held);
    }).then(() => {
      for (const client of clients) client.disconnect();
    });
    this.#members.set(name, { ended, stop: () => ending.abort() });
  }

  /** The client finishes its work, releases its lock and ends. */
  async end(name: string): Promise<void> {
    const member = this.#members.get(name)!;
    member.stop();
    await within(20 * ttl, `the end of ${name}`, member.ended);
    this.#members.delete(name);
  }

  /** Resolves after so many more grants: the service works. Rejects if they take longer than `limit` ms. */
  async granted(count: number, limit: number = 30_000): Promise<number> {
    const [begun, goal] = [now(), this.grants + count];
    await this.#until(() => this.grants >= goal, `${count} grants`, limit);
    return Math.round(now() - begun);
  }

  /** Another process held the lock for this time: each grant in it is an overlap. */
  compareWith([begin, end]: readonly [number, number]): void {
    this.overlaps += this.#grantedAt.filter((time) => time >= begin && time <= end).length;
  }

  /** Resolves once a client has reported this. */
  async reported(pattern: RegExp, limit: number = 30_000): Promise<void> {
    await this.#until(() => [...this.reports].some((report) => pattern.test(report)), String(pattern), limit);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#members.keys()].map((name) => this.end(name)));
  }

  async #work(lock: Held): Promise<void> {
    this.grants += 1;
    this.#grantedAt.push(now());
    for (const other of this.#held) if (other.isValid() && lock.isValid()) this.overlaps += 1;
    this.#held.add(lock);
    for (const listener of this.#listeners) listener();
    await pause(2);
    this.#held.delete(lock);
  }

  async #until(isSo: () => boolean, what: string, limit: number): Promise<void> {
    if (isSo()) return;
    let listener: (() => void) | undefined;
    const found = new Promise<void>((resolve) => {
      listener = () => void (isSo() && resolve());
      this.#listeners.add(listener);
    });
    await within(limit, what, found).finally(() => this.#listeners.delete(listener!));
  }
}

/** Calls `act` again and again. A failed call is one that found no quorum or waited in vain: the next one may succeed. */
async function untilAborted(signal: AbortSignal, act: () => Promise<unknown>): Promise<void> {
  while (!signal.aborted) await act().catch(() => pause(10));
}

function clientsOf(urls: readonly string[]): readonly Redis[] {
  return urls.map((url) => {
    const client = new Redis(url);
    client.on("error", () => {});
    return client;
  });
}
