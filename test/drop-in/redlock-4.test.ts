import { once } from "node:events";
import { readFileSync } from "node:fs";
import { ExecutionError, Redlock } from "@quorlock/redlock";
import { Redis } from "ioredis";
// @ts-expect-error It has no types.
import Redlock4 from "redlock-4";
import { afterEach, expect, test } from "vitest";
import { Fleet, fresh } from "../integration/fleet/fleet.ts";
import { type Any, thrown } from "./bench.ts";

// Each line of the table in docs/redlock-4.md: the left cell run with redlock 4, the right one with this package, on the
// same masters. The effect is the same.

const fleet = Fleet.forTests(3);
const opened: Redis[] = [];
afterEach(() => {
  for (const client of opened.splice(0)) client.disconnect();
});

function clients(): Redis[] {
  const all = fleet.masters.map(({ host, port }) => new Redis(port, host));
  opened.push(...all);
  return all;
}

const quick = { driftFactor: 0.01, retryCount: 2, retryDelay: 20, retryJitter: 0 };
const theirs = (options: object = {}): Any => new Redlock4(clients(), { ...quick, ...options });
const ours = (options: object = {}): Redlock =>
  new Redlock(clients(), { nodeTimeout: 2000, ...quick, ...options });

/** Calls with a callback as Node's libraries did; resolves to the arguments that it is called with. */
function calledBack(call: (callback: (...args: Any[]) => void) => unknown): Promise<Any[]> {
  return new Promise((resolve) => call((...args) => resolve(args)));
}

/** The number of masters with the key. */
async function copies(resource: string): Promise<number> {
  return (await fleet.values(resource)).filter((value) => value !== null).length;
}

/** The keys of both are there, on each master, with about this lifetime. */
async function held(resources: readonly string[], ttl: number): Promise<unknown> {
  await Promise.all(fleet.admins.map((admin) => admin.ping()));
  const lifetimes = await Promise.all(resources.map((resource) => fleet.lifetimes(resource)));
  return lifetimes.flat().map((left) => left > ttl - 3000 && left <= ttl);
}

async function gone(resource: string): Promise<number> {
  await fleet.untilGone(resource);
  return copies(resource);
}

interface Translation {
  readonly theirs: () => Promise<unknown>;
  readonly ours: () => Promise<unknown>;
  readonly effect: unknown;
}

const onAll = [true, true, true];

