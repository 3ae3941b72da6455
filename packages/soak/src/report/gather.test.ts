import { expect, test } from "vitest";
import type { Injection } from "../nemesis/nemesis.ts";
import { nodeTimeout, reconnection } from "../terms.ts";
import type { Unreachable } from "../workers/workers.ts";
import { withoutReason } from "./gather.ts";

const report: Unreachable = { worker: 1, master: 2, times: 3, why: "ended", stoodStill: 0, at: 5000 };
const cut: Injection = {
  name: "cut",
  fault: { name: "cut", worker: 1, masters: [2] } as unknown as Injection["fault"],
  at: 4000,
  until: 4500,
};

test.each<[string, Partial<Unreachable>, readonly Injection[], number]>([
  ["without a fault", {}, [], 1],
  ["beside a fault of both", {}, [cut], 0],
  ["at a master that is well", { master: 3 }, [cut], 1],
  ["longer after the fault than a client takes to reconnect", { at: 4501 + reconnection }, [cut], 1],
  ["by a worker that had not run for a time-out", { stoodStill: nodeTimeout }, [], 0],
])("an unreachable master %s", (_, change, injections, failures) => {
  expect(withoutReason([{ ...report, ...change }], injections)).toHaveLength(failures);
});
