import { ExecutionError } from "../errors.ts";
import type { Cancellation } from "../time/cancellation.ts";
import { sleep } from "../time/sleep.ts";
import type { Context } from "./context.ts";
import { Attempts } from "./execution-stats.ts";
import type { Answer, LockNode } from "./node.ts";
import { questionOf } from "./question.ts";
import { decide, type Tally, type Verdict } from "./quorum.ts";
import { Round } from "./round.ts";

/** A key that nobody locks: only the reading of it counts. */
const probe = "quorlock:ready";
/** The pause before the masters are asked again, ms: doubled each time. */
const firstPause = 10;
const longestPause = 250;

/**
 * Resolves when a quorum has answered within `timeout` ms, each master over the connection that its votes will take. While a
 * quorum is unreachable, all are asked again.
 */
export async function ready(
  context: Pick<Context, "nodes" | "runtime" | "clock" | "log">,
  timeout: number,
  ended: Cancellation,
): Promise<void> {
  const { nodes, runtime, clock, log } = context;
  const until = runtime.monotonic() + timeout;
  const told: Array<Answer | undefined> = nodes.map(() => undefined);
  for (let pause = firstPause; ; pause = Math.min(2 * pause, longestPause)) {
    const round = new Round({
      nodes,
      runtime,
      clock,
      log,
      timeout: Math.max(until - runtime.monotonic(), 1),
      question: questionOf({ verb: "inspect", keys: [probe], words: [] }),
      onAnswer: (index, answer) => {
        if (told[index] === undefined || !isSilence(answer)) told[index] = answer;
      },
      isDecided: (answers) => verdictOf(answers) !== "open",
    });
    await round.ask().decidedOr(ended);
    if (verdictOf(round.answers) === "won") return;
    const left = until - runtime.monotonic();
    if (left > 0) await sleep(runtime, Math.min(pause, left), ended);
    if (ended.reason) throw ended.reason;
    if (left > 0) continue;
    const attempts = new Attempts(nodes);
    attempts.add(round);
    const why = told.map((answer, index) => `\n  ${reasonOf(answer, nodes[index]!)}`);
    throw new ExecutionError(
      `no quorum of masters answered within ${timeout} ms:${why.join("")}`,
      attempts.stats,
    );
  }
}

/** One line for each master. */
function reasonOf(answer: Answer | undefined, { name }: LockNode): string {
  if (!answer) return `${name}: no answer`;
  return answer.is === "fault" && !isAnswer(answer) ? answer.error.message : `${name}: answered`;
}

/** The last round is as short as the rest of the time: that a master is silent then is not why it was not reached. */
function isSilence(answer: Answer): boolean {
  return answer.is === "fault" && answer.error.reason === "TIMEOUT";
}

function verdictOf(answers: Tally): Verdict {
  const answered = answers.filter((answer) => answer && isAnswer(answer)).length;
  return decide(answers.length, answered, answers.filter(Boolean).length - answered);
}

/** A master that refuses this reading may allow to lock: the permissions of a user may name the keys. */
function isAnswer(answer: Answer): boolean {
  return answer.is === "state" || (answer.is === "fault" && answer.error.reason === "NOPERM");
}
