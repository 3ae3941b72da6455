import { describe, expect, test } from "vitest";
import { AbortError, ClosedError, ExecutionError, InvalidArgumentError, type NodeError } from "../errors.ts";
import { virtualSetting } from "../virtual-time.test.ts";

describe("ready", () => {
  test("resolves as soon as a quorum has answered, however short nodeTimeout is", async () => {
    const { time, nodes, redlock } = virtualSetting(3, { nodeTimeout: 5 });
    nodes[0]!.fromMaster = 400;
    nodes[1]!.fromMaster = 700;
    nodes[2]!.hang();
    expect(await time.measure(redlock.ready())).toMatchObject({ took: 701 });
  });

  test("asks masters that are unreachable again, until they are back", async () => {
    const { time, nodes, redlock } = virtualSetting(3);
    for (const node of nodes) node.cut();
    const ready = redlock.ready({ timeout: 5_000 });
    await time.advance(1_000);
    nodes[0]!.restore();
    await time.advance(1_000);
    const before = nodes[1]!.sent.length;
    nodes[1]!.restore();
    await time.run(ready);
    expect(nodes[1]!.sent.length).toBeGreaterThan(before);
  });

  test("rejects when no quorum has answered within the timeout", async () => {
    const { time, nodes, redlock } = virtualSetting(3);
    nodes[0]!.cut();
    nodes[1]!.hang();
    const ready = redlock.ready({ timeout: 300 });
    const { took } = await time.measure(ready.catch(() => {}));
    expect(took).toBe(300);
    await expect(ready).rejects.toThrow(ExecutionError);
    await expect(ready).rejects.toThrow("no quorum of masters answered within 300 ms");
    await expect(ready).rejects.toHaveProperty("code", "NO_QUORUM");
    const [stats] = await Promise.all(((await ready.catch((error) => error)) as ExecutionError).attempts);
    expect([...stats!.votesAgainst.values()].map((error) => (error as NodeError).reason)).toContain(
      "UNREACHABLE",
    );
  });

  test("ends with the signal, and with quit", async () => {
    const { time, nodes, redlock } = virtualSetting(1);
    nodes[0]!.hang();
    const aborting = new AbortController();
    const aborted = redlock.ready({ signal: aborting.signal });
    const closed = redlock.ready();
    aborting.abort();
    await expect(aborted).rejects.toThrow(AbortError);
    const quit = redlock.quit();
    await expect(closed).rejects.toThrow(ClosedError);
    await time.run(quit);
    await expect(redlock.ready()).rejects.toThrow(ClosedError);
  });

  test("refuses wrong options before anything is sent", async () => {
    const { nodes, redlock } = virtualSetting(1);
    for (const options of [{ timeout: -1 }, { timeout: "1s" }, { timeOut: 1 }])
      await expect(redlock.ready(options as never)).rejects.toThrow(InvalidArgumentError);
    expect(nodes[0]!.sent).toEqual([]);
  });
});
