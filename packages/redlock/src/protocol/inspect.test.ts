import { describe, expect, test } from "vitest";
import { InvalidArgumentError } from "../errors.ts";
import { virtualSetting } from "../virtual-time.test.ts";

describe("inspect", () => {
  test("returns the holder of the resource and its remaining time for each master", async () => {
    const { time, masters, nodes, redlock } = virtualSetting(4);
    masters[0]!.put("r", "0123456789abcdef", 700);
    masters[1]!.put("r", "short");
    nodes[2]!.cut();
    const inspection = await time.run(redlock.inspect("r"));
    const plain = { queueLength: 0, waiters: [], disagrees: false, unreachable: undefined };
    const alone = { ...plain, disagrees: true };
    expect(inspection[0]).toEqual({ node: "master-0", owner: "01234567…", remaining: 699, ...alone });
    expect(inspection[1]).toEqual({
      node: "master-1",
      owner: "sh…",
      remaining: Number.POSITIVE_INFINITY,
      ...alone,
    });
    expect(inspection[2]).toMatchObject({
      node: "master-2",
      owner: undefined,
      unreachable: { reason: "UNREACHABLE" },
    });
    expect(inspection[3]).toEqual({ node: "master-3", owner: undefined, remaining: 0, ...plain });
  });

  test("never shows a whole token", async () => {
    const { time, redlock } = virtualSetting(3);
    const lock = await time.run(redlock.acquire("r", 1000));
    expect(JSON.stringify(await time.run(redlock.inspect("r")))).not.toContain(lock.value);
  });

  test("waits for each master, but no longer than nodeTimeout", async () => {
    const { time, nodes, redlock } = virtualSetting(3, { nodeTimeout: 70 });
    nodes[0]!.fromMaster = 40;
    nodes[1]!.hang();
    const inspecting = redlock.inspect("r");
    expect(await time.measure(inspecting)).toMatchObject({ took: 70 });
    const inspection = await inspecting;
    expect(inspection.map(({ unreachable }) => unreachable?.reason)).toEqual([
      undefined,
      "TIMEOUT",
      undefined,
    ]);
    expect(nodes[0]!.kinds).toEqual(["inspect"]);
  });

  test("has a default nodeTimeout of half a second", async () => {
    const { time, nodes, redlock } = virtualSetting(1);
    nodes[0]!.hang();
    expect(await time.measure(redlock.inspect("r"))).toMatchObject({ took: 500 });
  });

  test.each(["", undefined, 5, [["a", "b"]], [[]]])(
    "of %s is refused before anything is sent",
    async (resource) => {
      const { nodes, redlock } = virtualSetting(1);
      await expect(redlock.inspect(resource as string)).rejects.toThrow(InvalidArgumentError);
      expect(nodes[0]!.sent).toEqual([]);
    },
  );
});
