import { setTimeout as pause } from "node:timers/promises";
import type { Lock } from "@quorlock/redlock";
import { type LeadOptions, lead } from "@quorlock/redlock/lead";
import { describe, expect, it } from "vitest";
import { until } from "../../contract/until.ts";
import { Fleet, fresh, type Opened } from "../fleet/fleet.ts";

// The rules of an election are tested in virtual time, in packages/redlock/src/primitives/lead.test.ts, and a leader that dies
// or quits by processes, in test/process/lead.deep.test.ts: this is about real clocks, over several ttls.

const fleet = Fleet.forTests(3);

/** One of those who stand for election, with its own connections. */
class Candidate {
  readonly opened: Opened;
  readonly resign = new AbortController();
  terms = 0;
  leading: Lock | undefined;
  campaigning: Promise<void> = Promise.resolve();

  constructor() {
    this.opened = fleet.open({ nodeTimeout: 700, retryDelay: 20, retryJitter: 10 });
  }

  stand(resource: string, ttl: number): this {
    const options: LeadOptions = {
      signal: this.resign.signal,
      onStart: (lock) => {
        this.terms += 1;
        this.leading = lock;
      },
      onStop: () => {
        this.leading = undefined;
      },
    };
    this.campaigning = lead(this.opened.redlock, resource, ttl, untilAborted, options);
    return this;
  }
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve());
  });
}

/** The one of them that leads; fails where there are two, at any look. */
async function leaderOf(candidates: readonly Candidate[], past?: Candidate): Promise<Candidate> {
  let leader: Candidate | undefined;
  await until("one of them leads", () => {
    const leading = candidates.filter((candidate) => candidate.leading !== undefined);
    expect(leading.length).toBeLessThanOrEqual(1);
    leader = leading[0];
    return leader !== undefined && leader !== past;
  });
  return leader!;
}

describe("three candidates", () => {
  it("have one leader, extended for several ttls; each that resigns is followed by another", async () => {
    const resource = fresh("leader");
    const ttl = 3000;
    const candidates = Array.from({ length: 3 }, () => new Candidate().stand(resource, ttl));
    const first = await leaderOf(candidates);
    const end = performance.now() + 2.1 * ttl;
    while (performance.now() < end) {
      expect(await leaderOf(candidates)).toBe(first);
      expect(await first.leading!.verify()).toBe(true);
      await pause(100);
    }
    first.resign.abort();
    await first.campaigning;
    const second = await leaderOf(candidates, first);
    second.resign.abort();
    await second.campaigning;
    const third = await leaderOf(candidates, second);
    expect(new Set([first, second, third]).size).toBe(3);
    third.resign.abort();
    await third.campaigning;
    expect(candidates.map(({ terms }) => terms)).toEqual([1, 1, 1]);
    await fleet.untilGone(resource);
  });
});
