import { ExecutionError } from "@quorlock/redlock";
import { describe, expect, it } from "vitest";
import { Fleet, fresh } from "../fleet/fleet.ts";

const fleet = Fleet.forTests(3);

// Routines and renewals are tested in virtual time, in packages/redlock/src/holding, and the rate of renewals by the
// conformance cases: this is about leases that are shorter than the turns of a busy process.

describe("renewal", () => {
  it.each([10, 30, 60])("does no harm to a lock of %i ms", async (ttl) => {
    const { redlock } = fleet.open({ nodeTimeout: ttl / 2 });
    const resource = fresh();
    // So short a lock may well run out on a busy machine, or not be got: then that is told.
    const outcome = await redlock
      .using(resource, ttl, async (signal) => {
        await fleet.admins[0]!.ping();
        return signal.aborted ? signal.reason : "held";
      })
      .catch((error: unknown) => error);
    if (outcome !== "held") expect(outcome).toBeInstanceOf(ExecutionError);
    await fleet.untilGone(resource);
  });
});
