import { ExecutionError, type Lock } from "@quorlock/redlock";
import { type LeadOptions, lead } from "@quorlock/redlock/lead";
import { describe, expect, it } from "vitest";
import { until } from "../../contract/until.ts";
import { Fleet, fresh, type Opened, rejection, timed } from "../fleet/fleet.ts";

const fleet = Fleet.forTests(3);

/** One of those who stand for election, with its own connections. */
class Candidate {
  readonly opened: Opened;
  readonly resign = new AbortController();
  readonly errors: ExecutionError[] = [];
  terms = 0;
  leading: Lock | undefined;
  campaigning: Promise<void> = Promise.resolve();

  constructor() {
    this.opened = fleet.open({ nodeTimeout: 300, retryDelay: 20, retryJitter: 10 });
  }

  stand(resource: string, ttl: number, routine: (signal: AbortSignal) => unknown = untilAborted): this {
    const options: LeadOptions = {
      signal: this.resign.signal,
      onStart: (lock) => {
        this.terms += 1;
        this.leading = lock;
      },
      onStop: () => {
        this.leading = undefined;
      },
      onError: (error) => this.errors.push(error),
    };
    this.campaigning = lead(this.opened.redlock, resource, ttl, routine, options);
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

async function resignAll(candidates: readonly Candidate[]): Promise<void> {
  for (const { resign } of candidates) resign.abort();
  await Promise.all(candidates.map(({ campaigning }) => campaigning));
}

describe("three candidates", () => {
  it("have one leader, extended for several ttls; each that resigns is followed by another", async () => {
    const resource = fresh("leader");
    const candidates = Array.from({ length: 3 }, () => new Candidate().stand(resource, 1200));
    const first = await leaderOf(candidates);
    const end = performance.now() + 2500;
    while (performance.now() < end) {
      expect(await leaderOf(candidates)).toBe(first);
      expect(await first.leading!.verify()).toBe(true);
    }
    first.resign.abort();
    await first.campaigning;
    const second = await leaderOf(candidates, first);
    second.resign.abort();
    await second.campaigning;
    const third = await leaderOf(candidates, second);
    expect(new Set([first, second, third]).size).toBe(3);
    await resignAll(candidates);
    expect(candidates.map(({ terms }) => terms)).toEqual([1, 1, 1]);
    await fleet.untilGone(resource);
  });

  it("have another leader long before the ttl is over when the first one quits", async () => {
    const resource = fresh("leader");
    let end!: () => void;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    // However long the routine takes to stop.
    const routine = (signal: AbortSignal) => untilAborted(signal).then(() => ended);
    const candidates = Array.from({ length: 3 }, () => new Candidate().stand(resource, 60_000, routine));
    const first = await leaderOf(candidates);
    const { leading } = first;
    const quitting = first.opened.redlock.quit();
    expect(leading!.signal.aborted).toBe(true);
    const { net } = await timed(() => leaderOf(candidates, first));
    expect(net).toBeLessThan(5000);
    end();
    await Promise.all([quitting, first.campaigning]);
    await resignAll(candidates);
  });

  it("take turns where the routine returns", async () => {
    const resource = fresh("leader");
    const candidates = Array.from({ length: 3 }, () => new Candidate().stand(resource, 1000, () => "done"));
    await until("each has led more than once", () => candidates.every(({ terms }) => terms > 1));
    await resignAll(candidates);
  });
});

describe("a leader", () => {
  it("that loses its lock is notified, and leads again when the lock is free", async () => {
    const resource = fresh("leader");
    const candidate = new Candidate().stand(resource, 1200);
    const lock = (await leaderOf([candidate])).leading!;
    await Promise.all(lock.attempts);
    await fleet.occupy(resource);
    await until("it is told", () => candidate.leading === undefined);
    expect(lock.state).toBe("lost");
    await fleet.free(resource);
    await leaderOf([candidate]);
    expect(candidate.leading!.value).not.toBe(lock.value);
    expect(candidate.terms).toBe(2);
    await resignAll([candidate]);
  });

  it("whose routine throws ends with its error, and another follows at once", async () => {
    const resource = fresh("leader");
    let fail!: (error: Error) => void;
    const failure = new Promise<never>((_, reject) => {
      fail = reject;
    });
    const failing = new Candidate().stand(resource, 60_000, () => failure);
    await leaderOf([failing]);
    const follower = new Candidate().stand(resource, 60_000);
    fail(new RangeError("mine"));
    expect(await rejection(failing.campaigning)).toMatchObject({ name: "RangeError", message: "mine" });
    await leaderOf([failing, follower], failing);
    await resignAll([follower]);
    expect(follower.errors).toEqual([]);
  });
});

describe("times without a quorum", () => {
  it("end the leadership, are reported, and pass", async () => {
    const resource = fresh("leader");
    const candidates = Array.from({ length: 2 }, () => new Candidate().stand(resource, 1200));
    await leaderOf(candidates);
    const hung = fleet.masters.slice(1);
    for (const master of hung) await master.hang();
    await until("no candidate leads", () => candidates.every(({ leading }) => leading === undefined));
    await until("each was told", () => candidates.every(({ errors }) => errors.length > 1));
    for (const { errors } of candidates) expect(errors[0]).toBeInstanceOf(ExecutionError);
    expect(candidates.every(({ leading }) => leading === undefined)).toBe(true);
    for (const master of hung) await master.resume();
    await leaderOf(candidates);
    await resignAll(candidates);
  });
});
