import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import type { Lock, NodeError, Redlock } from "@quorlock/redlock";
import type { Master } from "@quorlock/testbed";
import { expect, it } from "vitest";
import { until } from "../../contract/until.ts";
import { Fleet, fresh } from "../fleet/fleet.ts";

// More leases in one process than a master is sent operations at a time (PROTOCOL 12.7): nothing that keeps one or
// gives one back is refused, and nothing that is held back here is told as a fault of a master.

const fleet = Fleet.forTests(3);

/** Long enough for the slowest machine: what is left is left by the client, and has not expired. */
const ttl = 120_000;
/** Longer than a master is ever kept from its processor: what is refused in this process is still refused at once. */
const nodeTimeout = 10_000;
/** Some 10 s for all tests together where nothing else runs; each is bounded by counts, so a slow machine takes longer. */
const timeout = 120_000;

async function acquireAll(redlock: Redlock, prefix: string, count: number): Promise<readonly Lock[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => redlock.acquire(`${prefix}:${index}`, ttl)));
}

/** Releases all of them in one turn: how many came to each outcome. */
async function outcomesOf(locks: readonly Lock[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  const results = await Promise.all(locks.map((lock) => lock.release()));
  for (const { outcome } of results) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}

/** Reasons of faults, and how often each was told. */
function reasonsIn(errors: readonly NodeError[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { message } of errors) counts[message] = (counts[message] ?? 0) + 1;
  return counts;
}

async function keysOn(master: Master, prefix: string): Promise<number> {
  return (await fleet.admin(master).keys(`${prefix}:*`)).length;
}

it(
  "20,000 are extended at once and released at once, without a fault",
  async () => {
    const { redlock, errors } = await fleet.openWarm({ nodeTimeout });
    const prefix = fresh();
    const locks = await acquireAll(redlock, prefix, 20_000);
    await Promise.all(locks.map((lock) => lock.extend(ttl)));
    expect(await outcomesOf(locks)).toEqual({ released: 20_000 });
    expect(reasonsIn(errors)).toEqual({});
    for (const master of fleet.masters) {
      await until("its keys are gone", async () => (await keysOn(master, prefix)) === 0, timeout / 2);
    }
  },
  timeout,
);

it(
  "of 12,000 in `using` none is lost, and refused calls get the reason",
  async () => {
    // A slower machine admits fewer: a lease is lost only if the process stands still for two thirds of the ttl.
    const shortTtl = 9000;
    const { redlock, errors } = await fleet.openWarm();
    const prefix = fresh();
    const end = new AbortController();
    const done = once(end.signal, "abort");
    let held = 0;
    let lost = 0;
    const refusals: string[] = [];
    const routine = (signal: AbortSignal): Promise<void> => {
      held += 1;
      signal.addEventListener("abort", () => (lost += 1));
      return done.then(() => {});
    };
    const all = Array.from({ length: 12_000 }, (_, index) =>
      redlock
        .using(`${prefix}:${index}`, shortTtl, routine)
        .catch((error: Error) => refusals.push(error.message)),
    );
    await until("each is held or refused", () => held + refusals.length === all.length, timeout / 2);
    await pause(shortTtl * 1.1);
    expect([held > 0, lost]).toEqual([true, 0]);
    // A machine that does other work admits them so slowly that some are told this.
    const reasons = /^(No new lock: |Timed out waiting for admission: )/;
    expect(refusals.filter((message) => !reasons.test(message))).toEqual([]);
    expect(reasonsIn(errors.filter(({ reason }) => reason === "UNREACHABLE"))).toEqual({});
    end.abort();
    await Promise.all(all);
  },
  timeout,
);
