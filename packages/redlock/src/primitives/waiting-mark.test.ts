import { expect, test } from "vitest";
import type { LockNode } from "../protocol/node.ts";
import { Tokens } from "../protocol/token.ts";
import { VirtualMachine, VirtualTime } from "../virtual-time.test.ts";
import { WaitingMark } from "./waiting-mark.ts";

// PROTOCOL 10.8.

const nodeTimeout = 50;

/** A mark on one master, and the time and the ttl of each write. */
function marked() {
  const time = new VirtualTime();
  const written: { at: number; ttl: number }[] = [];
  const node = {
    ask: ({ verb, ttl }) => {
      expect(verb).toBe("mark");
      written.push({ at: time.now(), ttl });
    },
  } as Pick<LockNode, "ask"> as LockNode;
  const runtime = new VirtualMachine(time);
  const mark = new WaitingMark({ nodes: [node], runtime, tokens: new Tokens(runtime) }, "key", nodeTimeout);
  return { time, written, mark };
}

test.each([10, 200, 499, 500, 1700, 10_000])(
  "a mark is written every half second by a writer that retries each %i ms",
  async (retryDelay) => {
    const { time, written, mark } = marked();
    for (let passed = 0; passed < 10_000; passed += retryDelay) {
      mark.keep();
      await time.advance(retryDelay);
    }
    mark.remove();
    const renewals = Array.from({ length: Math.floor(time.now() / 500) + 1 }, (_, index) => index * 500);
    expect(written).toEqual([
      ...renewals.map((at) => ({ at, ttl: 2000 + nodeTimeout })),
      { at: time.now(), ttl: 0 },
    ]);
    await time.advance(5000);
    expect(written).toHaveLength(renewals.length + 1);
  },
);

test("a mark that was removed is made again at once, and removed once", async () => {
  const { time, written, mark } = marked();
  mark.remove();
  mark.keep();
  await time.advance(100);
  mark.remove();
  mark.remove();
  await time.advance(100);
  mark.keep();
  expect(written.map(({ at, ttl }) => [at, ttl > 0])).toEqual([
    [0, true],
    [100, false],
    [200, true],
  ]);
  mark.remove();
});
