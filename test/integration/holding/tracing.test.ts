import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { inspect } from "node:util";
import { ReadWriteLock } from "@quorlock/redlock/read-write-lock";
import { Semaphore } from "@quorlock/redlock/semaphore";
import { channelNames, tracingChannelNames } from "@quorlock/redlock/tracing";
import { expect, it } from "vitest";
import { Fleet, fresh } from "../fleet/fleet.ts";

const fleet = Fleet.forTests(3);

const events = ["start", "end", "asyncStart", "asyncEnd", "error"] as const;

it("no message of a run holds a token, a member of a queue or an inbox", async () => {
  const texts: string[] = [];
  const names = new Set<string>();
  const undo: Array<() => void> = [];
  for (const name of [
    ...Object.values(channelNames),
    ...Object.values(tracingChannelNames).flatMap((of) => events.map((event) => `tracing:${of}:${event}`)),
  ]) {
    const listener = (message: unknown): void => {
      names.add(name);
      texts.push(inspect(message, { depth: 9, showHidden: true, getters: true }));
    };
    subscribe(name, listener);
    undo.push(() => void unsubscribe(name, listener));
  }
  const monitors = await Promise.all(fleet.admins.map((admin) => admin.monitor()));
  const tokens = new Set<string>();
  const members = new Set<string>();
  const inboxes = new Set<string>();
  for (const monitor of monitors) {
    monitor.on("monitor", (_time: string, words: string[]) => {
      const [command = "", key = "", , member = ""] = words;
      // The commands of scripts are shown as well.
      if (command.toLowerCase() === "zadd" && key.startsWith("quorlock:queue:")) members.add(member);
      for (const word of words) {
        if (word.startsWith("quorlock:inbox:")) inboxes.add(word.slice("quorlock:inbox:".length));
        for (const [token] of word.matchAll(/[0-9a-f]{24,}/g)) tokens.add(token);
      }
    });
  }
  const { redlock } = await fleet.openWarm({ retryCount: -1 });
  const { redlock: other } = await fleet.openWarm({ retryCount: -1 });
  const resource = fresh("traced");
  const lock = await redlock.acquire(resource, 20_000);
  const waiting = other.using(resource, 20_000, async (_, mine) => void (await mine.extend(20_000)));
  await expect(other.tryAcquire(resource, 1000)).resolves.toBeNull();
  await fleet.untilWaiting(resource);
  tokens.add(lock.value);
  await lock.extend(20_000);
  await lock.release();
  await waiting;
  await (await new Semaphore(redlock, fresh("traced"), 2).acquire(20_000)).release();
  await (await new ReadWriteLock(redlock, fresh("traced")).read(20_000)).release();
  await redlock.acquire(fresh("traced"), 20_000);
  await redlock.quit();
  for (const monitor of monitors) monitor.disconnect();
  for (const one of undo) one();
  expect([...names].sort()).toEqual(expect.arrayContaining(Object.values(channelNames)));
  for (const seen of [tokens, members, inboxes]) expect(seen.size).toBeGreaterThan(0);
  // The scripts' digests are no secrets, and no message has a hash.
  const text = texts.join("\n");
  const secrets = [...tokens, ...members, ...inboxes];
  expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
  expect(text).toContain(resource);
});
