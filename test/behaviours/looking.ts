import assert from "node:assert/strict";
import type { AcquireOptions, Lock, Redlock } from "@quorlock/redlock";
import { anyCode, type Bench, type Master, type OpenOptions, type Outcome } from "./bench.ts";

// How the cases look at the masters, and change them.

/** The value of a key on each of the masters, in their order. */
export async function valuesOf(masters: readonly Master[], key: string): Promise<(string | null)[]> {
  return Promise.all(masters.map((master) => master.call("GET", key) as Promise<string | null>));
}

/** The time that a key has left on each of the masters, ms; -2 where there is none. */
export async function lifetimesOn(masters: readonly Master[], key: string): Promise<number[]> {
  return Promise.all(masters.map((master) => master.call("PTTL", key) as Promise<number>));
}

/** Another client holds the key there. */
export async function occupy(masters: readonly Master[], key: string, ttl = 60_000): Promise<void> {
  await Promise.all(masters.map((master) => master.call("SET", key, "another client", "PX", ttl)));
}

/** Until none of the masters has the key. */
export async function untilGone({ time }: Bench, masters: readonly Master[], key: string): Promise<void> {
  await time.until(`${key} is gone`, async () =>
    (await valuesOf(masters, key)).every((value) => value === null),
  );
}

/** Until each of the masters has the key of the lock. */
export async function untilVoted({ time }: Bench, masters: readonly Master[], lock: Lock): Promise<void> {
  const { value, resources } = lock;
  await time.until(`${resources[0]} is held`, async () =>
    (await valuesOf(masters, resources[0]!)).every((one) => one === value),
  );
}

/** A Redlock, and its lock on "r" that every master has voted for. */
export async function held(bench: Bench, ttl = 2000, options: OpenOptions = {}): Promise<Held> {
  const redlock = await bench.redlock(options);
  const lock = await redlock.acquire("r", ttl);
  await Promise.all(lock.attempts);
  return { redlock, lock };
}

export interface Held {
  readonly redlock: Redlock;
  readonly lock: Lock;
}

/** So many Redlocks, each nearest to another of three masters: those that ask at once split the votes. */
export async function farApart(
  bench: Bench,
  count: number,
  options: OpenOptions = {},
): Promise<readonly Redlock[]> {
  const { faults, masters } = bench;
  const redlocks = await Promise.all(Array.from({ length: count }, () => bench.redlock(options)));
  for (const [place, redlock] of redlocks.entries())
    for (const [index, master] of masters.entries())
      await faults.slow(redlock, [master], 2 * ((index + 3 * count - place) % 3), "requests");
  return redlocks;
}

/** For how long a quorum of all masters keeps the key for this token, ms. */
export async function keptFor({ masters }: Bench, key: string, token: string): Promise<number> {
  const [values, lifetimes] = await Promise.all([valuesOf(masters, key), lifetimesOn(masters, key)]);
  const kept = lifetimes.map((left, index) => (values[index] === token ? left : 0));
  return kept.sort((a, b) => b - a)[Math.floor(masters.length / 2)]!;
}

/** The lock ends here before another client can hold it. */
export async function endsBeforeItsKeys(bench: Bench, lock: Lock): Promise<void> {
  for (const key of lock.resources) {
    const kept = await keptFor(bench, key, lock.value);
    const remaining = lock.remaining();
    assert.ok(remaining <= kept, `it ends in ${remaining} ms, and ${key} in ${kept} ms`);
  }
}

/** Until so many wait for "r" on each of the masters that answer. */
export async function untilWaiting({ time }: Bench, observer: Redlock, count: number): Promise<void> {
  await time.until(`${count} wait`, async () =>
    (await observer.inspect("r")).every(
      ({ waiters, unreachable }) => unreachable || waiters.length === count,
    ),
  );
}

