import type { Redlock } from "@quorlock/redlock";
import { describe, expect, it } from "vitest";
import { turn } from "../../contract/until.ts";
import { Fleet, fresh, rejection } from "../fleet/fleet.ts";

// The rules of reentrancy are tested in virtual time, in packages/redlock/src/holding/reentrancy.test.ts: these are about real
// sockets, and about the queue of real masters.

const fleet = Fleet.forTests(3);

const open = (): Redlock => fleet.open({ reentrant: true, retryCount: -1, retryDelay: 20 }).redlock;

describe("siblings", () => {
  it("of two processes' worth of clients exclude each other as well", async () => {
    const resource = fresh();
    let inside = 0;
    let done = 0;
    const work = async (): Promise<void> => {
      inside += 1;
      expect(inside).toBe(1);
      await turn();
      inside -= 1;
      done += 1;
    };
    await Promise.all(
      [open(), open()].map((redlock) =>
        Promise.all(
          Array.from({ length: 5 }, () =>
            redlock.using(resource, 20_000, () =>
              Promise.all([1, 2].map(() => redlock.using(resource, 20_000, work))),
            ),
          ),
        ),
      ),
    );
    expect(done).toBe(20);
    await fleet.untilGone(resource);
  });
});

describe("without reentrant", () => {
  it("a nested call that has waited in the queue for its own lock gets an error that says so", async () => {
    const { redlock } = fleet.open();
    const resource = fresh();
    const nested = redlock.using(resource, 30_000, () =>
      redlock.acquire(resource, 30_000, { waitTimeout: 300 }),
    );
    expect(String(await rejection(nested))).toContain(`"${resource}" is locked by this same Redlock`);
    // A call of another client does not get this message.
    await using held = await redlock.acquire(resource, 30_000);
    expect(held.state).toBe("held");
    const other = fleet.open().redlock.acquire(resource, 30_000, { waitTimeout: 300 });
    expect(String(await rejection(other))).toContain(`"${resource}" is locked by someone else`);
  });
});
