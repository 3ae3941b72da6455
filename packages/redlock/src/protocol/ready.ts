import { ExecutionError } from "../errors.ts";
import type { Cancellation } from "../time/cancellation.ts";
import { sleep } from "../time/sleep.ts";
import type { Context } from "./context.ts";
import { Attempts } from "./execution-stats.ts";
import { failed, fault } from "./faults.ts";
import type { Answer, Fault, LockNode, Timed } from "./node.ts";
import { questionOf } from "./question.ts";
import { decide, type Tally, type Verdict } from "./quorum.ts";
import { rights } from "./rights.ts";
import { Round, type Voter } from "./round.ts";

/** A key that nobody locks: only the reading of it counts. */
const probe = "quorlock:ready";
/** The pause before the masters are asked again, ms: doubled each time. */
const firstPause = 10;
const longestPause = 250;

/**
 * Resolves when a quorum has answered within `timeout` ms, each master over the connection that its votes will take, lets its
 * user do what locks need, and takes writes. While there is no such quorum, all are asked again.
 */
export async function ready(
  context: Pick<Context, "nodes" | "runtime" | "clock" | "log" | "report">,
  timeout: number,
  ended: Cancellation,
): Promise<void> {
  const { nodes, runtime, clock, log, report } = context;
  const until = runtime.monotonic() + timeout;
  const told: Array<Answer | undefined> = nodes.map(() => undefined);
  for (let pause = firstPause; ; pause = Math.min(2 * pause, longestPause)) {
    const round = new Round(
      { nodes: nodes.map(tried), runtime, clock, log },
      questionOf({ verb: "inspect", keys: [probe], words: [] }),
      {
        timeout: Math.max(until - runtime.monotonic(), 1),
        onAnswer: (index, answer) => {
          if (lacks(answer) && !lacks(told[index])) report(answer.error);
          // The last round is as short as the rest of the time: that a master is silent then is not why it was not reached.
          const isSilent = answer.is === "fault" && answer.error.reason === "TIMEOUT";
          if (told[index] === undefined || !isSilent) told[index] = answer;
        },
        isDecided: (answers) => verdictOf(answers) !== "open",
      },
    );
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

function verdictOf(answers: Tally): Verdict {
  const answered = answers.filter((answer) => answer && isAnswer(answer)).length;
  return decide(answers.length, answered, answers.filter(Boolean).length - answered);
}

/** A master whose user may not use this key may allow to lock: its rule may name the keys. */
function isAnswer(answer: Answer | Timed): boolean {
  return (
    answer.is === "state" || (answer.is === "fault" && answer.error.reason === "NOPERM" && !lacks(answer))
  );
}

/** The server refuses every vote: it is full, a replica, or cannot save or replicate. */
const refusesWrites = /^(OOM|READONLY|MISCONF|NOREPLICAS)$/;

/** Whether the user may not execute a command, the server has none of that name, or no lock can be set there. */
function lacks(answer: Answer | Timed | undefined): answer is Fault {
  if (answer?.is !== "fault") return false;
  const { reason, message } = answer.error;
  if (reason === "NOPERM") return !/\bkeys?\b/.test(message);
  return refusesWrites.test(reason) || /unknown command/i.test(message);
}

/** The master: its answer is what its user lacks, or why it takes no lock, if that is anything. */
function tried(node: LockNode): Voter {
  const { name, client, queue, records } = node;
  const found = async (answer: Answer | Timed): Promise<Answer | Timed> => {
    // (A script that is refused may not say which command it was.)
    if (!isAnswer(answer) && !lacks(answer)) return answer;
    // Where names have a prefix, this key shows nothing about keys without one, unless a script was refused them.
    const isOfQueues = (message: string): boolean => !records?.keyPrefix || message.includes("script");
    if (queue && answer.is === "fault" && isAnswer(answer) && isOfQueues(answer.error.message))
      return fault(name, "NOPERM", `its rule lacks ${rights.keysOfQueues}`, true);
    const needed = records ? [...rights.locks, ...(queue ? rights.queues : [])] : [];
    const sent = needed.map((words) => {
      const [command = "", ...args] = words.split(",");
      return records!.send(command, [probe, ...args]);
    });
    const ends = await (node.tryNeeds?.(probe) ?? Promise.allSettled([...sent, records?.waitersOf(probe)]));
    const refusals = ends.flatMap((end) => ("reason" in end ? failed(name, end.reason, true, []) : []));
    return refusals.find(lacks) ?? answer;
  };
  const ask: Voter["ask"] = (question, place, sink) =>
    node.ask(question, place, {
      answered: (_, answer) => void found(answer).then((told) => sink.answered(place, told)),
    });
  return { name, client, ask };
}
