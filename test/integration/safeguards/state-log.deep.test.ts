import { expect, it } from "vitest";
import { until } from "../../contract/until.ts";
import { fresh } from "../fleet/fleet.ts";
import { GuardedFleet, ttl } from "../fleet/guarded-fleet.ts";

// PROTOCOL 9.2.

const guarded = GuardedFleet.forTests();

it("a master that restarts empty has three lines in the log: it fails, is in quarantine, and answers again", async () => {
  const events: string[] = [];
  const note = (fields: object): void => void events.push((fields as { event: string }).event);
  const { redlock } = await guarded.openNew({ logger: { info: note, warn: note, error: note } });
  const use = async (): Promise<void> => {
    for (let count = 0; count < 20; count += 1) await (await redlock.acquire(fresh("logged"), ttl)).release();
  };
  await use();
  const [master] = guarded.fleet.masters;
  await master!.kill();
  await use();
  await master!.restart();
  await until(
    () => `three lines, but: ${events.join(", ")}`,
    async () => {
      await use();
      return events.length > 2;
    },
    5 * ttl,
  );
  await use();
  expect(events).toEqual(["master_failed", "master_quarantined", "master_answers"]);
}, 60_000);
