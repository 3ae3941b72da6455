import { describe, expect, test } from "vitest";
import { ResourceLockedError } from "../errors.ts";
import { refusal, virtualSetting } from "../virtual-time.test.ts";
import { Attempts } from "./execution-stats.ts";
import type { Answer } from "./node.ts";

function bed(...answers: Array<Answer | undefined>) {
  const { nodes } = virtualSetting(answers.length);
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
  test("are reported by the clients passed to the constructor, as in redlock 5", async () => {
    const { nodes } = virtualSetting(4);
    const fault = nodes[2]!.fault(true);
    const { attempts } = bed({ is: "yes", remaining: 5 }, refusal("rival", 7, "the one"), fault, undefined);
    const [stats] = await Promise.all(attempts.stats);
    expect(stats).toMatchObject({ membershipSize: 4, quorumSize: 3 });
    expect(stats!.votesFor.size).toBe(1);
    const against = [...stats!.votesAgainst.values()];
    expect(against[0]).toBeInstanceOf(ResourceLockedError);
    expect(against[0]).toMatchObject({ resource: "the one", remaining: 7 });
    expect(against[1]).toBe(fault.is === "fault" && fault.error);
    expect(against).toHaveLength(2);
  });

  test("are keyed by client", async () => {
    const { nodes, attempts } = bed({ is: "yes", remaining: 5 }, refusal("rival", 7));
    const stats = await attempts.stats[0]!;
    expect([...stats.votesFor]).toEqual([nodes[0]!.client]);
    expect([...stats.votesAgainst.keys()]).toEqual([nodes[1]!.client]);
  });

  test("are listed in a message, with the answer of each master", () => {
    const { nodes } = virtualSetting(4);
    const { attempts } = bed(
      { is: "yes", remaining: 5 },
      refusal("rival", 7),
      nodes[2]!.fault(true),
      undefined,
    );
    expect(attempts.summary).toMatch(
      /^master-0\b.*\byes; master-1\b.*\bno; master-2: UNREACHABLE; master-3\b.*\banswer/,
    );
  });

  test("stay the same after the round is closed and only its votes are kept", async () => {
    const yes = { is: "yes", remaining: 5 } as const;
    for (const answers of [
      [yes, yes, yes],
      [yes, refusal("rival", 7), yes],
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
    const { attempts } = bed(refusal("rival", 7, "first"));
    attempts.continueAttempt();
    attempts.add({ answers: [refusal("rival", 7, "second")] });
    attempts.add({ answers: [refusal("rival", 7, "third")] });
    expect(await resourcesOf(attempts)).toEqual(["second", "third"]);
  });

  test("stand for the retries that a wait in the queue replaced, before the last of them", async () => {
    const { attempts } = bed(refusal("rival", 7, "first"));
    attempts.countWait(0);
    expect(attempts.stats).toHaveLength(1);
    attempts.add({ answers: [refusal("rival", 7, "in the queue")] });
    attempts.countWait(1);
    expect(await resourcesOf(attempts)).toEqual(["first", "in the queue"]);
    attempts.countWait(3);
    expect(await resourcesOf(attempts)).toEqual(["first", "first", "first", "in the queue"]);
    attempts.countWait(1e9);
    expect(attempts.stats).toHaveLength(1001);
  });

  test("stand for a wait from the first moment, and a call that asked no master has none", async () => {
    const { attempts } = bed(refusal("rival", 7, "in the queue"));
    attempts.countWait(2);
    expect(await resourcesOf(attempts)).toEqual(["in the queue", "in the queue", "in the queue"]);
    const granted = bed({ is: "yes", remaining: 5 }).attempts;
    granted.countWait(2);
    const votes = (await Promise.all(granted.stats)).map(({ votesFor }) => votesFor.size);
    expect(votes).toEqual([0, 0, 1]);
    const alone = new Attempts(virtualSetting(1).nodes);
    alone.countWait(2);
    expect(await resourcesOf(alone)).toEqual([undefined, undefined, undefined]);
  });

  test("are empty without a round", () => {
    const attempts = new Attempts(virtualSetting(1).nodes);
    expect(attempts.stats).toEqual([]);
    expect(attempts.summary).toMatch(/^master-0\b.*\banswer/);
  });
});