const lines: Readonly<Record<string, Translation>> = {
  "`new Redlock(clients, { driftFactor, retryCount, retryDelay, retryJitter })`": {
    theirs: async () => {
      const { driftFactor, retryCount, retryDelay, retryJitter } = theirs();
      return { driftFactor, retryCount, retryDelay, retryJitter };
    },
    ours: async () => {
      const { driftFactor, retryCount, retryDelay, retryJitter } = ours().settings;
      return { driftFactor, retryCount, retryDelay, retryJitter };
    },
    effect: quick,
  },
  "`redlock.lock(resource, ttl)`, `redlock.lock(resources, ttl)`": {
    theirs: async () => {
      const [a, b, c] = [fresh(), fresh(), fresh()];
      const redlock = theirs();
      await redlock.lock(a, 20_000);
      await redlock.lock([b, c], 20_000);
      return held([a, b, c], 20_000);
    },
    ours: async () => {
      const [a, b, c] = [fresh(), fresh(), fresh()];
      const redlock = ours();
      for (const lock of [await redlock.acquire(a, 20_000), await redlock.acquire([b, c], 20_000)]) {
        await Promise.all(lock.attempts);
      }
      return held([a, b, c], 20_000);
    },
    effect: [...onAll, ...onAll, ...onAll],
  },
  "`redlock.lock(resource, ttl, (error, lock) => ...)`": {
    theirs: async () => {
      const [free, taken] = [fresh(), fresh()];
      await fleet.occupy(taken);
      const [, lock] = await calledBack((done) => theirs().lock(free, 20_000, done));
      const [error] = await calledBack((done) => theirs().lock(taken, 20_000, done));
      return [lock.resource, error instanceof Error].map((value) => value === true || value[0] === free);
    },
    ours: async () => {
      const [free, taken] = [fresh(), fresh()];
      await fleet.occupy(taken);
      const [lock] = await calledBack((done) => ours().acquire(free, 20_000).then(done));
      const [error] = await calledBack((failed) =>
        ours()
          .acquire(taken, 20_000)
          .then(() => {}, failed),
      );
      return [lock.resources[0] === free, error instanceof Error];
    },
    effect: [true, true],
  },
  "`redlock.lockWithOptions(resource, ttl, options)`, `redlock.acquireWithOptions(...)`": {
    theirs: async () => {
      const taken = fresh();
      await fleet.occupy(taken);
      const options = { retryCount: 1, retryDelay: 10 };
      const first = await thrown(() => theirs().lockWithOptions(taken, 20_000, options));
      const second = await thrown(() => theirs().acquireWithOptions(taken, 20_000, options));
      return [first.attempts, second.attempts];
    },
    ours: async () => {
      const taken = fresh();
      await fleet.occupy(taken);
      const error = await thrown(() => ours().acquire(taken, 20_000, { retryCount: 1, retryDelay: 10 }));
      return [error.attempts.length, error.attempts.length];
    },
    effect: [2, 2],
  },
  "`lock.unlock()`, `redlock.unlock(lock)`": {
    theirs: async () => {
      const [a, b] = [fresh(), fresh()];
      const redlock = theirs();
      await (await redlock.lock(a, 20_000)).unlock();
      await redlock.unlock(await redlock.lock(b, 20_000));
      return [await copies(a), await copies(b)];
    },
    ours: async () => {
      const [a, b] = [fresh(), fresh()];
      const redlock = ours();
      await (await redlock.acquire(a, 20_000)).release();
      await redlock.release(await redlock.acquire(b, 20_000));
      return [await gone(a), await gone(b)];
    },
    effect: [0, 0],
  },
  "`lock.unlock((error) => ...)`": {
    theirs: async () => {
      const a = fresh();
      const lock = await theirs().lock(a, 20_000);
      const [error] = await calledBack((done) => lock.unlock(done));
      return [error instanceof Error, await copies(a)];
    },
    ours: async () => {
      const a = fresh();
      const lock = await ours().acquire(a, 20_000);
      const [done] = await calledBack((called) => lock.release().then(called));
      return [done instanceof Error, await gone(a)];
    },
    effect: [false, 0],
  },
  "`lock.extend(ttl)`, `redlock.extend(lock, ttl)`": {
    theirs: async () => {
      const [a, b] = [fresh(), fresh()];
      const redlock = theirs();
      const [first, second] = [await redlock.lock(a, 5000), await redlock.lock(b, 5000)];
      const same = [
        (await first.extend(50_000)) === first,
        (await redlock.extend(second, 50_000)) === second,
      ];
      return [...same, await held([a, b], 50_000)];
    },
    ours: async () => {
      const [a, b] = [fresh(), fresh()];
      const redlock = ours();
      const [first, second] = [await redlock.acquire(a, 5000), await redlock.acquire(b, 5000)];
      const same = [
        (await first.extend(50_000)) === first,
        (await redlock.extend(second, 50_000)) === second,
      ];
      await Promise.all([...first.attempts, ...second.attempts]);
      return [...same, await held([a, b], 50_000)];
    },
    effect: [true, true, [...onAll, ...onAll]],
  },
  "`redlock.disposer(resource, ttl, unlockErrorHandler)` with `Promise.using` of Bluebird": {
    theirs: async () => {
      const a = fresh();
      const redlock = theirs();
      const disposer = redlock.disposer(a, 20_000);
      // Bluebird's own, which redlock 4 depends on: its promises lead to it.
      const Bluebird = redlock.lock(fresh(), 100).constructor;
      const during = await Bluebird.using(disposer, async () => copies(a));
      return [during > 1, await copies(a)];
    },
    ours: async () => {
      const a = fresh();
      const redlock = ours();
      const during = await redlock.using(a, 20_000, () => copies(a));
      await gone(a);
      {
        await using lock = await redlock.acquire(a, 20_000);
        await Promise.all(lock.attempts);
      }
      return [during > 1, await gone(a)];
    },
    effect: [true, 0],
  },
  "`redlock.quit()`, `redlock.quit(callback)`": {
    theirs: async () => {
      const [first, second] = [theirs(), theirs()];
      const ended = opened.map((client) => once(client, "end"));
      await first.quit();
      await calledBack((done) => second.quit(done));
      return (await Promise.all(ended)).length;
    },
    ours: async () => {
      const [first, second] = [ours(), ours()];
      const ended = opened.map((client) => once(client, "end"));
      await Promise.all([first.quit(), second.quit()]);
      return (await Promise.all(ended)).length;
    },
    effect: 6,
  },
  '`redlock.on("clientError", listener)`': {
    theirs: async () => {
      const redlock = theirs();
      const errors: unknown[] = [];
      redlock.on("clientError", (error: unknown) => errors.push(error));
      opened.at(-1)!.disconnect();
      await redlock.lock(fresh(), 20_000);
      return errors.length > 0;
    },
    ours: async () => {
      const redlock = ours();
      const errors: unknown[] = [];
      redlock.on("error", (error) => errors.push(error));
      opened.at(-1)!.disconnect();
      await Promise.all((await redlock.acquire(fresh(), 20_000)).attempts);
      return errors.length > 0;
    },
    effect: true,
  },
  "`lock.resource`, `lock.value`, `lock.expiration`, `lock.attempts`": {
    theirs: async () => {
      const a = fresh();
      const { resource, value, expiration, attempts } = await theirs().lock(a, 20_000);
      const values = await fleet.values(a);
      return [resource[0] === a, values.includes(value), expiration > Date.now() + 15_000, attempts];
    },
    ours: async () => {
      const a = fresh();
      const { resources, value, expiration, attempts } = await ours().acquire(a, 20_000);
      const values = await fleet.values(a);
      return [resources[0] === a, values.includes(value), expiration > Date.now() + 15_000, attempts.length];
    },
    effect: [true, true, true, 1],
  },
  "`Redlock.LockError`, `error.attempts`": {
    theirs: async () => {
      const taken = fresh();
      await fleet.occupy(taken);
      const error = await thrown(() => theirs().lock(taken, 20_000));
      return [error instanceof Redlock4.LockError, error.attempts];
    },
    ours: async () => {
      const taken = fresh();
      await fleet.occupy(taken);
      const error = await thrown(() => ours().acquire(taken, 20_000));
      return [error instanceof ExecutionError, error.attempts.length];
    },
    effect: [true, 3],
  },
  "`retryCount: -1`": {
    theirs: async () => {
      const taken = fresh();
      await fleet.occupy(taken);
      const waiting = theirs({ retryCount: -1 }).lock(taken, 20_000);
      await fleet.free(taken);
      return (await waiting).resource[0] === taken;
    },
    ours: async () => {
      const taken = fresh();
      await fleet.occupy(taken);
      const waiting = ours({ retryCount: -1 }).acquire(taken, 20_000);
      await fleet.free(taken);
      return (await waiting).resources[0] === taken;
    },
    effect: true,
  },
};

