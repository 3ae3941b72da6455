import { describe, expect, test } from "vitest";
import { NodeError, type ResourceLockedError } from "../errors.ts";
import { Attempts } from "./execution-stats.ts";
import type { Answer, LockNode } from "./node.ts";

function nodesOf(count: number): readonly LockNode[] {
  const nodes = Array.from({ length: count }, (_, index) => ({ name: `master-${index}`, client: { index } }));
  return nodes as Partial<LockNode>[] as LockNode[];
}

function refused(resource: string): Answer {
  return { is: "no", resource, owner: "rival", remaining: 7 };
}

/** One round. */
function bed(...answers: Answer[]): Attempts {
  const attempts = new Attempts(nodesOf(answers.length));
  attempts.add({ answers });
  return attempts;
}

/** The resource that each attempt was refused. */
async function resourcesOf(attempts: Attempts): Promise<(string | undefined)[]> {
  const all = await Promise.all(attempts.stats);
  return all.map(({ votesAgainst }) => (votesAgainst.values().next().value as ResourceLockedError)?.resource);
}

describe("the votes of a round", () => {
  test("stand for the retries that a wait in the queue replaced, before the last of them", async () => {
    const attempts = bed(refused("first"));
    attempts.countWait(0);
    expect(attempts.stats).toHaveLength(1);
    attempts.add({ answers: [refused("in the queue")] });
    attempts.countWait(1);
    expect(await resourcesOf(attempts)).toEqual(["first", "in the queue"]);
    attempts.countWait(3);
    expect(await resourcesOf(attempts)).toEqual(["first", "first", "first", "in the queue"]);
    attempts.countWait(1e9);
    expect(attempts.stats).toHaveLength(1001);
  });

  test("stand for a wait from the first moment, and a call that asked no master has none", async () => {
    const attempts = bed(refused("in the queue"));
    attempts.countWait(2);
    expect(await resourcesOf(attempts)).toEqual(["in the queue", "in the queue", "in the queue"]);
    const granted = bed({ is: "yes", remaining: 5 });
    granted.countWait(2);
    const votes = (await Promise.all(granted.stats)).map(({ votesFor }) => votesFor.size);
    expect(votes).toEqual([0, 0, 1]);
    const alone = new Attempts(nodesOf(1));
    alone.countWait(2);
    expect(await resourcesOf(alone)).toEqual([undefined, undefined, undefined]);
  });
});

test.each([
  ["UNREACHABLE", "WRONGPASS invalid username-password pair or user is disabled.", "UNREACHABLE (WRONGPASS)"],
  ["UNREACHABLE", "connect ECONNREFUSED 127.0.0.1:1", "UNREACHABLE (ECONNREFUSED)"],
  ["UNREACHABLE", "it has not answered for 5 ms", "UNREACHABLE"],
  ["ERR", "the fencing token is too large", "ERR the fencing token is too large"],
  ["ERR", "x".repeat(200), `ERR ${"x".repeat(100)}…`],
  ["OOM", "command not allowed", "OOM"],
])("the summary of a failure %s with %j names %s", (reason, detail, said) => {
  const error = new NodeError("master-0", reason, detail);
  expect(bed({ is: "fault", error, sent: true }).summary).toBe(`master-0: ${said}`);
});