/** A Redlock that holds "r", and a call of another one that waits for it in all queues. */
export async function waitingCall(
  bench: Bench,
  ttl = 20_000,
  options: AcquireOptions = {},
  resources: string | readonly string[] = "r",
) {
  const { redlock, lock } = await held(bench, 60_000);
  const waiter = await bench.redlock();
  const waiting = bench.time.took(waiter.acquire(resources, ttl, { waitTimeout: 60_000, ...options }));
  await untilWaiting(bench, redlock, 1);
  return { redlock, lock, waiter, waiting };
}

/** The claims that commands name, by what their tokens begin with. */
export function claimsIn(commands: ReadonlyArray<readonly string[]>): ReadonlySet<string> {
  return new Set(commands.flat().flatMap((word) => word.match(/[0-9a-f]{32}(?=\.\d)/g) ?? []));
}

/** How many masters vote for one more lock; 0 if it is refused. */
export async function votesFor(redlock: Redlock, ttl = 2000): Promise<number> {
  const lock = await redlock.tryAcquire("any", ttl).catch(() => null);
  if (!lock) return 0;
  const [stats] = await Promise.all(lock.attempts);
  await Promise.all((await lock.release()).attempts);
  return stats!.votesFor.size;
}

/** Until so many masters vote for one more lock, within 10 s; how long that took, ms. */
export async function untilVotes({ time }: Bench, redlock: Redlock, count: number): Promise<number> {
  const begun = time.now();
  while ((await votesFor(redlock)) !== count) {
    assert.ok(time.now() < begun + 10_000, `${count} masters do not vote`);
    await time.pass(20);
  }
  return time.now() - begun;
}

/** The error that the call ended with, by its code. */
export function failed(outcome: Outcome<unknown>, code: string): void {
  assert.ok(outcome.error, `${code} was expected, and the call resolved`);
  assert.ok([code, anyCode].includes(outcome.error.code), String(outcome.error));
}

/** Until the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** A backoff of a user that has a mistake. */
export function throwing(): number {
  throw new RangeError("no pause");
}

/** A time, ms: exactly in virtual time, and to within what a busy machine takes in real time. */
export function within({ time }: Bench, value: number, from: number, to: number, what: string): void {
  const isWithin = value >= from - time.slack && value <= to + time.slack;
  assert.ok(isWithin, `${what}: ${value} ms is not from ${from} to ${to}`);
}

/** How long something took, ms: as {@link within}, and longer by what a process that stood still takes from it. */
export function lasted({ time }: Bench, took: number, from: number, to: number, what: string): void {
  const most = to + time.slack + time.lateness(took);
  const isWithin = took >= from - time.slack && took <= most;
  assert.ok(isWithin, `${what}: ${took} ms is not from ${from} to ${to}, ${most} on this machine`);
}

/** Releases the lock: the call that waits for it has it within `most` ms. */
export async function handOver<T extends object>(
  bench: Bench,
  lock: Pick<Lock, "release">,
  waiting: Promise<T>,
  most: number,
): Promise<T> {
  const released = bench.time.now();
  await lock.release();
  const next = await waiting;
  lasted(bench, bench.time.now() - released, 0, most, "the hand-over");
  // (Of a call that goes through `time.took`.)
  assert.equal((next as Partial<Outcome<unknown>>).error, undefined, "the call that waited has failed");
  return next;
}

/** Every script of the client: a master that knows one needs one command where another one needs two. */
export function scriptsIn(module: object): readonly string[] {
  return Object.values(module).flatMap((exported: unknown) =>
    typeof exported === "object" && exported !== null && "sha1" in exported && "source" in exported
      ? [String(exported.source)]
      : [],
  );
}

/** `original` with other properties in the place of some. */
export function changed<Original extends object>(original: Original, changes: Partial<Original>): Original {
  return new Proxy(original, {
    get(target, key) {
      const value: unknown = Reflect.get(key in changes ? changes : target, key, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** Whether every master of a Redlock answers. */
export async function isConnected(redlock: Redlock): Promise<boolean> {
  const seen = await redlock.inspect("quorlock-behaviours");
  return seen.every(({ unreachable }) => unreachable === undefined);
}