/** Arguments of redlock 4 that this package refuses, with the name of the page. */
const refused: Readonly<Record<string, { readonly theirs: () => Any; readonly ours: () => Any }>> = {
  "`extendScript`, `lockScript`, `unlockScript`": {
    theirs: async () => theirs({ lockScript: (script: string) => `${script}\n` }).lock(fresh(), 20_000),
    ours: async () => ours({ lockScript: (script: string) => `${script}\n` }),
  },
  "`redlock.acquire(...)`, `redlock.release(...)` with a callback": {
    theirs: async () => {
      const redlock = theirs();
      const [, lock] = await calledBack((done) => redlock.acquire(fresh(), 20_000, done));
      await calledBack((done) => redlock.extend(lock, 20_000, done));
      await calledBack((done) => lock.extend(20_000, done));
      await calledBack((done) => redlock.release(lock, done));
    },
    ours: async () => {
      const redlock: Any = ours();
      const lock = await redlock.acquire(fresh(), 20_000);
      for (const [target, name, ...args] of [
        [redlock, "acquire", fresh(), 20_000],
        [redlock, "extend", lock, 20_000],
        [lock, "extend", 20_000],
        [redlock, "quit"],
      ]) {
        const error = await thrown(async () => target[name](...args, () => {}));
        expect(error.message, name).toContain("see docs/redlock-4.md");
      }
      await redlock.release(lock, () => {});
    },
  },
};

test.each(Object.entries(lines))("%s has the same effect", async (_, line) => {
  expect(await line.theirs()).toEqual(line.effect);
  for (const client of opened.splice(0)) client.disconnect();
  expect(await line.ours()).toEqual(line.effect);
});

test.each(Object.entries(refused))("%s: refused, and the message names the page", async (_, line) => {
  await line.theirs();
  expect((await thrown(line.ours)).message).toContain("see docs/redlock-4.md");
});

test("each line of the table has a test, but for the import, which is tested with the tarball", () => {
  const page = readFileSync(new URL("../../packages/redlock/docs/redlock-4.md", import.meta.url), "utf8");
  const cells = page.split("\n").flatMap((row) => /^\| (`.+?) +\| /.exec(row)?.[1] ?? []);
  const [imported, ...rest] = cells;
  expect(imported).toBe('`const Redlock = require("redlock")`');
  expect(rest.sort()).toEqual([...Object.keys(lines), ...Object.keys(refused)].sort());
});
