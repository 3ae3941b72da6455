import { nodeFailed } from "./faults.ts";
import type { Answer, LockNode, Question } from "./node.ts";

// A master is asked in one way, `LockNode.ask(question, place, sink)`, whatever for: a vote, an extension, a release, a
// queue entry, the state of a key or of the guard, the time.
//
//   Round, or a single caller ── ask(question, place, sink) ──▶ Master ── posted ──▶ Window ── message ──▶ connection
//          ▲                                                                                       │
//          └─────────────────────── sink.answered(place, answer), once a question ◀────────────────┘
//
// - A question is data: `verb`, `keys`, `words`, `ttl`, and with some a `proposal` or an `entry`. Only `claim.abandoned` is
//   live: it is read again before each send.
// - It is the same object for all masters of a round, so a batch of the same questions is encoded once for all of them.
//   `place` is the only thing that tells the masters apart, and comes back with the answer.
// - The keys choose the scripts: a lock that may be shared has keys of this library's own, and the same verbs.
// - A sink is an object, most often the round itself. The additions of a node for its master (the guard, the inbox, a reading of the
//   clock, the purpose that orders what waits) go with what it posts, and it hears each answer first (`settled`).
// - Answers are told apart by `is`.

type Asked = Pick<Question, "verb" | "keys" | "words"> & Partial<Question>;

/**
 * The only maker of questions, so that all of them have the same properties in the same order: an engine finds those
 * without a lookup.
 */
export function questionOf({ verb, keys, words, ttl = 0, proposal, entry, claim }: Asked): Question {
  return { verb, keys, words, ttl, proposal, entry, claim };
}

/** A reading of the master's clock. */
export const timeRead: Question = questionOf({ verb: "time", keys: [], words: [] });

/**
 * The first answer of a node that is asked alone, without the reading of its clock. Answers are values; a node that
 * throws nevertheless counts as a master that gave none.
 */
export function answerOf(node: Pick<LockNode, "name" | "ask">, question: Question): Promise<Answer> {
  return new Promise((resolve) => {
    try {
      node.ask(question, 0, {
        answered: (_, answer) => resolve(answer.is === "timed" ? answer.vote : answer),
      });
    } catch (error) {
      resolve(nodeFailed(node.name, error));
    }
  });
}
