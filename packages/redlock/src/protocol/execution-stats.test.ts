import { describe, expect, test } from "vitest";
import { ResourceLockedError } from "../errors.ts";
import { Attempts } from "./execution-stats.ts";
import { unsent } from "./faults.ts";
import type { Answer, LockNode } from "./node.ts";

function nodesOf(count: number): readonly LockNode[] {
  const nodes = Array.from({ length: count }, (_, index) => ({ name: `master-${index}`, client: { index } }));
  return nodes as Partial<LockNode>[] as LockNode[];
}

function refused(resource: string): Answer {
  return { is: "no", resource, owner: "rival", remaining: 7 };
}

function bed(...answers: Array<Answer | undefined>) {
  const nodes = nodesOf(answers.length);
  const attempts = new Attempts(nodes);
  let close: (() => void) | undefined;
  const onClosed = (listener: () => void) => {
    close = listener;
  };
  attempts.add({ answers, closed: Promise.resolve(), onClosed });
  return { nodes, attempts, close: () => close!() };
}

/** The resource that each attempt was refused. */
async function resourcesOf(attempts: Attempts): Promise<(string | undefined)[]> {
  const all = await Promise.all(attempts.stats);
  return all.map(({ votesAgainst }) => (votesAgainst.values().next().value as ResourceLockedError)?.resource);
}

describe("the votes of a round", () => {
  test("are reported by the clients passed to the constructor, as in redlock 5, and listed in a message", async () => {
    const fault = unsent("master-2", "ECONNREFUSED");
    const { nodes, attempts } = bed({ is: "yes", remaining: 5 }, refused("the one"), fault, undefined);
    const [stats] = await Promise.all(attempts.stats);
    expect(stats).toMatchObject({ membershipSize: 4, quorumSize: 3 });
    expect([...stats!.votesFor]).toEqual([nodes[0]!.client]);
    const [refusal, unreachable, ...others] = [...stats!.votesAgainst];
    expect(refusal).toEqual([nodes[1]!.client, expect.any(ResourceLockedError)]);
    expect(refusal![1]).toMatchObject({ resource: "the one", remaining: 7 });
    expect([unreachable, others]).toEqual([[nodes[2]!.client, fault.error], []]);
    expect(attempts.summary).toBe(
      "master-0: yes; master-1: no; master-2: UNREACHABLE; master-3: no answer yet",
    );
  });

  test("stay the same after the round is closed and only its votes are kept", async () => {
    const yes = { is: "yes", remaining: 5 } as const;
    for (const answers of [
      [yes, yes, yes],
      [yes, refused("r"), yes],
      [undefined, yes, yes],
    ]) {
      const { attempts, close } = bed(...answers);
      const [before] = await Promise.all(attempts.stats);
      const { summary } = attempts;
      close();
      expect(attempts.summary).toBe(summary);
      const [after] = await Promise.all(attempts.stats);
      const names = ({ votesFor }: NonNullable<typeof before>) =>
        [...votesFor].map((client) => JSON.stringify(client));
      expect(names(after!)).toEqual(names(before!));
      expect(after!.votesFor.size).toBe(answers.filter((answer) => answer === yes).length);
      expect(after!.votesAgainst.size).toBe(before!.votesAgainst.size);
    }
  });

  test("of a revote are those of its attempt", async () => {
    const { attempts } = bed(refused("first"));
    attempts.continueAttempt();
    attempts.add({ answers: [refused("second")] });
    attempts.add({ answers: [refused("third")] });
    expect(await resourcesOf(attempts)).toEqual(["second", "third"]);
  });

  test("stand for the retries that a wait in the queue replaced, before the last of them", async () => {
    const { attempts } = bed(refused("first"));
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
    const { attempts } = bed(refused("in the queue"));
    attempts.countWait(2);
    expect(await resourcesOf(attempts)).toEqual(["in the queue", "in the queue", "in the queue"]);
    const granted = bed({ is: "yes", remaining: 5 }).attempts;
    granted.countWait(2);
    const votes = (await Promise.all(granted.stats)).map(({ votesFor }) => votesFor.size);
    expect(votes).toEqual([0, 0, 1]);
    const alone = new Attempts(nodesOf(1));
    alone.countWait(2);
    expect(await resourcesOf(alone)).toEqual([undefined, undefined, undefined]);
  });

  test("are empty without a round", () => {
    const attempts = new Attempts(nodesOf(1));
    expect(attempts.stats).toEqual([]);
    expect(attempts.summary).toMatch(/^master-0\b.*\banswer/);
  });
});
