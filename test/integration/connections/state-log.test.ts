import { expect, it } from "vitest";
import { until } from "../../contract/until.ts";
import { Fleet, fresh } from "../fleet/fleet.ts";

const fleet = Fleet.forTests(3);

interface Line {
  readonly level: string;
  readonly event: string;
  readonly node: string;
}

it("a master that is killed and restarted has two lines in the log, whatever is asked meanwhile", async () => {
  const lines: Line[] = [];
  const at =
    (level: string) =>
    (fields: object): void =>
      void lines.push({ level, ...(fields as Omit<Line, "level">) });
  const logger = { info: at("info"), warn: at("warn"), error: at("error") };
  const { redlock, errors } = await fleet.openWarm({ logger });
  const use = async (): Promise<void> => {
    for (let count = 0; count < 20; count += 1)
      await (await redlock.acquire(fresh("logged"), 20_000)).release();
  };
  await use();
  expect(lines).toEqual([]);
  const [master] = fleet.masters;
  await master!.kill();
  await use();
  expect(errors.length).toBeGreaterThan(10);
  await master!.restart();
  await until("the line of the return", async () => {
    await use();
    return lines.length > 1;
  });
  await use();
  const node = `${master!.host}:${master!.port}`;
  expect(lines).toEqual([
    { level: "warn", event: "master_failed", node, reason: "UNREACHABLE" },
    { level: "info", event: "master_answers", node, reason: "UNREACHABLE" },
  ]);
});
